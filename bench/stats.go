package bench

import "sort"

// Stat sums up the repetitions of one value.
type Stat struct {
	N                int
	Median, Min, Max float64
}

// statOf sums up values; the zero Stat if there are none.
func statOf(values []float64) Stat {
	if len(values) == 0 {
		return Stat{}
	}
	v := append([]float64(nil), values...)
	sort.Float64s(v)
	mid := len(v) / 2
	median := v[mid]
	if len(v)%2 == 0 {
		median = (v[mid-1] + v[mid]) / 2
	}
	return Stat{N: len(v), Median: median, Min: v[0], Max: v[len(v)-1]}
}
