// Command pool works on the metadata of a pool from one of several hosts, and
// checks it:
//
//	pool use PATH SECONDS    create, open and destroy a few names that all hosts fight for
//	pool check PATH          compare all slots, bits and summaries; list the objects
//	pool evict PATH BOOT-ID  free what a host that is gone has left
//
// Whoever creates an object writes a stamp of its own to every line of it, and finds
// it unchanged before it destroys the object: an object that two hosts believe to
// be theirs is noticed. The pool is formatted if it is blank.
package main

import (
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"time"
	"unsafe"

	"cmpi/arena"
	"cmpi/flush"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "pool:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) < 2 {
		return errors.New("usage: pool use PATH SECONDS | pool check PATH | pool evict PATH BOOT-ID")
	}
	a, err := arena.Open(arena.Config{Path: args[1], Create: true, Mode: flush.Flush})
	if err != nil {
		return err
	}
	defer a.Close()
	switch {
	case args[0] == "use" && len(args) == 3:
		seconds, err := strconv.ParseFloat(args[2], 64)
		if err != nil {
			return err
		}
		return use(a, time.Duration(seconds*float64(time.Second)))
	case args[0] == "check" && len(args) == 2:
		return check(a)
	case args[0] == "evict" && len(args) == 3:
		id, err := hex.DecodeString(strings.ReplaceAll(args[2], "-", ""))
		if err != nil || len(id) != 16 {
			return fmt.Errorf("%q is no boot id", args[2])
		}
		n, err := a.Evict([16]byte(id))
		if err == nil {
			fmt.Printf("%d objects of the old host freed\n", n)
		}
		return err
	}
	return fmt.Errorf("unknown command %q", strings.Join(args, " "))
}

// What the hosts fight for: few names, so that they meet, and objects of one page
// and of some.
const (
	names   = 5
	longest = 20_000
)

func use(a *arena.Arena, d time.Duration) error {
	var created, met, opened int
	for stop := time.Now().Add(d); time.Now().Before(stop); {
		name := fmt.Sprint("fought for ", rand.IntN(names))
		o, err := a.Create(name, 1+rand.Int64N(longest))
		switch {
		case errors.Is(err, arena.ErrExists):
			met++
			if o, err = a.OpenObject(name); err == nil {
				opened++
				err = o.Close()
			} else if errors.Is(err, arena.ErrNotFound) {
				err = nil // destroyed meanwhile
			}
			if err != nil {
				return err
			}
		case err != nil:
			return err
		default:
			created++
			if err := stampAndDestroy(a.View(), o); err != nil {
				return err
			}
		}
	}
	fmt.Printf("created %d, found taken %d, opened %d of those\n", created, met, opened)
	if created == 0 || met == 0 {
		return errors.New("nobody else was there")
	}
	return nil
}

// stampAndDestroy writes a number of our own to every line of a new object, lets
// others run, looks again and destroys the object.
func stampAndDestroy(v *flush.View, o *arena.Object) error {
	stamp := rand.Uint64()
	for off := int64(0); off+8 <= o.Size(); off += flush.LineSize {
		p := unsafe.Add(o.Addr(), off)
		if x := v.Load64(p); x != 0 {
			return fmt.Errorf("byte %d of a new object has %#x, not zero", off, x)
		}
		v.Store64(p, stamp)
	}
	time.Sleep(time.Duration(rand.IntN(2000)) * time.Microsecond)
	for off := int64(0); off+8 <= o.Size(); off += flush.LineSize {
		if x := v.Load64(unsafe.Add(o.Addr(), off)); x != stamp {
			return fmt.Errorf("byte %d of our object has %#x, not %#x", off, x, stamp)
		}
	}
	return o.Destroy()
}

func check(a *arena.Arena) error {
	r, err := a.Check()
	if err != nil {
		return err
	}
	objects, err := a.List()
	if err != nil {
		return err
	}
	for _, o := range objects {
		fmt.Printf("object %q, %d bytes\n", o.Name, o.Size)
	}
	for _, f := range r.Findings {
		fmt.Printf("problem: %s: %s\n", f.Part, f.Text)
	}
	fmt.Printf("%d objects, %d problems\n", len(objects), len(r.Findings))
	if len(r.Findings) > 0 {
		return errors.New("the pool is not sound")
	}
	return nil
}
