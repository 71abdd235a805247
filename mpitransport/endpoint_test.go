package mpitransport

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"testing"
	"time"
	"unsafe"

	"github.com/google/go-cmp/cmp"

	"cmpi/arena"
	"cmpi/flush"
	"cmpi/mpitransport/datatype"
)

func shmDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "cmpi-test-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

var sizes = []int{0, 1, 8, 40, 41, 96, 97, 1000, 8 << 10, 8<<10 + 1, 100_000, 3<<20 + 5}

func TestPingPong(t *testing.T) {
	eachShape(t, 2, func(t *testing.T, j *job) {
		j.run(func(e *Endpoint, w *Comm) error {
			for i, n := range sizes {
				if j.mode == flush.Emulate && n > 1<<20 {
					continue
				}
				for _, m := range []Mode{Standard, Sync, Ready} {
					buf := make([]byte, n)
					if e.Rank() == 0 {
						if err := send(e, w, pattern(n, i), 1, i, m); err != nil {
							return err
						}
					}
					st, err := recv(e, w, buf, 1-e.Rank(), i)
					if err == nil {
						err = check(buf, i)
					}
					if err != nil {
						return fmt.Errorf("%d bytes, mode %d: %w", n, m, err)
					}
					if d := cmp.Diff(Status{Source: int32(1 - e.Rank()), Tag: int32(i), Bytes: int64(n)}, st); d != "" {
						return errors.New(d)
					}
					if e.Rank() == 1 {
						if err := send(e, w, buf, 0, i, m); err != nil {
							return err
						}
					}
				}
			}
			return nil
		})
	})
}

// TestExchange: both send first, with more than rings and staging hold at
// once; then messages with derived types.
func TestExchange(t *testing.T) {
	eachShape(t, 2, func(t *testing.T, j *job) {
		j.run(func(e *Endpoint, w *Comm) error {
			peer := int32(1 - e.Rank())
			var sends, recvs []*Request
			var in [][]byte
			rounds := 3
			if j.mode == flush.Emulate {
				rounds = 1
			}
			list := sizes[:len(sizes)-1]
			for k := range rounds {
				for i, n := range list {
					b := pattern(n, i+k)
					r, cl := e.Isend(w, ptr(b), int64(n), byteType, peer, int32(i), Standard)
					if cl != OK {
						return cl
					}
					sends = append(sends, r)
				}
			}
			for range rounds {
				for i, n := range list {
					b := make([]byte, n)
					r, cl := e.Irecv(w, ptr(b), int64(n), byteType, peer, int32(i))
					if cl != OK {
						return cl
					}
					recvs, in = append(recvs, r), append(in, b)
				}
			}
			for _, r := range append(sends, recvs...) {
				e.Wait(r)
				if c := r.Status().Err; c != OK {
					return c
				}
			}
			for x, b := range in {
				if err := check(b, x%len(list)+x/len(list)); err != nil {
					return fmt.Errorf("message %d: %w", x, err)
				}
				e.Release(recvs[x])
			}
			for _, r := range sends {
				e.Release(r)
			}
			return vectors(e, w, peer)
		})
	})
}

