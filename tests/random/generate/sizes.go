package generate

// bytes draws the length of a message, within what the case may still send.
func (g *generator) bytes() int {
	r := g.rng
	n := 0
	switch g.style.size {
	case tiny:
		n = r.IntN(60)
	case small:
		n = r.IntN(1200)
	case edges:
		n = pick(r, g.p.Limits...) + r.IntN(5) - 2
		if chance(r, 20) {
			n = r.IntN(2000)
		}
	case medium:
		n = r.IntN(40_000)
	case large:
		n = r.IntN(300_000)
		if chance(r, 5) {
			n = 1<<20 + r.IntN(1<<20) // beyond any staging window
		}
	}
	if chance(r, 5) {
		n = 0
	}
	n = max(n, 0)
	if n > g.budget {
		n = r.IntN(min(g.budget, 1000) + 1)
	}
	g.budget -= n
	return n
}

// cells draws a message's length in cells.
func (g *generator) cells() int {
	size := g.c.Cell.Size()
	n := g.bytes()
	if g.p.Host && len(g.c.Cell) > 1 {
		n = min(n, longStruct)
	}
	return (n + g.rng.IntN(size)) / size
}
