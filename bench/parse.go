package bench

import (
	"fmt"
	"strconv"
	"strings"
)

// point is one line of a benchmark's output.
type point struct {
	Size  int64 // bytes
	Value float64
}

// parseTable reads a table as our programs and OSU's print it: lines that begin
// with a size, the value in the given column; comments and titles are passed over.
func parseTable(text string, column int) ([]point, error) {
	var points []point
	for _, line := range strings.Split(text, "\n") {
		f := strings.Fields(line)
		if len(f) <= column {
			continue
		}
		size, err := strconv.ParseInt(f[0], 10, 64)
		if err != nil {
			continue // a title
		}
		value, err := strconv.ParseFloat(f[column], 64)
		if err != nil || value <= 0 {
			return nil, fmt.Errorf("no value in line %q", line)
		}
		points = append(points, point{size, value})
	}
	if len(points) == 0 {
		return nil, fmt.Errorf("no table in the output %q", text)
	}
	return points, nil
}

// parseNetPIPE reads NetPIPE's file: size, Mbit/s, seconds one way. The values
// are microseconds.
func parseNetPIPE(text string) ([]point, error) {
	points, err := parseTable(text, 2)
	for i := range points {
		points[i].Value *= 1e6
	}
	return points, err
}
