//go:build race

package window

// Under the race detector every fourth shape will do: it looks at Go's memory,
// which the shapes share alike, and takes ten times as long.
func init() {
	var few []shape
	for i := 0; i < len(shapes); i += 4 {
		few = append(few, shapes[i])
	}
	shapes = few
	unalignedRounds = 2000
}
