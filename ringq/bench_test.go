package ringq

import (
	"fmt"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"

	"cmpi/flush"
)

// pin binds the calling goroutine's thread to one processor.
func pin(b *testing.B, cpu int) {
	runtime.LockOSThread()
	var set unix.CPUSet
	set.Set(cpu)
	if err := unix.SchedSetaffinity(0, &set); err != nil {
		b.Logf("not pinned: %v", err)
	}
}

// BenchmarkPingPong is the one-way time of a message through each protocol,
// between two threads on two processors. Compare with flush's bare line
// ping-pong.
func BenchmarkPingPong(b *testing.B) {
	if runtime.NumCPU() < 2 {
		b.Skip("needs two processors")
	}
	for _, mode := range []flush.Mode{flush.Coherent, flush.Flush} {
		for _, kind := range []Kind{Line, Cell} {
			for _, n := range []int{8, 40, 448, 4096, 16384} {
				b.Run(fmt.Sprintf("%v/%v/%d", mode, kind, n), func(b *testing.B) {
					c := Config{Kind: kind, Lines: 1024}
					p1, k1, _ := ends(b, mode, c, 1)
					p2, k2, _ := ends(b, mode, c, 1)
					go func() {
						pin(b, 1)
						buf := make([]byte, n)
						for range b.N {
							receive(k1, buf)
							transmit(p2, buf)
						}
					}()
					pin(b, 0)
					buf := make([]byte, n)
					b.ResetTimer()
					for range b.N {
						transmit(p1, buf)
						receive(k2, buf)
					}
					b.StopTimer()
					b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(2*b.N), "ns/one-way")
				})
			}
		}
	}
}

func transmit(p Producer, buf []byte) {
	n, ok := 0, false
	for !ok {
		n, ok = p.Begin(Header{Kind: 1, Len: uint64(len(buf))}, at(buf), len(buf))
	}
	for n < len(buf) {
		n += p.More(at(buf[n:]), len(buf)-n)
	}
}

func receive(k Consumer, buf []byte) {
	var h Header
	for !k.Poll(&h) {
		flush.Pause()
	}
	for n := 0; n < len(buf); {
		n += k.Read(at(buf[n:]), len(buf)-n)
	}
	k.End()
}
