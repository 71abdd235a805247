package program

import "slices"

// Comm names one of the communicators that the executor makes out of
// MPI_COMM_WORLD.
type Comm int

// The communicators.
const (
	World    Comm = iota // MPI_COMM_WORLD itself
	Copy                 // a duplicate
	Reversed             // all ranks, numbered from the last to the first
	Parity               // the even ranks, and another one of the odd ranks
	Inter                // an intercommunicator of the even and the odd ranks
	Fresh                // a duplicate that the case makes and frees
	Comms    = iota
)

var commNames = [Comms]string{"world", "copy", "reversed", "parity", "inter", "fresh"}

func (c Comm) String() string { return commNames[c] }

// Wildcards and the null process as peers and tags of an operation. The
// executor translates them to its MPI's.
const (
	AnySource = -2
	AnyTag    = -1
	ProcNull  = -1
)

// Remote lists the ranks (in MPI_COMM_WORLD) that rank self exchanges messages
// with on c, in the order of their ranks there.
func (c Comm) Remote(ranks, self int) []int {
	var list []int
	for r := range ranks {
		same := r%2 == self%2
		if c == Parity && !same || c == Inter && same {
			continue
		}
		list = append(list, r)
	}
	if c == Reversed {
		slices.Reverse(list)
	}
	return list
}

// RankOf is the rank by which viewer knows peer on c, both given as ranks in
// MPI_COMM_WORLD; -1 if it doesn't.
func (c Comm) RankOf(ranks, viewer, peer int) int {
	return slices.Index(c.Remote(ranks, viewer), peer)
}
