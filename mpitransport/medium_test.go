package mpitransport

import (
	"fmt"
	"testing"

	"cmpi/flush"
)

// TestMixed: ranks of one host talk through memory of their own, those of two
// through the pool, at the same time, with every protocol; each message's order
// and bytes are right, and what neighbours send doesn't go through the pool.
func TestMixed(t *testing.T) {
	const size = 5
	for mode, names := range map[flush.Mode][]string{
		flush.Flush:   {"default", "one copy", "tiny ring", "paper", "window"},
		flush.Emulate: {"default", "tiny ring"},
	} {
		for _, name := range names {
			t.Run(fmt.Sprintf("%v/%s", mode, name), func(t *testing.T) {
				j := newJob(t, size, mode)
				j.shape, j.mixed, j.pool = shapes[name], true, 128<<20
				j.host = func(rank int) [16]byte { return [16]byte{byte(1 + rank/2)} } // 2, 2 and 1 ranks
				rounds := 3
				if mode == flush.Emulate {
					rounds = 1
				}
				j.run(func(e *Endpoint, w *Comm) error {
					var sends, recvs []*Request
					var in [][]byte
					lens := []int{0, 40, 700, 9000, 40_000, 300_000}
					for k := range rounds {
						for i, n := range lens {
							for to := range size {
								b := pattern(n, e.Rank()+size*to+i+k)
								r, cl := e.Isend(w, ptr(b), int64(n), byteType, int32(to), int32(i), Mode(k%2))
								if cl != OK {
									return cl
								}
								sends = append(sends, r)
							}
						}
					}
					for range rounds {
						for i, n := range lens {
							for from := range size {
								b := make([]byte, n)
								r, cl := e.Irecv(w, ptr(b), int64(n), byteType, int32(from), int32(i))
								if cl != OK {
									return cl
								}
								recvs, in = append(recvs, r), append(in, b)
							}
						}
					}
					for _, r := range append(sends, recvs...) {
						e.Wait(r)
						if c := r.Status().Err; c != OK {
							return c
						}
					}
					for x, b := range in {
						k, i, from := x/(size*len(lens)), x/size%len(lens), x%size
						if err := check(b, from+size*e.Rank()+i+k); err != nil {
							return fmt.Errorf("message %d of length %d from rank %d: %w", k, len(b), from, err)
						}
						e.Release(recvs[x])
					}
					for _, r := range sends {
						e.Release(r)
					}
					alone := e.Rank() == size-1
					if s := e.Stats(); (s.NearBytes == 0) != alone || s.PoolBytes == 0 || s.RingsOut != size-1 {
						return fmt.Errorf("rings in the wrong memory: %+v", s)
					}
					return nil
				})
			})
		}
	}
}

// TestOnlyNeighbours: a job whose ranks talk to neighbours alone takes no memory
// of the pool for it.
func TestOnlyNeighbours(t *testing.T) {
	j := newJob(t, 4, flush.Flush)
	j.mixed = true
	j.host = func(rank int) [16]byte { return [16]byte{byte(1 + rank/2)} }
	j.run(func(e *Endpoint, w *Comm) error {
		peer := e.Rank() ^ 1
		if e.Rank() < peer {
			if err := send(e, w, pattern(100_000, 1), peer, 0, Standard); err != nil {
				return err
			}
		} else if _, err := recv(e, w, make([]byte, 100_000), peer, 0); err != nil {
			return err
		}
		if s := e.Stats(); s.PoolBytes != 0 {
			return fmt.Errorf("%d bytes of the pool are held", s.PoolBytes)
		}
		return nil
	})
}
