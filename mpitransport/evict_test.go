package mpitransport

import (
	"slices"
	"testing"

	"cmpi/arena"
)

// TestAbandoned: of silent hosts, those are freed that own something, and that no
// living process of one of their jobs may still talk to.
func TestAbandoned(t *testing.T) {
	host := func(id byte) arena.HostInfo { return arena.HostInfo{ID: [16]byte{id}} }
	locked := host(5)
	locked.Ticket = 7
	silent := []arena.HostInfo{host(1), host(2), host(3), host(4), locked}
	object := func(name string, id byte, l arena.Life) arena.Info {
		return arena.Info{Name: name, Owner: arena.Owner{Host: [16]byte{id}}, Life: l}
	}
	got := abandoned(silent, []arena.Info{
		object("j/gone/1/0", 1, arena.Unknown),
		object("j/gone/2/0", 9, arena.Dead),
		object("j/here/1/0", 2, arena.Unknown),
		object("j/here/2/0", 9, arena.Alive),
		object("j/there/1/0", 3, arena.Unknown),
		object("j/there/2/0", 8, arena.Unknown),
	})
	want := []arena.HostInfo{host(1), locked}
	if !slices.Equal(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
}
