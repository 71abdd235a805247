package flush

import (
	"fmt"
	"strings"
)

// Features is what the CPU offers to this package and what Flush mode, without
// Options.NoVector, makes of it.
type Features struct {
	Arch                                   string // GOARCH, or "generic" for the pure-Go path
	CLFLUSH, CLFLUSHOPT, CLWB              bool
	MOVDIR64B, AVX2, AVX512                bool   // AVX512 means F, BW and VL, enabled by the operating system
	Publish, WriteBack, Invalidate, Stream string // the instruction chosen; empty: there is none
}

// caps is what the CPU offers; set once before any View exists.
var caps = detect()

func init() { caps.Publish, caps.WriteBack, caps.Invalidate, caps.Stream = instructions() }

// Caps returns what the CPU offers and what was chosen from it.
func Caps() Features { return caps }

// String is one line for people, for example
// "amd64 clflush clflushopt clwb avx2 avx512; publish 64-byte streaming store, write back clwb, invalidate clflushopt, stream vmovntdq 64".
func (f Features) String() string {
	s := []string{f.Arch}
	for _, x := range []struct {
		has  bool
		name string
	}{
		{f.CLFLUSH, "clflush"}, {f.CLFLUSHOPT, "clflushopt"}, {f.CLWB, "clwb"},
		{f.MOVDIR64B, "movdir64b"}, {f.AVX2, "avx2"}, {f.AVX512, "avx512"},
	} {
		if x.has {
			s = append(s, x.name)
		}
	}
	if f.WriteBack == "" {
		return strings.Join(s, " ") + "; no cache control"
	}
	return fmt.Sprintf("%s; publish %s, write back %s, invalidate %s, stream %s",
		strings.Join(s, " "), f.Publish, f.WriteBack, f.Invalidate, f.Stream)
}
