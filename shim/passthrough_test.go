package main

import (
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// headers are where Debian's MPICH declares its functions.
var headers = []string{"/usr/include/x86_64-linux-gnu/mpich/mpi_proto.h", "/usr/include/x86_64-linux-gnu/mpich/mpio.h"}

// The number of arguments in passthrough.h is what the MPI header says.
func TestPassthroughArguments(t *testing.T) {
	arguments := map[string]int{}
	for _, h := range headers {
		b, err := os.ReadFile(h)
		if err != nil {
			t.Skip(err)
		}
		for _, m := range regexp.MustCompile(`(?s)\bint (MPI_\w+)\(([^;]*?)\)\s*(?:MPICH_|ROMIO_|;)`).FindAllStringSubmatch(string(b), -1) {
			arguments[m[1]] = countArguments(m[2])
		}
	}
	def, err := os.ReadFile("passthrough.h")
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^[A-Z]+(_BOTH)?\((\d+), (\w+)\)`).FindAllStringSubmatch(string(def), -1) {
		names := []string{"MPI_" + m[3]}
		if m[1] != "" {
			names = append(names, names[0]+"_c")
		}
		for _, name := range names {
			want, known := arguments[name]
			if got, _ := strconv.Atoi(m[2]); !known || got != want || seen[name] {
				t.Errorf("%s: %s arguments, the header (%v) has %d; twice: %v", name, m[2], known, want, seen[name])
			}
			seen[name] = true
		}
	}
	if len(seen) < 100 {
		t.Errorf("only %d functions read", len(seen))
	}
}

// countArguments counts the parameters in a declaration.
func countArguments(list string) int {
	if strings.TrimSpace(list) == "void" {
		return 0
	}
	depth, n := 0, 1
	for _, c := range list {
		switch {
		case c == '(':
			depth++
		case c == ')':
			depth--
		case c == ',' && depth == 0:
			n++
		}
	}
	return n
}