// TestUnexpected: messages of every size have come, and are kept, before any of
// their receives is posted; then they are received from the last to the first.
func TestUnexpected(t *testing.T) {
	eachShape(t, 2, func(t *testing.T, j *job) {
		j.run(func(e *Endpoint, w *Comm) error {
			const words, marker = 5000, 99
			list := sizes[:len(sizes)-1]
			n := words * 8
			spread := datatype.Hvector(words, 8, 16, byteType)
			if e.Rank() == 0 {
				var rs []*Request
				isend := func(b []byte, count int64, t *datatype.Type, tag int) (cl Class) {
					r, cl := e.Isend(w, ptr(b), count, t, 1, int32(tag), Standard)
					rs = append(rs, r)
					return cl
				}
				for i, n := range list {
					if cl := isend(pattern(n, i), int64(n), byteType, i); cl != OK {
						return cl
					}
				}
				if cl := isend(pattern(2*n, 7), 1, spread, len(list)); cl != OK {
					return cl
				}
				if cl := isend(nil, 0, byteType, marker); cl != OK {
					return cl
				}
				for _, r := range rs {
					e.Wait(r)
					e.Release(r)
				}
				return nil
			}
			if _, cl := e.Probe(w, 0, marker); cl != OK {
				return cl
			}
			b := make([]byte, 2*n)
			if cl := e.Recv(w, ptr(b), 1, spread, 0, int32(len(list)), nil); cl != OK {
				return cl
			}
			for i, want := range pattern(2*n, 7) {
				if i%16 >= 8 {
					want = 0
				}
				if b[i] != want {
					return fmt.Errorf("derived type: byte %d is %#x, want %#x", i, b[i], want)
				}
			}
			for i := len(list) - 1; i >= 0; i-- {
				b := make([]byte, list[i])
				if _, err := recv(e, w, b, 0, i); err != nil {
					return err
				}
				if err := check(b, i); err != nil {
					return err
				}
			}
			_, err := recv(e, w, nil, 0, marker)
			return err
		})
	})
}

// vectors exchanges every second 8-byte word of a buffer, sent with a derived
// type and received as bytes and the other way round.
func vectors(e *Endpoint, w *Comm, peer int32) error {
	for _, words := range []int{3, 500, 2500, 3900, 20_000} {
		t := datatype.Hvector(int64(words), 8, 16, byteType)
		src := pattern(words*16, 3)
		var packed []byte
		for i := range words {
			packed = append(packed, src[i*16:i*16+8]...)
		}
		for _, derived := range []bool{true, false} {
			st, rt, n := t, byteType, int64(1)
			sb, rb, rn := src, make([]byte, len(packed)), int64(len(packed))
			if !derived {
				st, rt, n = byteType, t, int64(len(packed))
				sb, rb, rn = packed, make([]byte, len(src)), 1
			}
			s, cl := e.Isend(w, ptr(sb), n, st, peer, 7, Standard)
			if cl != OK {
				return cl
			}
			if cl := e.Recv(w, ptr(rb), rn, rt, peer, 7, nil); cl != OK {
				return cl
			}
			e.Wait(s)
			e.Release(s)
			got := rb
			if !derived {
				got = nil
				for i := range words {
					got = append(got, rb[i*16:i*16+8]...)
				}
			}
			if !bytes.Equal(got, packed) {
				return fmt.Errorf("%d words, derived sender %v: data differs", words, derived)
			}
		}
	}
	return nil
}

func TestTruncation(t *testing.T) {
	eachShape(t, 2, func(t *testing.T, j *job) {
		j.run(func(e *Endpoint, w *Comm) error {
			for _, n := range []int{50, 5000, 50_000} {
				if e.Rank() == 0 {
					if err := send(e, w, pattern(n, 1), 1, 0, Standard); err != nil {
						return err
					}
					continue
				}
				buf := make([]byte, n)
				var st Status
				if cl := e.Recv(w, ptr(buf), int64(n-10), byteType, 0, 0, &st); cl != ErrTruncate {
					return fmt.Errorf("%d bytes: %v, want truncation", n, cl)
				}
				if st.Bytes != int64(n-10) {
					return fmt.Errorf("%d bytes: count %d", n, st.Bytes)
				}
				if !bytes.Equal(buf[n-10:], make([]byte, 10)) {
					return fmt.Errorf("%d bytes: written behind the buffer", n)
				}
				if err := check(buf[:n-10], 1); err != nil {
					return err
				}
			}
			return nil
		})
	})
}

