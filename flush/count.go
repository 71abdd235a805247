package flush

import "sync/atomic"

// Counts are how many cache lines a View has moved by its own doing. In Coherent
// there are none.
type Counts struct {
	Published   uint64 `json:"published"`   // written back, or stored past the cache
	Invalidated uint64 `json:"invalidated"` // dropped, to see what others have written
}

// Count makes the View, and those that Streaming gives of it from now on, count
// in c; nil ends that. Nothing else may use the View meanwhile. In Coherent
// nothing is counted.
func (v *View) Count(c *Counts) {
	if v.mode != Coherent {
		v.counts = c
	}
}

func (v *View) published(lines int) {
	if v.counts != nil {
		atomic.AddUint64(&v.counts.Published, uint64(lines))
	}
}

func (v *View) invalidated(lines int) {
	if v.counts != nil && (v.emu != nil || v.plan.invalidate != cacheNone) {
		atomic.AddUint64(&v.counts.Invalidated, uint64(lines))
	}
}
