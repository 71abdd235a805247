package flush

// Streaming returns a View of the same coherent memory whose PutLines and
// CopyIn go past the cache, as they do in Flush, while reads stay plain loads.
// Where a line that another core has in its cache is expensive to take over,
// writing around both caches is faster for more than a few lines. Its writes
// must be followed by Fence. In other modes, and on a CPU without whole-line
// streaming stores, it is v itself.
func (v *View) Streaming() *View {
	publish := bestPublish(v.plan.wordCopy)
	if v.mode != Coherent || publish < publishStream {
		return v
	}
	s := *v
	s.plan.publish = publish
	s.plan.stream = bestStream(v.plan.wordCopy)
	s.plan.storeFence = true
	return &s
}