// TestWildcards: a master receives from any source with any tag; the messages
// of each source keep their order.
func TestWildcards(t *testing.T) {
	const size, count = 4, 60
	for _, m := range modes {
		t.Run(m.String(), func(t *testing.T) {
			j := newJob(t, size, m)
			j.run(func(e *Endpoint, w *Comm) error {
				if e.Rank() > 0 {
					for i := range count {
						if err := send(e, w, pattern(i*37, e.Rank()), 0, i, Mode(i%3)); err != nil {
							return err
						}
					}
					return nil
				}
				next := make([]int, size)
				for range count * (size - 1) {
					st, cl := e.Probe(w, AnySource, AnyTag)
					if cl != OK {
						return cl
					}
					buf := make([]byte, st.Bytes)
					got, err := recv(e, w, buf, AnySource, int(st.Tag))
					if err != nil {
						return err
					}
					if next[got.Source] != int(got.Tag) {
						return fmt.Errorf("message %d of rank %d, want %d", got.Tag, got.Source, next[got.Source])
					}
					next[got.Source]++
					if err := check(buf[:got.Bytes], int(got.Source)); err != nil {
						return err
					}
				}
				return nil
			})
		})
	}
}

// TestPostedOrder: of several receives that match, the first posted gets the
// message, wildcard or not.
func TestPostedOrder(t *testing.T) {
	j := newJob(t, 2, flush.Coherent)
	j.run(func(e *Endpoint, w *Comm) error {
		if e.Rank() == 0 {
			if err := e.Barrier(); err != nil {
				return err
			}
			for i := range 4 {
				if err := send(e, w, []byte{byte(i)}, 1, 5, Standard); err != nil {
					return err
				}
			}
			return nil
		}
		var rs []*Request
		bufs := make([][]byte, 4)
		for i, a := range [][2]int32{{AnySource, AnyTag}, {0, 5}, {AnySource, 5}, {0, AnyTag}} {
			bufs[i] = make([]byte, 1)
			r, cl := e.Irecv(w, ptr(bufs[i]), 1, byteType, a[0], a[1])
			if cl != OK {
				return cl
			}
			rs = append(rs, r)
		}
		if err := e.Barrier(); err != nil {
			return err
		}
		for i, r := range rs {
			e.Wait(r)
			if int(bufs[i][0]) != i {
				return fmt.Errorf("receive %d got message %d", i, bufs[i][0])
			}
		}
		return nil
	})
}

func TestSelf(t *testing.T) {
	for _, m := range modes {
		newJob(t, 1, m).run(func(e *Endpoint, w *Comm) error {
			for _, n := range []int{0, 5, 100_000} {
				for _, mode := range []Mode{Standard, Sync} {
					s, cl := e.Isend(w, ptr(pattern(n, 1)), int64(n), byteType, 0, 1, mode)
					if cl != OK {
						return cl
					}
					if mode == Sync && s.Done() {
						return errors.New("a synchronous send to oneself is done before it is received")
					}
					b := make([]byte, n)
					if _, err := recv(e, w, b, 0, 1); err != nil {
						return err
					}
					if !s.Done() {
						return errors.New("send to oneself not done")
					}
					e.Release(s)
					if err := check(b, 1); err != nil {
						return err
					}
				}
			}
			if s := e.Stats(); s.RingsOut != 0 {
				return fmt.Errorf("rings: %d", s.RingsOut)
			}
			return nil
		})
	}
}

// TestMatchedProbe: a message taken out by Improbe is invisible to others and
// comes by Imrecv.
func TestMatchedProbe(t *testing.T) {
	j := newJob(t, 2, flush.Coherent)
	j.run(func(e *Endpoint, w *Comm) error {
		if e.Rank() == 0 {
			for i, n := range []int{10, 200_000} {
				if err := send(e, w, pattern(n, i), 1, i, Standard); err != nil {
					return err
				}
			}
			return nil
		}
		m, st, cl := e.Mprobe(w, 0, 0)
		if cl != OK || st.Bytes != 10 {
			return fmt.Errorf("%v %+v", cl, st)
		}
		if _, ok, _ := e.Iprobe(w, 0, 0); ok {
			return errors.New("a matched message is found again")
		}
		big, st, cl := e.Mprobe(w, 0, 1)
		if cl != OK || st.Bytes != 200_000 {
			return fmt.Errorf("%v %+v", cl, st)
		}
		for i, x := range []*Message{m, big} {
			b := make([]byte, x.Status().Bytes)
			r, cl := e.Imrecv(x, ptr(b), int64(len(b)), byteType)
			if cl != OK {
				return cl
			}
			e.Wait(r)
			e.Release(r)
			if err := check(b, i); err != nil {
				return err
			}
		}
		return nil
	})
}

