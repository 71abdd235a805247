package remains

import (
	"errors"
	"fmt"
	"unsafe"

	"cmpi/arena"
	"cmpi/flush"
)

// Bystander owns an object with a pattern in a pool, as a process of another host
// that has nothing to do with the jobs there.
type Bystander struct {
	a *arena.Arena
	o *arena.Object
}

// BystanderName is the object's name.
const BystanderName = "bystander"

const bystanderSize = 1 << 20

// NewBystander makes a pool file of size bytes, and the bystander in it.
func NewBystander(pool string, size int64) (*Bystander, error) {
	a, err := arena.Open(arena.Config{Path: pool, Size: size, Create: true, Mode: flush.Flush, HostID: arena.KernelID(BystanderName)})
	if err != nil {
		return nil, err
	}
	o, err := a.Create(BystanderName, bystanderSize)
	if err != nil {
		return nil, errors.Join(err, a.Close())
	}
	b := &Bystander{a, o}
	want := make([]byte, bystanderSize)
	for i := range want {
		want[i] = patternAt(i)
	}
	a.View().CopyIn(unsafe.Add(a.View().Base(), o.Offset()), unsafe.Pointer(&want[0]), len(want))
	a.View().Fence()
	return b, nil
}

func patternAt(i int) byte { return byte(i*7 + i>>8) }

// Arena is the pool as the bystander sees it.
func (b *Bystander) Arena() *arena.Arena { return b.a }

// Look fails unless every byte is as it was.
func (b *Bystander) Look() error {
	got := make([]byte, bystanderSize)
	b.a.View().CopyOut(unsafe.Pointer(&got[0]), unsafe.Add(b.a.View().Base(), b.o.Offset()), len(got))
	for i := range got {
		if got[i] != patternAt(i) {
			return fmt.Errorf("byte %d of another's object was changed", i)
		}
	}
	return nil
}

// Close leaves the pool.
func (b *Bystander) Close() error { return b.a.Close() }
