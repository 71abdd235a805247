package flush

import (
	"errors"
	"testing"
)

func TestFigure11(t *testing.T) {
	samples, err := Figure11(nil, nil, []int{1, 64, 4096}, 2)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range samples {
		checkSample(t, s, 2)
	}
	if got, want := len(samples), 3*7; got != want {
		t.Errorf("%d samples, want %d", got, want)
	}
}

func TestCopyLimits(t *testing.T) {
	for _, va := range variants() {
		t.Run(va.name, func(t *testing.T) {
			va.o.AllowNoCacheControl = true
			samples, err := CopyLimits(nil, va.mode, va.o, 1000, 1)
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range samples {
				checkSample(t, s, 1)
			}
		})
	}
}

func TestPingPong(t *testing.T) {
	bare, err := BarePingPong(100, 2)
	if errors.Is(err, ErrOneCPU) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	checkSample(t, bare, 2)
	for _, va := range variants() {
		t.Run(va.name, func(t *testing.T) {
			va.o.AllowNoCacheControl = true
			s, err := PingPong(nil, va.mode, va.o, 100, 2)
			if err != nil {
				t.Fatal(err)
			}
			checkSample(t, s, 2)
		})
	}
}

// checkSample wants either a reason or reps sensible figures.
func checkSample(t *testing.T, s Sample, reps int) {
	t.Helper()
	if s.Skipped != "" {
		t.Logf("%s, %d bytes: %s", s.Method, s.Size, s.Skipped)
		return
	}
	if len(s.Nanoseconds) != reps {
		t.Errorf("%s, %d bytes: %d figures, want %d", s.Method, s.Size, len(s.Nanoseconds), reps)
	}
	for _, ns := range s.Nanoseconds {
		if ns <= 0 {
			t.Errorf("%s, %d bytes: %v ns", s.Method, s.Size, ns)
		}
	}
}
