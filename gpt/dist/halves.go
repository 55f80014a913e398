package dist

// piece is the number of values that are exchanged at a time when they are added: the received ones are stored in a
// buffer of this size instead of one as large as the sum.
const piece = 1 << 17

// large is the number of values that are exchanged at a time when they need no buffer. This many arrive within any
// reasonable Timeout.
const large = 1 << 19

// halves holds the parts that a rank and its peer in the tree divide: from first to before middle, and from middle to
// before last.
type halves struct{ first, middle, last int }

// rounds returns the parts that a rank divides with rank^1, rank^2, rank^4, …
func (g *group) rounds() (list []halves) {
	h := halves{last: g.Size()}
	for bit := 1; bit < g.Size(); bit *= 2 {
		h.middle = (h.first + h.last) / 2
		list = append(list, h)
		if g.Rank()&bit == 0 {
			h.last = h.middle
		} else {
			h.first = h.middle
		}
	}
	return list
}

// split returns the half that this rank keeps, and its peer's.
func (g *group) split(bit int, h halves, x []float32, borders []int) (mine, theirs []float32) {
	mine, theirs = x[borders[h.first]:borders[h.middle]], x[borders[h.middle]:borders[h.last]]
	if g.Rank()&bit != 0 {
		return theirs, mine
	}
	return mine, theirs
}

// halve adds up, in every round, the half that the rank keeps of its remaining part: the tree of Sum. The order of the
// two summands does not matter.
func (g *group) halve(x []float32, borders []int) error {
	for i, h := range g.rounds() {
		if g.received == nil {
			g.received = make([]float32, piece)
		}
		mine, theirs := g.split(1<<i, h, x, borders)
		for len(theirs) > 0 || len(mine) > 0 {
			out, in := min(piece, len(theirs)), min(piece, len(mine))
			if err := g.Exchange(g.Rank()^1<<i, theirs[:out], g.received[:in]); err != nil {
				return err
			}
			if err := g.plus(mine[:in], g.received[:in]); err != nil {
				return err
			}
			theirs, mine = theirs[out:], mine[in:]
		}
	}
	return nil
}

// inTurn adds y to x.
func inTurn(x, y []float32) error {
	for i, v := range y {
		x[i] += v
	}
	return nil
}

// double sends the parts back in the reverse order of halve.
func (g *group) double(x []float32, borders []int) error {
	rounds := g.rounds()
	for i := len(rounds) - 1; i >= 0; i-- {
		mine, theirs := g.split(1<<i, rounds[i], x, borders)
		for len(theirs) > 0 || len(mine) > 0 {
			out, in := min(large, len(mine)), min(large, len(theirs))
			if err := g.Exchange(g.Rank()^1<<i, mine[:out], theirs[:in]); err != nil {
				return err
			}
			theirs, mine = theirs[in:], mine[out:]
		}
	}
	return nil
}
