package arena

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// FuzzSuperblock: any first bytes are refused with a named error, or are a pool
// whose geometry lies inside the file.
func FuzzSuperblock(f *testing.F) {
	g, _ := geometryFor(MinSize)
	var b [superLen]byte
	(&superblock{size: MinSize}).encode(&b, &g)
	f.Add(b[:], int64(MinSize))
	f.Add([]byte(magic), int64(8))
	f.Fuzz(func(t *testing.T, b []byte, have int64) {
		var s superblock
		if len(b) >= superLen { // let the fuzzer past the checksum
			le.PutUint64(b[504:], checksum(b[:504]))
		}
		g, err := s.decode(b, have)
		if err == nil && (g.size > have || g.objHi > g.size || g.objLo >= g.objHi) {
			t.Errorf("geometry outside of %d bytes: %+v", have, g)
		}
	})
}

// FuzzSlot: a slot that passes is inside the object area, with a usable name.
func FuzzSlot(f *testing.F) {
	g, _ := geometryFor(MinSize)
	var b [slotSize]byte
	(&slot{name: "n", off: g.objLo, size: 1, state: ready}).encode(&b)
	f.Add(b[:])
	f.Fuzz(func(t *testing.T, in []byte) {
		var b [slotSize]byte
		copy(b[:], in)
		seal(b[:])
		var s slot
		if s.decode(&b, &g) && s.state != free && (!g.validRange(s.off, s.size) || s.name == "" || len(s.name) > MaxName) {
			t.Errorf("%+v", s)
		}
	})
}

// FuzzMetadata overwrites metadata with the fuzzer's bytes: each 12 of them are
// a place (relative to the region that the first byte names) and 8 bytes of
// content; a flag in the place says whether to mend the record's checksum. Then
// every operation must end, with success or a named error, and what it hands
// out must lie in the pool.
func FuzzMetadata(f *testing.F) {
	f.Add([]byte{0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8})
	f.Add([]byte{4, 0, 1, 0, 255, 255, 255, 255, 255, 255, 255, 255})
	rng := rand.New(rand.NewPCG(testSeed, 2))
	for range 20 {
		b := make([]byte, 12*40)
		for i := range b {
			b[i] = byte(rng.Uint32())
		}
		f.Add(b)
	}
	path := filepath.Join(shmDir(f), "pool")
	f.Fuzz(func(t *testing.T, noise []byte) {
		os.Remove(path)
		c := Config{Path: path, Size: MinSize, Create: true, LockTimeout: time.Millisecond, HostID: [16]byte{1}}
		a := mustOpen(t, c)
		for i := range 5 {
			if _, err := a.Create(fmt.Sprint("object ", i), int64(1+i*3000)); err != nil {
				t.Fatal(err)
			}
		}
		spoil(a, noise)
		exercise(t, a)
		// A second process has no knowledge from before.
		b, err := Open(c)
		if err != nil {
			t.Fatal(err) // the superblock is not spoilt here
		}
		exercise(t, b)
		b.Close()
		a.Close()
	})
}

// spoil writes noise over the metadata of a.
func spoil(a *Arena, noise []byte) {
	g := &a.geo
	regions := []struct{ off, n, record int64 }{
		{controlOff, granule, lineSize},
		{hostsOff, hostSlots * hostLines * lineSize, lineSize},
		{presentOff, g.presentLen, lineSize},
		{g.sumOff, g.sumLen, lineSize},
		{g.hashOff, g.slots * slotSize, slotSize},
		{g.bitmapOff, g.groups * granule, lineSize},
	}
	for ; len(noise) >= 12; noise = noise[12:] {
		r := regions[int(noise[0])%len(regions)]
		at := int64(binary.LittleEndian.Uint16(noise[2:])) * 8 % r.n
		copy(a.mem[r.off+at:], noise[4:12])
		if rec := at / r.record * r.record; noise[1]&1 != 0 && rec+r.record <= r.n {
			seal(a.mem[r.off+rec : r.off+rec+r.record])
		}
	}
	if len(noise) > 4 { // the objects' slots themselves, mended
		a.eachSlot(func(i int64, s slot, ok bool) bool {
			b := a.mem[g.slotOff(i):][:slotSize]
			copy(b[8+int(noise[0])%48:56], noise[1:])
			seal(b)
			return true
		})
	}
}

// exercise calls everything.
func exercise(t *testing.T, a *Arena) {
	lo, hi := a.Bounds()
	check := func(what string, o *Object, err error) {
		var named *Error
		if err != nil {
			if !errors.As(err, &named) || remedies[named.Err] == "" {
				t.Errorf("%s: unnamed error %v", what, err)
			}
			return
		}
		if o != nil && (o.Offset() < lo || o.Size() <= 0 || o.Size() > hi-o.Offset()) {
			t.Errorf("%s: object at %d+%d", what, o.Offset(), o.Size())
		}
	}
	for i := range 3 {
		name := fmt.Sprint("object ", i)
		o, err := a.OpenObject(name)
		check("open", o, err)
		check("destroy", nil, a.Destroy(name))
		o, err = a.Create(name, 9000)
		check("create", o, err)
	}
	o, err := a.Create("large", hi-lo)
	check("create large", o, err)
	_, err = a.List()
	check("list", nil, err)
	_, err = a.Stat()
	check("stat", nil, err)
	_, err = a.GC()
	check("gc", nil, err)
	_, err = a.Check()
	check("check", nil, err)
	_, err = a.Inspect()
	check("inspect", nil, err)
	check("remove", nil, a.Remove(Info{Slot: 1 << 62, Generation: 1}))
	for _, idle := range []bool{false, true} {
		_, left, err := a.Repair(idle)
		check("repair", nil, err)
		for _, f := range left.Findings {
			if err == nil && (f.Cure == CureAny || idle && f.Cure == CureIdle) && len(left.Findings) < maxFindings {
				t.Errorf("repair (idle %v) left %+v", idle, f)
			}
		}
	}
	_, err = a.Evict([16]byte{7})
	check("evict", nil, err)
}

// TestNoise is FuzzMetadata's property on a fixed set of random pools, also of
// ones that are treated as devices.
func TestNoise(t *testing.T) {
	t.Logf("seed %d", testSeed)
	rng := rand.New(rand.NewPCG(testSeed, 3))
	path := filepath.Join(shmDir(t), "pool")
	for i := range 300 {
		os.Remove(path)
		c := Config{Path: path, Create: true, LockTimeout: time.Millisecond, HostID: [16]byte{1}, asDevice: i%2 == 1}
		if err := os.WriteFile(path, make([]byte, 4<<20), 0o600); err != nil {
			t.Fatal(err)
		}
		a := mustOpenQuickly(t, c)
		for j := range 5 {
			if _, err := a.Create(fmt.Sprint("object ", j), int64(1+j*3000)); err != nil {
				t.Fatal(err)
			}
		}
		noise := make([]byte, 12*(1+rng.IntN(60)))
		for j := range noise {
			noise[j] = byte(rng.Uint32())
		}
		spoil(a, noise)
		exercise(t, a)
		a.Close()
	}
}

// mustOpenQuickly does not wait for a settled claim to format a device: there
// is only this host.
func mustOpenQuickly(t *testing.T, c Config) *Arena {
	t.Helper()
	if c.asDevice {
		file := c
		file.asDevice = false
		a := mustOpen(t, file)
		var b [superLen]byte
		a.super.flags = 0 // as a device is formatted
		a.super.encode(&b, &a.geo)
		copy(a.mem, b[:])
		a.Close()
	}
	return mustOpen(t, c)
}
