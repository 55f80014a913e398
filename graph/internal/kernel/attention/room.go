package attention

// Room describes the keys of a sequence that a cache keeps: keys at the beginning, and a window up to the
// newest token. The zero Room keeps all keys.
type Room struct {
	Window int // number of keys up to the newest one that a query attends to; 0: all
	First  int // number of keys at the beginning that it attends to as well
}

const (
	grain = 16 // the kernels add up a row in 16 parts, j ≡ 0 … 15 mod 16
	slack = 64 // number of tokens, at least, after which keys are moved again
)

func roundUp(n int) int { return (n + grain - 1) &^ (grain - 1) }

// Keys returns the number of keys that are kept of each sequence of a context: fewer than Window + First + 110.
func (r Room) Keys(context int) int {
	if r.Window == 0 || r.Window >= context || r.First >= context {
		return context
	}
	return min(context, roundUp(r.First)+roundUp(r.Window+grain-1+slack))
}

// held describes the keys of a sequence that lie in a cache: positions 0 … first−1, and those from base on. They lie in
// the order of the positions, and all of base, first and the place of a key differ from its position by a multiple of
// grain. Sums over the keys thus have the same bits as sums over all keys, in which the hidden ones add zeros.
type held struct{ first, base int }

// place returns the place of the key at a position, or of the next key that is there.
func (h held) place(position int) int {
	switch {
	case position <= h.first:
		return position
	case position <= h.base:
		return h.first
	}
	return h.first + position - h.base
}

// begin returns what is held of a sequence without tokens.
func (r Room) begin() held { return held{roundUp(r.First), roundUp(r.First)} }

// add returns what is held once the key at a position is added, in a cache of the given number of keys.
func (r Room) add(h held, position, keys int) held {
	if h.place(position) >= keys {
		h.base = (position - r.Window + 1) &^ (grain - 1)
	}
	return h
}

// holds reports whether all keys are there to which the query of a position attends, besides its own.
func (r Room) holds(h held, position int) bool {
	return position == 0 || h.base == h.first || position-r.Window+1 >= h.base
}