func TestCancel(t *testing.T) {
	newJob(t, 1, flush.Coherent).run(func(e *Endpoint, w *Comm) error {
		r, _ := e.Irecv(w, nil, 0, byteType, AnySource, 3)
		e.Cancel(r)
		if !r.Done() || !r.Status().Cancelled {
			return errors.New("an unmatched receive was not cancelled")
		}
		e.Release(r)
		if m := w.posted.match(0, 3); m != nil {
			return errors.New("still posted")
		}
		return nil
	})
}

func TestBadArguments(t *testing.T) {
	newJob(t, 1, flush.Coherent).run(func(e *Endpoint, w *Comm) error {
		type args struct {
			count     int64
			rank, tag int32
		}
		for _, tc := range []struct {
			args
			send, recv Class
		}{
			{args{-1, 0, 0}, ErrCount, ErrCount},
			{args{1, 1, 0}, ErrRank, ErrRank},
			{args{1, -7, 0}, ErrRank, ErrRank},
			{args{1, 0, -5}, ErrTag, ErrTag},
			{args{1, 0, 1 << 29}, ErrTag, ErrTag},
			{args{1, 0, AnyTag}, ErrTag, OK},
			{args{1, AnySource, 0}, ErrRank, OK},
			{args{-1, ProcNull, -9}, OK, OK},
		} {
			var b byte
			_, cl := e.Isend(w, unsafe.Pointer(&b), tc.count, byteType, tc.rank, tc.tag, Standard)
			if cl != tc.send {
				return fmt.Errorf("%+v: send %v, want %v", tc.args, cl, tc.send)
			}
			r, cl := e.Irecv(w, unsafe.Pointer(&b), tc.count, byteType, tc.rank, tc.tag)
			if cl != tc.recv {
				return fmt.Errorf("%+v: receive %v, want %v", tc.args, cl, tc.recv)
			}
			if r != nil {
				e.Cancel(r)
			}
		}
		return nil
	})
}

// TestEarlyMessages: a message on a communicator that the receiver has not
// made yet waits for it.
func TestEarlyMessages(t *testing.T) {
	j := newJob(t, 2, flush.Coherent)
	j.run(func(e *Endpoint, w *Comm) error {
		if e.Rank() == 0 {
			c := e.NewComm(77, 0, []int32{0, 1}, nil)
			for _, n := range []int{4, 50_000} {
				s, cl := e.Isend(c, ptr(pattern(n, 2)), int64(n), byteType, 1, 1, Standard)
				if cl != OK {
					return cl
				}
				defer func() { e.Wait(s); e.Release(s) }()
			}
			return e.Barrier()
		}
		if err := e.Barrier(); err != nil {
			return err
		}
		for i := 0; i < 10_000; i++ {
			e.Progress()
		}
		c := e.NewComm(77, 1, []int32{0, 1}, nil)
		for _, n := range []int{4, 50_000} {
			b := make([]byte, n)
			if _, err := recv(e, c, b, 0, 1); err != nil {
				return err
			}
			if err := check(b, 2); err != nil {
				return err
			}
		}
		return nil
	})
}

