package plan

import "math"

// slot is what a buffer holds in one turn of its operation.
type slot struct {
	buffer Buffer
	again  bool
}

// life says from which turn to which a slot is needed, and where it lies.
type life struct {
	slot
	first, last int
	from, to    int // in the arena
}

func (l *life) overlaps(m *life) bool { return l.first <= m.last && m.first <= l.last }

// lives are the slots of a program in the order in which they are first filled.
func lives(list []turn) (all []*life) {
	of := map[slot]*life{}
	again := map[Buffer]bool{} // computed a second time already
	returned := map[Buffer]bool{}
	for i, t := range list {
		for _, c := range t.op.Inputs {
			if c.Out != nil {
				of[slot{c.Out, again[c.Out]}].last = i
			}
		}
		for _, b := range t.op.writes() {
			s := slot{b, t.again}
			again[b] = t.again
			if of[s] == nil {
				of[s] = &life{slot: s, first: i}
				all = append(all, of[s])
			}
			of[s].last = i
		}
		for _, b := range t.op.Uses {
			of[slot{b, again[b]}].last = i
		}
		returned[t.op.Out] = true
	}
	for _, t := range list {
		if t.op.Output && t.op.Out != nil {
			of[slot{t.op.Out, false}].last = math.MaxInt
		}
	}
	wanted := all[:0] // without optional results that nothing returns, such as the gradient of a frozen gain
	for _, l := range all {
		if !l.buffer.Optional() || returned[l.buffer] {
			wanted = append(wanted, l)
		}
	}
	return wanted
}
