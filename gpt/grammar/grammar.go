// Package grammar restricts the text that a model writes, to any object of JSON or to the values of a schema. Start
// with JSON or Schema; the Matcher of a Grammar is a rule of a search.Sampler.
//
// A grammar is an automaton over bytes with a stack. Before each token it follows every text of the vocabulary, which
// is sorted so that common beginnings are followed once, and forbids the texts that leave the grammar.
package grammar

import (
	"slices"

	"github.com/pkg/errors"
)

// Grammar describes texts. It is immutable.
type Grammar struct {
	list  []alternative
	needs [256]bool // bytes that the shortest texts need as tokens
}

// alternative is a value between two texts.
type alternative struct {
	before string
	root   *node
	after  string
}

// mostDepth is the largest number of objects and lists inside each other.
const mostDepth = 32

// infinite is the length of a text that does not exist. Sums of two do not overflow an int of 32 bits.
const infinite = 1 << 29

func sum(a, b int) int { return min(infinite, a+b) }

// JSON returns the grammar of all objects of JSON whose numbers have at most 15 digits before the point and after it,
// and two of an exponent.
func JSON() *Grammar {
	b := builder{}
	return b.grammar(b.object(nil, b.universe()))
}

// Between returns the grammar of the texts of g between two other texts.
func (g *Grammar) Between(before, after string) (*Grammar, error) {
	if err := g.check(); err != nil {
		return nil, err
	}
	between := &Grammar{needs: g.needs}
	for _, a := range g.list {
		between.list = append(between.list, alternative{before + a.before, a.root, a.after + after})
	}
	for _, c := range []byte(before + after) {
		between.needs[c] = true
	}
	return between, nil
}

// Either returns the grammar of the texts of any of the given ones.
func Either(list ...*Grammar) (*Grammar, error) {
	either := &Grammar{}
	for _, g := range list {
		if err := g.check(); err != nil {
			return nil, err
		}
		either.list = append(either.list, g.list...)
		for c, needed := range g.needs {
			either.needs[c] = either.needs[c] || needed
		}
	}
	if n := len(either.list); n == 0 || n > mostAlternatives {
		return nil, errors.Errorf("grammar: got %d alternatives, want 1 to %d", n, mostAlternatives)
	}
	return either, nil
}

func (g *Grammar) check() error {
	if g == nil || len(g.list) == 0 {
		return errors.New("grammar: got nil, want one such as JSON()")
	}
	return nil
}

// start returns the states before a text, the state of the shortest first.
func (g *Grammar) start() (list []*state) {
	for _, a := range g.list {
		var s *state
		if a.after != "" {
			s = push(literal(a.after), s)
		}
		s = push(value{a.root, mostDepth}, s)
		if a.before != "" {
			s = push(literal(a.before), s)
		}
		list = append(list, s)
	}
	slices.SortStableFunc(list, func(a, b *state) int { return a.length() - b.length() })
	return list
}

// node is a set of values of JSON.
type node struct {
	set
	id      int
	lengths [mostDepth + 1]int // bytes, by depth, plus 1; 0 if it is not known
}

// set is the interface of the variants of a node.
type set interface {
	// shortest returns the number of bytes of the shortest value with at most depth objects and lists inside each
	// other.
	shortest(depth int) int
	// begin appends the states after the first byte of a value, before the states of next.
	begin(b byte, depth int, next *state, out []*state) []*state
}

// shortest is the result of the set's, computed once.
func (n *node) shortest(depth int) int { return n.lengths[depth] - 1 }

// builder makes nodes.
type builder struct {
	nodes []*node
	needs [256]bool
}

// node returns a new node of a set, which may be filled later.
func (b *builder) node(s set) *node {
	n := &node{set: s, id: len(b.nodes)}
	b.nodes = append(b.nodes, n)
	return n
}

// need notes bytes that must be tokens.
func (b *builder) need(bytes string) {
	for _, c := range []byte(bytes) {
		b.needs[c] = true
	}
}

// grammar returns the grammar of a root, after all nodes have been filled.
func (b *builder) grammar(root *node) *Grammar {
	for depth := range mostDepth + 1 {
		for _, n := range b.nodes {
			n.measure(depth)
		}
	}
	return &Grammar{[]alternative{{root: root}}, b.needs}
}

// measure computes the shortest value at a depth, after all smaller depths. Alternatives of one depth are measured
// first; Schema refuses those that contain themselves.
func (n *node) measure(depth int) int {
	if n.lengths[depth] == 0 {
		switch s := n.set.(type) {
		case union:
			length := infinite
			for _, m := range s {
				length = min(length, m.measure(depth))
			}
			n.lengths[depth] = length + 1
		default:
			n.lengths[depth] = n.set.shortest(depth) + 1
		}
	}
	return n.lengths[depth] - 1
}

// literals are values that are given as texts of JSON.
type literals []string

func (l literals) shortest(int) int {
	length := infinite
	for _, s := range l {
		length = min(length, len(s))
	}
	return length
}

func (l literals) begin(b byte, _ int, next *state, out []*state) []*state {
	for _, s := range l {
		out = literal(s).step(b, &state{next: next}, out)
	}
	return out
}

// union has the values of several nodes.
type union []*node

func (u union) shortest(depth int) int {
	length := infinite
	for _, n := range u {
		length = min(length, n.shortest(depth))
	}
	return length
}

func (u union) begin(b byte, depth int, next *state, out []*state) []*state {
	for _, n := range u {
		out = n.begin(b, depth, next, out)
	}
	return out
}

// universe returns the node of all values.
func (b *builder) universe() *node {
	n := b.node(nil)
	b.need("truefalsn")
	n.set = union{
		b.text(0, -1), b.number(free{}), b.node(literals{"true", "false", "null"}), b.object(nil, n), b.list(n,
			0, -1),
	}
	return n
}

// missing returns the first byte that is needed and not a token.
func (g *Grammar) missing(v *Vocabulary) (c byte, missing bool) {
	for c, needed := range g.needs {
		if needed && !v.single[c] {
			return byte(c), true
		}
	}
	return 0, false
}
