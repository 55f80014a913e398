package grammar

import (
	"regexp/syntax"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/pkg/errors"
)

// The bounds of a pattern.
const (
	mostPattern = 1 << 10 // bytes
	mostProgram = 1 << 12 // instructions
)

// work counts what the machines of a schema take.
type work struct {
	states   int
	sets     int // instructions of all states
	branches int // ranges of characters of all states
	checks   int // of ranges with instructions
}

// enough returns an error if the work is beyond its bounds.
func (w *work) enough() error {
	for _, c := range []struct {
		got, most int
		what      string
	}{
		{w.states, 1 << 12, "states"}, {w.sets, 1 << 17, "instructions of states"},
		{w.branches, 1 << 16, "ranges of characters"}, {w.checks, 1 << 24, "comparisons of characters"},
	} {
		if c.got > c.most {
			return errors.Errorf("more than %d %s in this schema, want simpler patterns, or less of minLength and "+
				"maxLength", c.most, c.what)
		}
	}
	return nil
}

// machine is a deterministic automaton over characters.
type machine struct {
	states []point
	id     int // of the machine in its grammar
}

// point is a state of a machine.
type point struct {
	branches []span // in the order of their characters
	accepts  bool
	least    int // bytes of the shortest rest of a text in quotes, with the last quote
}

// span is a range of characters that lead to a state.
type span struct {
	from, to rune
	next     int
}

// writable returns the ranges of characters that texts of a pattern are made of: all but those that could only be
// written as four hexadecimal digits, and the white space beyond ASCII, which is \s in JavaScript and \S in Go.
func writable() []span {
	return []span{
		{from: '\b', to: '\n'}, {from: '\f', to: '\r'}, {from: ' ', to: 0x7f}, {from: 0xa1, to: 0x167f},
		{from: 0x1681, to: 0x1fff}, {from: 0x200b, to: 0x2027}, {from: 0x202a, to: 0x202e}, {from: 0x2030, to: 0x205e},
		{from: 0x2060, to: 0x2fff}, {from: 0x3001, to: 0xd7ff}, {from: 0xe000, to: 0xfefe},
		{from: 0xff00, to: utf8.MaxRune},
	}
}

// checkPattern returns an error if Go reads a pattern differently from JavaScript, whose patterns JSON Schema uses.
func checkPattern(pattern string) error {
	for i := 0; i < len(pattern); i++ {
		rest := pattern[i:]
		switch {
		case rest[0] == '\\' && len(rest) > 1:
			letter := rest[1] >= 'a' && rest[1] <= 'z' || rest[1] >= 'A' && rest[1] <= 'Z' || rest[1] == '0'
			if letter && !strings.ContainsRune("dDwWsSbBnrtfvxpP", rune(rest[1])) || strings.HasPrefix(rest, `\x{`) {
				return errors.Errorf("got %.64q, want no \\%c", pattern, rest[1])
			}
			i++
		case strings.HasPrefix(rest, "(?") && !strings.HasPrefix(rest, "(?:"):
			return errors.Errorf("got %.64q, want no group of the kind %.4s", pattern, rest)
		case strings.HasPrefix(rest, "[[") || strings.HasPrefix(rest, "[:") || strings.HasPrefix(rest, "[]"):
			return errors.Errorf("got %.64q, want no %.2s", pattern, rest)
		}
	}
	return nil
}

// patterned returns the machine of the texts in which a regular expression matches, of fewest to largest characters;
// largest is −1 without a limit.
func patterned(pattern string, fewest, largest int, w *work) (*machine, error) {
	if len(pattern) > mostPattern {
		return nil, errors.Errorf("got %d bytes, want at most %d", len(pattern), mostPattern)
	}
	if err := checkPattern(pattern); err != nil {
		return nil, err
	}
	if _, err := syntax.Parse(pattern, syntax.Perl); err != nil {
		return nil, errors.Errorf("got %.64q: %v", pattern, err)
	}
	re, err := syntax.Parse(`(?s:.*)(?:`+pattern+`)(?s:.*)`, syntax.Perl)
	if err != nil {
		return nil, errors.Errorf("got %.64q: %v", pattern, err)
	}
	prog, err := syntax.Compile(re.Simplify())
	if err != nil {
		return nil, errors.Errorf("got %.64q: %v", pattern, err)
	}
	if len(prog.Inst) > mostProgram {
		return nil, errors.Errorf("got %d instructions, want at most %d", len(prog.Inst), mostProgram)
	}
	for _, i := range prog.Inst {
		if i.Op == syntax.InstEmptyWidth && syntax.EmptyOp(i.Arg)&^(syntax.EmptyBeginText|syntax.EmptyEndText) != 0 {
			return nil, errors.Errorf("got %.64q, want no borders of words or lines", pattern)
		}
	}
	b := &subsets{
		work: w, prog: prog, fewest: fewest, most: largest, known: map[string]int{}, seen: make([]int, len(prog.Inst)),
	}
	return b.machine()
}

