package modelcheck

// MaxHosts and MaxLines bound a model, so that a state is a plain value.
const (
	MaxHosts = 3
	MaxLines = 8
)

// Memory is the shared lines and every host's cache of them.
type Memory struct {
	shared [MaxLines]uint8
	dirty  [MaxHosts][MaxLines]uint8  // value + 1 that the host stored and that is not in memory yet
	stale  [MaxHosts][MaxLines]uint16 // set of values that the host's cache may hold
}

// A host's stale set matters only until its next invalidation. So it is kept
// from the invalidation to the load, and longer only for lines (peeked, a bit
// set) that the variant at hand loads without invalidating. That makes states
// equal that can't be told apart.

// Store puts v in the host's cache.
func (m *Memory) Store(h, line int, v uint8) { m.dirty[h][line] = v + 1 }

// Dirty says whether the host has stored to the line what is not in memory yet.
func (m *Memory) Dirty(h, line int) bool { return m.dirty[h][line] != 0 }

// Flush makes what the host stored reach memory; also what an eviction does.
func (m *Memory) Flush(h, line int) {
	d := m.dirty[h][line]
	if d == 0 {
		return
	}
	m.dirty[h][line] = 0
	m.shared[line] = d - 1
	for k := range m.stale {
		if m.stale[k][line] != 0 {
			m.stale[k][line] |= 1 << (d - 1)
		}
	}
	if m.stale[h][line] != 0 {
		m.stale[h][line] = 1 << (d - 1)
	}
}

// Invalidate drops the line from the host's cache, after writing it back.
func (m *Memory) Invalidate(h, line int) {
	m.Flush(h, line)
	m.stale[h][line] = 1 << m.shared[line]
}

// Load calls f with each value that the host may see, and the memory after it.
func (m Memory) Load(h, line int, peeked uint8, f func(v uint8, after Memory)) {
	if d := m.dirty[h][line]; d != 0 {
		f(d-1, m)
		return
	}
	for v := range uint8(16) {
		if m.stale[h][line]>>v&1 == 0 {
			continue
		}
		after := m
		after.stale[h][line] = 0
		if peeked>>line&1 != 0 {
			after.stale[h][line] = 1<<v | 1<<m.shared[line]
		}
		f(v, after)
	}
}

// Cached makes every host hold the initial value of the peeked lines.
func (m *Memory) Cached(hosts int, peeked uint8) {
	for h := range hosts {
		for line := range MaxLines {
			if peeked>>line&1 != 0 {
				m.stale[h][line] = 1 << m.shared[line]
			}
		}
	}
}
