package plan

import "math"

// slot is the content of a buffer in one turn of its operation.
type slot struct {
	buffer Buffer
	again  bool
}

// life is a slot with the turns between which it is needed and its place in the arena.
type life struct {
	slot
	first, last int
	from, to    int   // in the arena
	over        *life // the slot written over it once nothing else needs it
}

func (l *life) overlaps(m *life) bool { return l.first <= m.last && m.first <= l.last }

// lives returns the slots of a program in the order in which they are first filled. If slots may share memory, a result
// that may be written over an input lives in the memory of that input if nothing else needs the input. Such a result is
// not listed: the input's over field points to it.
func lives(list []turn, share bool) (all []*life) {
	type pair struct {
		in, out *life
		turn    int
	}
	var pairs []pair
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
		if t.op.Out != nil { // on WebAssembly, Go 1.26 loses a nil key of a map with more than 896 entries, and crashes
			returned[t.op.Out] = true
		}
		if in := t.op.Inputs; t.op.Over && share && in[0].Out != nil {
			pairs = append(pairs, pair{of[slot{in[0].Out, again[in[0].Out]}], of[slot{t.op.Out, t.again}], i})
		}
	}
	for _, t := range list {
		if t.op.Output && t.op.Out != nil {
			of[slot{t.op.Out, false}].last = math.MaxInt
		}
	}
	over := map[*life]*life{} // the slot written over the key
	for _, p := range pairs {
		first := p.in
		for over[first] != nil {
			first = over[first]
		}
		if first.last == p.turn && !first.buffer.Optional() {
			p.in.over, over[p.out], first.last = p.out, p.in, p.out.last
		}
	}
	wanted := all[:0] // without optional results that no operation returns, such as the gradient of a frozen gain
	for _, l := range all {
		if over[l] == nil && (!l.buffer.Optional() || returned[l.buffer]) {
			wanted = append(wanted, l)
		}
	}
	return wanted
}