// TestFreedComm: what is posted on a communicator when it is freed completes.
func TestFreedComm(t *testing.T) {
	j := newJob(t, 2, flush.Coherent)
	j.run(func(e *Endpoint, w *Comm) error {
		c := e.NewComm(78, e.Rank(), []int32{0, 1}, nil)
		if e.Rank() == 0 {
			if err := e.Barrier(); err != nil { // the receive is posted, the communicator freed
				return err
			}
			defer e.FreeComm(c)
			return send(e, c, pattern(50_000, 3), 1, 4, Standard)
		}
		b := make([]byte, 50_000)
		r, cl := e.Irecv(c, ptr(b), 50_000, byteType, 0, 4)
		if cl != OK {
			return cl
		}
		e.FreeComm(c)
		if err := e.Barrier(); err != nil {
			return err
		}
		e.Wait(r)
		e.Release(r)
		e.FreeComm(e.NewComm(79, 1, []int32{0, 1}, nil))
		if len(e.freed) != 0 || e.comms[78] != nil {
			return errors.New("the freed communicator is still known")
		}
		return check(b, 3)
	})
}

// TestStagedSendIsFree: once Isend of a large message has returned, the
// receiver gets it without any further call of the sender.
func TestStagedSendIsFree(t *testing.T) {
	for _, m := range modes {
		t.Run(m.String(), func(t *testing.T) {
			j := newJob(t, 2, m)
			got := make(chan struct{})
			j.run(func(e *Endpoint, w *Comm) error {
				const n = 300_000
				if e.Rank() == 0 {
					b := pattern(n, 9)
					s, cl := e.Isend(w, ptr(b), n, byteType, 1, 0, Standard)
					if cl != OK {
						return cl
					}
					select {
					case <-got:
					case <-time.After(20 * time.Second):
						return errors.New("the receiver needs the sender's help")
					}
					e.Wait(s)
					e.Release(s)
					return nil
				}
				b := make([]byte, n)
				_, err := recv(e, w, b, 0, 0)
				close(got)
				if err != nil {
					return err
				}
				return check(b, 9)
			})
		})
	}
}

// TestRefusedSingleCopy: a receiver that may not read the sender's memory gets
// the data all the same.
func TestRefusedSingleCopy(t *testing.T) {
	j := newJob(t, 2, flush.Coherent)
	j.shape.SingleCopyMin = 1
	j.config = func(rank int, c *Config) { c.NoSingleCopy = rank == 1 }
	j.run(func(e *Endpoint, w *Comm) error {
		for _, m := range []Mode{Standard, Sync} {
			b := pattern(500_000, 4)
			if e.Rank() == 0 {
				if err := send(e, w, b, 1, 0, m); err != nil {
					return err
				}
				continue
			}
			clear(b)
			if _, err := recv(e, w, b, 0, 0); err != nil {
				return err
			}
			if err := check(b, 4); err != nil {
				return err
			}
		}
		return nil
	})
}

// TestPoolFull: with no room left for staging, large messages stream through
// the rings.
func TestPoolFull(t *testing.T) {
	for _, m := range modes {
		t.Run(m.String(), func(t *testing.T) {
			j := newJob(t, 2, m)
			j.shape.NoSingleCopy = true
			j.run(func(e *Endpoint, w *Comm) error {
				peer := 1 - e.Rank()
				// Rings first, then nothing is left.
				s, _ := e.Isend(w, nil, 0, byteType, int32(peer), 0, Standard)
				if _, err := recv(e, w, nil, peer, 0); err != nil {
					return err
				}
				e.Wait(s)
				if err := e.Barrier(); err != nil {
					return err
				}
				for n := int64(8 << 20); n >= 64; n /= 2 {
					for i := 0; ; i++ {
						if _, err := e.cfg.Arena.Create(fmt.Sprintf("fill/%d/%d/%d", e.Rank(), n, i), n); err != nil {
							break
						}
					}
				}
				for {
					if _, err := e.pool.segs.alloc(1 << 12); err != nil {
						break
					}
				}
				if err := e.Barrier(); err != nil {
					return err
				}
				const n = 200_000
				in := make([]byte, n)
				r, _ := e.Irecv(w, ptr(in), n, byteType, int32(peer), 1)
				if err := send(e, w, pattern(n, peer), peer, 1, Standard); err != nil {
					return err
				}
				e.Wait(r)
				if s := e.Stats(); s.Streamed == 0 {
					return fmt.Errorf("nothing was streamed: %+v", s)
				}
				return check(in, e.Rank())
			})
		})
	}
}

