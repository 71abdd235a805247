package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRunEnvironment(t *testing.T) {
	for _, tc := range []struct {
		name    string
		environ []string
		set     []string
		want    []string
		bad     bool
	}{
		{"plain", []string{"A=b"}, nil, []string{"A=b", "LD_PRELOAD=/l.so"}, false},
		{"a setting", nil, []string{"CMPI_COHERENCE=flush"}, []string{"CMPI_COHERENCE=flush", "LD_PRELOAD=/l.so"}, false},
		{"a tool above us", []string{"LD_PRELOAD=/t.so"}, nil, []string{"LD_PRELOAD=/t.so:/l.so"}, false},
		{"an empty preload", []string{"LD_PRELOAD="}, nil, []string{"LD_PRELOAD=/l.so"}, false},
		{"unknown setting", nil, []string{"CMPI_COHERENCY=flush"}, nil, true},
		{"wrong value", nil, []string{"CMPI_COHERENCE=wet"}, nil, true},
		{"not ours", nil, []string{"PATH=/"}, nil, true},
		{"no value", nil, []string{"CMPI_COHERENCE"}, nil, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := runEnvironment(tc.environ, "/l.so", tc.set)
			if (err != nil) != tc.bad {
				t.Fatalf("error %v", err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// TestInfo: info has an answer on any machine.
func TestInfo(t *testing.T) {
	in := gatherInfo(t.Context(), "")
	if in.CPU.Arch == "" || len(in.Settings) == 0 || in.Pool.Kind == "" {
		t.Errorf("%+v", in)
	}
}
