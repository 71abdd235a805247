//go:build race

package modelcheck

func init() { raceDetector = true }