// TestLeavesNothing: after Finalize the pool holds no object of the job, and a
// silent rank never owned any but the root.
func TestLeavesNothing(t *testing.T) {
	j := newJob(t, 3, flush.Flush)
	j.run(func(e *Endpoint, w *Comm) error {
		switch e.Rank() {
		case 0:
			if err := send(e, w, pattern(200_000, 0), 1, 0, Standard); err != nil {
				return err
			}
		case 1:
			if _, err := recv(e, w, make([]byte, 200_000), 0, 0); err != nil {
				return err
			}
		case 2:
			if s := e.Stats(); s.RingsOut != 0 || s.RingsIn != 0 || s.PoolBytes != 0 {
				return fmt.Errorf("a silent rank holds %+v", s)
			}
		}
		return nil
	})
	a, err := arena.Open(arena.Config{Path: j.path, Mode: j.mode})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	list, err := a.List()
	if err != nil {
		t.Fatal(err)
	}
	if len(list) != 0 {
		t.Errorf("left in the pool: %+v", list)
	}
}

// TestLateLook: a rank that is late in the last barrier looks at rings which others
// have opened to each other. They are still there.
func TestLateLook(t *testing.T) {
	for _, mode := range modes {
		t.Run(mode.String(), func(t *testing.T) {
			j := newJob(t, 3, mode)
			j.run(func(e *Endpoint, w *Comm) error {
				switch e.Rank() {
				case 0:
					_, err := recv(e, w, make([]byte, 8), 2, 0)
					return err
				case 2:
					return send(e, w, pattern(8, 0), 0, 0, Standard)
				}
				e.enterBarrier() // Finalize's first
				time.Sleep(200 * time.Millisecond)
				for range 1000 {
					e.progress()
				}
				e.bseq--
				if b := e.Stats().Broken; b != 0 {
					return fmt.Errorf("%d peers taken for broken", b)
				}
				return nil
			})
		})
	}
}

// TestStaleRoot: the root of a job that died under the same name is no
// obstacle, whoever comes first.
func TestStaleRoot(t *testing.T) {
	j := newJob(t, 2, flush.Coherent)
	a, err := arena.Open(arena.Config{Path: j.path, Size: j.pool, Create: true, Mode: j.mode, HostID: [16]byte{1}})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	dead := &Endpoint{cfg: Config{Arena: a, Job: "test"}, size: 2}
	dead.pool = newMedium(a, &dead.cfg)
	if err := dead.createRoot(); err != nil {
		t.Fatal(err)
	}
	dead.probe = new(uint64)
	dead.publishInfo()
	j.config = func(rank int, c *Config) {
		if rank == 0 {
			time.Sleep(50 * time.Millisecond)
		}
	}
	j.run(func(e *Endpoint, w *Comm) error { return e.Barrier() })
}

func TestAllocations(t *testing.T) {
	j := newJob(t, 1, flush.Coherent)
	j.run(func(e *Endpoint, w *Comm) error {
		// Both ends of the ring are in one rank here: what one thread does
		// alone can be counted exactly.
		p := &e.peers[0]
		if cl := e.openRing(p); cl != OK {
			return cl
		}
		e.readBoard(p)
		buf := make([]byte, 4096)
		w2 := &Comm{ctx: w.ctx, remote: w.remote, peers: w.peers, fast: new(FastComm)}
		for _, n := range []int64{8, 4096} {
			allocs := testing.AllocsPerRun(1000, func() {
				r, _ := e.Irecv(w, ptr(buf), n, byteType, 0, 0)
				e.rank = -1 // not to oneself, for isend
				s, _ := e.Isend(w2, ptr(buf), n, byteType, 0, 0, Standard)
				e.rank = 0
				e.Wait(s)
				e.Wait(r)
				e.Release(s)
				e.Release(r)
			})
			if allocs != 0 {
				return fmt.Errorf("%v allocations for a message of %d bytes", allocs, n)
			}
		}
		return nil
	})
}