// subsets builds a machine of the sets of instructions that a text may have reached, and of its characters so far.
type subsets struct {
	*work
	prog         *syntax.Prog
	fewest, most int
	known        map[string]int
	list         []subset
	seen         []int // by instruction, the last turn of closure in which it was reached
	turn         int
	borders      []rune
}

type subset struct {
	insts []int // that read a character, match, or wait for the end
	n     int   // characters, as far as they matter
}

func (b *subsets) machine() (*machine, error) {
	b.state(subset{b.closure([]int{b.prog.Start}, syntax.EmptyBeginText), 0})
	m := &machine{}
	for at := 0; at < len(b.list); at++ {
		if err := b.enough(); err != nil {
			return nil, err
		}
		s := b.list[at]
		p := point{accepts: b.accepts(s), least: infinite}
		if b.most < 0 || s.n < b.most {
			p.branches = b.follow(s)
		}
		b.branches += len(p.branches)
		m.states = append(m.states, p)
	}
	m.measure()
	if m.states[0].least >= infinite {
		return nil, errors.New("no text that can be written matches")
	}
	return m, nil
}

// state returns the number of a set.
func (b *subsets) state(s subset) int {
	key := string(keyed(nil, 0, append(slices.Clone(s.insts), s.n)...))
	id, ok := b.known[key]
	if !ok {
		id = len(b.list)
		b.known[key], b.list = id, append(b.list, s)
		b.states++
		b.sets += len(s.insts) + 1
	}
	return id
}

// closure returns the instructions that are reached without a character, sorted.
func (b *subsets) closure(from []int, at syntax.EmptyOp) (list []int) {
	b.turn++
	var visit func(i int)
	visit = func(i int) {
		if b.seen[i] == b.turn {
			return
		}
		b.seen[i] = b.turn
		switch inst := b.prog.Inst[i]; inst.Op {
		case syntax.InstAlt, syntax.InstAltMatch:
			visit(int(inst.Out))
			visit(int(inst.Arg))
		case syntax.InstCapture, syntax.InstNop:
			visit(int(inst.Out))
		case syntax.InstEmptyWidth:
			if syntax.EmptyOp(inst.Arg)&^at == 0 {
				visit(int(inst.Out))
			} else {
				list = append(list, i)
			}
		case syntax.InstFail:
		default:
			list = append(list, i)
		}
	}
	for _, i := range from {
		visit(i)
	}
	slices.Sort(list)
	return list
}

// accepts reports whether a text may end.
func (b *subsets) accepts(s subset) bool {
	return s.n >= b.fewest && slices.ContainsFunc(b.closure(s.insts, syntax.EmptyEndText), func(i int) bool {
		return b.prog.Inst[i].Op == syntax.InstMatch
	})
}

// follow returns where the characters lead from a set.
func (b *subsets) follow(s subset) (list []span) {
	borders := b.borders[:0]
	writable := writable()
	var readers []*syntax.Inst
	for _, i := range s.insts {
		inst := &b.prog.Inst[i]
		ranges := b.ranges(inst)
		if len(ranges) > 0 {
			readers = append(readers, inst)
		}
		for i := 0; i < len(ranges); i += 2 {
			borders = append(borders, ranges[i], ranges[i+1]+1)
		}
	}
	for _, w := range writable {
		borders = append(borders, w.from, w.to+1)
	}
	slices.Sort(borders)
	borders = slices.Compact(borders)
	b.borders = borders
	var out []int
	b.checks += len(borders) * len(readers)
	n := s.n + 1
	if b.most < 0 {
		n = min(n, b.fewest)
	}
	for i, from := range borders[:len(borders)-1] {
		to := borders[i+1] - 1
		if !slices.ContainsFunc(writable, func(w span) bool { return w.from <= from && to <= w.to }) {
			continue
		}
		out = out[:0]
		for _, inst := range readers {
			if inst.MatchRune(from) && !(inst.Op == syntax.InstRuneAnyNotNL && from == '\r') {
				out = append(out, int(inst.Out))
			}
		}
		if len(out) == 0 {
			continue
		}
		next := b.state(subset{b.closure(out, 0), n})
		if last := len(list) - 1; last >= 0 && list[last].next == next && list[last].to+1 == from {
			list[last].to = to
			continue
		}
		list = append(list, span{from, to, next})
	}
	return list
}

// ranges returns pairs of the first and last characters that an instruction reads, with those in the other case.
func (b *subsets) ranges(inst *syntax.Inst) []rune {
	switch inst.Op {
	case syntax.InstRuneAny:
		return []rune{0, utf8.MaxRune}
	case syntax.InstRuneAnyNotNL:
		return []rune{0, '\n' - 1, '\n' + 1, '\r' - 1, '\r' + 1, utf8.MaxRune}
	case syntax.InstRune, syntax.InstRune1:
		if len(inst.Rune) == 1 {
			return folded(inst.Rune[0], syntax.Flags(inst.Arg)&syntax.FoldCase != 0)
		}
		return inst.Rune
	}
	return nil
}
