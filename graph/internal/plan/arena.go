package plan

import (
	"cmp"
	"slices"

	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
)

// Arena is memory shared by programs that do not run at the same time. It grows to the size that the largest of them
// needs.
type Arena struct {
	Double  bool                      // the numbers are float64
	NoAlias bool                      // no two slots share memory; for tests
	Allows  func(bytes float64) error // called before the arena grows to this size; optional
	Stopped func() error              // called for each slot during placement, which an error ends; optional

	numbers Numbers
}

// Bytes returns the size of the arena.
func (a *Arena) Bytes() int { return 4*len(a.numbers.F32) + 8*len(a.numbers.F64) }

// Need returns the size in bytes of an arena for ops, which need not be runnable.
func (a *Arena) Need(ops []*Op) int {
	_, total, _ := a.place(lives(turns(ops), !a.NoAlias))
	return a.size() * total
}

// size returns the size of a number in bytes.
func (a *Arena) size() int {
	if a.Double {
		return 8
	}
	return 4
}

// place assigns every slot its place: the largest first, each at the lowest address that no slot needed at the same
// time occupies. The result is ordered by address.
func (a *Arena) place(all []*life) (laid []*life, total int, err error) {
	all = slices.Clone(all)
	slices.SortStableFunc(all, func(l, m *life) int { return cmp.Compare(m.buffer.Len(), l.buffer.Len()) })
	for _, l := range all {
		if a.Stopped != nil {
			if err := a.Stopped(); err != nil {
				return nil, 0, err
			}
		}
		size := l.buffer.Len()
		for _, other := range laid {
			if !a.NoAlias && !l.overlaps(other) {
				continue
			}
			if l.from+size <= other.from {
				break
			}
			l.from = max(l.from, other.to)
		}
		const line = 16 // numbers; every slot begins a cache line
		l.to = (l.from + size + line - 1) / line * line
		i, _ := slices.BinarySearchFunc(laid, l.from, func(o *life, from int) int { return cmp.Compare(o.from, from) })
		laid = slices.Insert(laid, i, l)
		total = max(total, l.to)
	}
	return laid, total, nil
}

// layout allocates the arena and returns the memory of every slot.
func (a *Arena) layout(all []*life) (map[slot]Numbers, error) {
	laid, total, err := a.place(all)
	if err != nil {
		return nil, err
	}
	if total > a.numbers.Len() && a.Allows != nil {
		if err := a.Allows(float64(total) * float64(a.size())); err != nil {
			return nil, err
		}
	}
	switch {
	case total <= a.numbers.Len():
	case a.Double:
		a.numbers = Numbers{F64: kernel.Make[float64](total)}
	default:
		a.numbers = Numbers{F32: kernel.Make[float32](total)}
	}
	out := map[slot]Numbers{}
	for _, l := range laid {
		for m := l; m != nil; m = m.over {
			out[m.slot] = a.numbers.part(l.from, l.from+l.buffer.Len())
		}
	}
	return out, nil
}
