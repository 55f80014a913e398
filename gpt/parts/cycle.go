package parts

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/pedestrian-ml/pedestrian/gpt/internal/field"
	"github.com/pedestrian-ml/pedestrian/internal/spelling"
	"github.com/pedestrian-ml/pedestrian/nn"
)

// maxCycle is the largest number of blocks after which a list of attentions must repeat.
const maxCycle = 128

// turn is a number of consecutive blocks with the same attention, in a list of turns that repeats until the last block.
type turn struct {
	attention string
	blocks    int
}

// turns returns the turns of a list such as gated_deltanet*3,causal: names, each with an optional number of blocks. ok
// is false if the list is none, or if it repeats after more than maxCycle blocks.
func turns(list string) (cycle []turn, ok bool) {
	blocks := 0
	for item := range strings.SplitSeq(list, ",") {
		t, ok := turnOf(item)
		if !ok || t.blocks > maxCycle-blocks {
			return nil, false
		}
		cycle, blocks = append(cycle, t), blocks+t.blocks
	}
	return cycle, true
}

// turnOf returns the turn of an item of a list.
func turnOf(item string) (t turn, ok bool) {
	name, times, repeated := strings.Cut(item, "*")
	n := 1
	if repeated {
		var err error
		if n, err = strconv.Atoi(times); err != nil || strconv.Itoa(n) != times {
			return t, false
		}
	}
	return turn{name, n}, n >= 1 && n <= maxCycle && name != ""
}

// badTurn names the first item of a list that is no turn of a known attention, and the nearest known name. If every
// item is a turn, the list is too long, and badTurn returns "".
func badTurn(list string, known []string) string {
	items := strings.Split(list, ",")
	for i, item := range items {
		t, ok := turnOf(item)
		if slices.Contains(known, item) || ok && slices.Contains(known, t.attention) {
			continue
		}
		hint := spelling.Hint(t.attention, known)
		switch {
		case len(items) == 1 && ok:
			return hint
		case !ok:
			hint = "; want a name, or a name and a number such as gla*3"
		}
		return fmt.Sprintf("; element %d of the list is %s%s", i+1, field.Clip(item), hint)
	}
	return ""
}

// cycleOf returns the turns of an attention of the configuration, which is a name or a list.
func cycleOf(attention string) []turn {
	if cycle, ok := turns(attention); ok {
		return cycle
	}
	return []turn{{attention, 1}}
}

// Period returns the number of blocks after which the attentions of a Stack repeat, 1 if all blocks have the same.
func (s Stack) Period() (n int) {
	for _, t := range cycleOf(s.Attention) {
		n += t.blocks
	}
	return n
}

// AttentionOf returns the name of the attention of a block.
func (s Stack) AttentionOf(block int) string {
	cycle := cycleOf(s.Attention)
	block %= s.Period()
	for _, t := range cycle {
		if block < t.blocks {
			return t.attention
		}
		block -= t.blocks
	}
	return s.Attention
}

// Attentions returns the names of the attentions of a Stack, each once, in the order of the blocks.
func (s Stack) Attentions() (names []string) {
	for _, t := range cycleOf(s.Attention) {
		if !slices.Contains(names, t.attention) {
			names = append(names, t.attention)
		}
	}
	return names
}

// attention returns the attention of s: one of r, or a list of several, which builds each of them in its blocks. It is
// the zero Attention if r lacks one.
func (r Registry) attention(s Stack) Attention {
	names := s.Attentions()
	if len(names) == 1 {
		return Find(r.Attentions, names[0])
	}
	all := Attention{Name: Name(s.Attention)}
	for _, name := range names {
		a := Find(r.Attentions, name)
		if a.New == nil {
			return Attention{}
		}
		all.of, all.Options = append(all.of, a), append(all.Options, a.Options...)
	}
	all.New = func(root nn.Site, s Stack) nn.Attention {
		built := map[string]nn.Attention{}
		for _, a := range all.of {
			at := root.At(a.String()) // each may have a mask of its own
			built[a.String()] = a.Make(at, s)
		}
		return byBlock(func(block int) nn.Attention { return built[s.AttentionOf(block)] })
	}
	return all
}

// parts returns the attentions of a list, or a alone.
func (a Attention) parts() []Attention {
	if a.of == nil {
		return []Attention{a}
	}
	return a.of
}

// byBlock returns the attention that builds, in each block, the one that the function returns for it.
func byBlock(of func(block int) nn.Attention) nn.Attention {
	return func(at nn.Site) nn.Layer { return of(at.Block)(at) }
}

// everyNth returns an attention that is full in every n-th block and other in the rest; for 0 it is other in all.
func everyNth(n int, full, other nn.Attention) nn.Attention {
	return byBlock(func(block int) nn.Attention {
		if isNth(n, block) {
			return full
		}
		return other
	})
}

// isNth reports whether a block, counted from 0, is the n-th, 2n-th, … of the stack. It reports false if n is 0.
func isNth(n, block int) bool { return n > 0 && (block+1)%n == 0 }
