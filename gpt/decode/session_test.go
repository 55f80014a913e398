package decode

import (
	"errors"
	"iter"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/gpt/parts"
	"github.com/pedestrian-ml/pedestrian/gpt/search"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/nn"
)

// tiny is a network of one block with a linear head.
type tiny struct {
	*parts.Body
	head nn.Layer
}

func (tiny) Cached() bool                           { return true }
func (n tiny) Predict(hidden graph.Expr) graph.Expr { return n.head.Forward(n.Normed(hidden)) }

const vocabulary = 11

func build(context int) func(graph.Scope, int, graph.Expr, nn.Caches) Layers {
	return func(s graph.Scope, batch int, positions graph.Expr, caches nn.Caches) Layers {
		design := parts.Library().Design(parts.Stack{NLayer: 1, NHead: 2, NEmbd: 6})
		at := design.Site(batch, context)
		at.Scope, at.Positions, at.Caches = s, positions, caches
		body := design.Body(at, vocabulary, func(root nn.Site) (*nn.Mask, func(nn.Site) nn.Layer) {
			root.Mask = nn.NewBiasedMask(s, root.Dims, nn.Causal{}, root.Scores)
			attention := design.Attention.Make(root, design.Stack)
			return root.Mask, func(at nn.Site) nn.Layer { return design.Block.New(at, attention) }
		})
		return tiny{body, nn.NewLinear(s.Sub("head"), 6, []int{vocabulary}, true, graph.Normal(1))}
	}
}

// network returns a network with a context of the given size.
func network(t testing.TB, context int) Network {
	t.Helper()
	g := graph.New(graph.Float64, 1)
	n := Network{Graph: g, Context: context, Vocabulary: vocabulary, Build: build(context)}
	n.Build(g.Root(), 1, parts.Places(g.Root(), 1, context), nil)
	if err := g.Err(); err != nil {
		t.Fatal(err)
	}
	return n
}

func session(t testing.TB, n Network, batch int) *Session {
	t.Helper()
	s, err := New(n, batch)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func mustContain(t testing.TB, err error, word string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), word) {
		t.Errorf("got error %v, want %q in it", err, word)
	}
}

// TestSessionChecksMemory: a Session asks for room by powers of two, and only when it needs more than it has.
func TestSessionChecksMemory(t *testing.T) {
	n := network(t, 300)
	var asked []int
	n.CheckMemory = func(batch, tokens int) error {
		asked = append(asked, batch*1000+tokens)
		return nil
	}
	s := session(t, n, 2)
	for range 600 {
		if _, err := s.Feed([]int{1}, []int{2}); err != nil {
			t.Fatal(err)
		}
	}
	if want := []int{2128, 2256, 2300}; !slices.Equal(asked, want) {
		t.Errorf("asked for %v, want %v: a thousand for each text, and the tokens", asked, want)
	}
	n.CheckMemory = func(int, int) error { return errors.New("no room") }
	s = session(t, n, 1)
	if _, err := s.Feed(make([]int, FewTokens)); err != nil {
		t.Errorf("%d tokens: got error %v, want none", FewTokens, err)
	}
	_, err := s.Feed([]int{1})
	mustContain(t, err, "no room")
}

// A token outside the vocabulary is an error of a network that stores nothing.
func TestWrongTokens(t *testing.T) {
	n := network(t, 5)
	w := window{batch: 1, size: n.Context, vocabulary: vocabulary}
	var err error
	if w.rerun, err = newRerun(n, 1); err != nil {
		t.Fatal(err)
	}
	err = n.Graph.Shared(func(r graph.Reading) error {
		_, err := w.feedAgain(r, []int{vocabulary})
		return err
	})
	mustContain(t, err, "tokens[0] is 11")
}

// A vocabulary may have one token.
func TestNetworkCheck(t *testing.T) {
	n := network(t, 1)
	n.Vocabulary = 1
	if err := n.Check(1); err != nil {
		t.Errorf("a context and a vocabulary of one token: %v", err)
	}
	n.Vocabulary = 0
	mustContain(t, n.Check(1), "a vocabulary of 0")
}

// collect returns the texts that tokens belong to.
func collect(t testing.TB, batch int, tokens iter.Seq2[Token, error]) [][]int {
	t.Helper()
	texts := make([][]int, batch)
	for token, err := range tokens {
		if err != nil {
			t.Fatal(err)
		}
		texts[token.Row] = append(texts[token.Row], token.ID)
	}
	return texts
}

func samplers(n int) (list []*search.Sampler) {
	for i := range n {
		s := search.NewSampler(uint64(i + 1))
		s.RepetitionPenalty = 1.5
		list = append(list, s)
	}
	return list
}

// Every text of a batch is continued like a single one, also by tokens that differ in number and beyond the context.
func TestContinueBatch(t *testing.T) {
	n := network(t, 5)
	batch := session(t, n, 3)
	begun, more := [][]int{{1, 2}, {3, 4}, {5, 6}}, [][]int{{7}, {8, 9, 10}, nil}
	all := samplers(3)
	got := collect(t, 3, batch.Generate(t.Context(), begun, 4, all))
	then := collect(t, 3, batch.Continue(t.Context(), more, 6, all))
	for b, s := range samplers(3) {
		single, one := session(t, n, 1), []*search.Sampler{s}
		if want := collect(t, 1, single.Generate(t.Context(), begun[b:b+1], 4, one)); !slices.Equal(got[b], want[0]) {
			t.Errorf("text %d: got %v, alone %v", b, got[b], want[0])
		}
		if want := collect(t, 1, single.Continue(t.Context(), more[b:b+1], 6, one)); !slices.Equal(then[b], want[0]) {
			t.Errorf("text %d continued: got %v, alone %v", b, then[b], want[0])
		}
	}
}

// Texts that ended at different tokens cannot be continued, but a new text can begin. A single text always can be.
func TestUnevenTexts(t *testing.T) {
	n := network(t, 5)
	s := session(t, n, 2)
	collect(t, 2, s.Generate(t.Context(), [][]int{{1}, {2, 3, 4}}, 3, samplers(2)))
	for _, err := range s.Continue(t.Context(), [][]int{{1}, {1}}, 1, samplers(2)) {
		mustContain(t, err, "generate: the texts ended at different tokens")
	}
	_, err := s.Feed([]int{1}, []int{2})
	mustContain(t, err, "decoder: the texts ended at different tokens")
	if err := s.Reset(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Feed([]int{1}, []int{2}); err != nil {
		t.Error(err)
	}
	single := session(t, n, 1)
	first := collect(t, 1, single.Generate(t.Context(), [][]int{{1}}, 9, samplers(1)))[0]
	collect(t, 1, single.Generate(t.Context(), [][]int{{1}}, 9, samplers(1), first[2]))
	collect(t, 1, single.Continue(t.Context(), [][]int{nil}, 2, samplers(1))) // after the stop token
}

// Half a context is fed at once, even if it has only two tokens, and a part of it if it is long. Many tokens predict
// the next one, a few do not.
func TestHalfAContext(t *testing.T) {
	for context, want := range map[int]int{1: 1, 4: 2, 7: 3, 64: 32, 300: 128 + 22, 5000: MostAtOnce} {
		w := session(t, network(t, context), 1).context
		most := w.some[len(w.some)-1]
		predicts := most.Logits != nil
		if most.N != want || predicts != (want == 1 || want > Few) || w.one.Logits == nil {
			t.Errorf("a context of %d: %d tokens at once, want %d; their logits are computed: %t",
				context, most.N, want, predicts)
		}
	}
}

// The prediction after many tokens that are fed at once is the one after tokens that are fed one by one.
func TestNewestOfMany(t *testing.T) {
	n := network(t, 130)
	for _, count := range []int{64, 65, 66, 97, 129, 130} {
		many, single := session(t, n, 2), session(t, n, 2)
		var texts [2][]int
		for i := range count {
			texts[0], texts[1] = append(texts[0], i*i%vocabulary), append(texts[1], (3*i+1)%vocabulary)
		}
		got, err := many.Feed(texts[0], texts[1])
		if err != nil {
			t.Fatal(err)
		}
		for i := range count {
			want, err := single.Feed(texts[0][i:i+1], texts[1][i:i+1])
			if err != nil {
				t.Fatal(err)
			}
			if i+1 < count {
				continue
			}
			for j, want := range want.F64 {
				if got := got.F64[j]; !(math.Abs(got-want) <= 1e-12) {
					t.Errorf("%d tokens: logit %d: got %v, want %v", count, j, got, want)
				}
			}
		}
	}
}

// Copying a hypothesis to a row that does not exist is an error of the next step.
func TestForkOfNothing(t *testing.T) {
	h := hypotheses{window: session(t, network(t, 5), 2).context}
	h.Fork(0, 2)
	_, err := h.Step([]int{1, 2})
	mustContain(t, err, "fork: sequence 0 to 2")
}

// broken is a network that fails in one of its methods.
type broken struct {
	Layers
	step, cached bool
}

func (b broken) Cached() bool { return b.cached }

func (b broken) Step(tokens, at graph.Expr) graph.Expr {
	if b.step {
		panic("glass")
	}
	return b.Layers.Step(tokens, at)
}

func (b broken) Forward(graph.Expr) graph.Expr { panic("glass") }

// A network that cannot be built is an error, and so is a batch without texts.
func TestNewRefuses(t *testing.T) {
	for want, change := range map[string]func(*Network) int{
		"graph: got nil":         func(n *Network) int { n.Graph = nil; return 1 },
		"nothing builds":         func(n *Network) int { n.Build = nil; return 1 },
		"got a batch of 0":       func(*Network) int { return 0 },
		"a context of 0":         func(n *Network) int { n.Context = 0; return 1 },
		"a vocabulary of 0":      func(n *Network) int { n.Vocabulary = 0; return 1 },
		"want at most 268435456": func(*Network) int { return 1 << 40 },
		"returned no layers": func(n *Network) int {
			n.Build = func(graph.Scope, int, graph.Expr, nn.Caches) Layers { return nil }
			return 1
		},
		"panic: stone": func(n *Network) int {
			n.Build = func(graph.Scope, int, graph.Expr, nn.Caches) Layers { panic("stone") }
			return 1
		},
		"nothing to decode with": func(n *Network) int { // any error of CheckSteps
			n.CheckSteps = func() error { return errNone }
			return 1
		},
	} {
		n := network(t, 5)
		batch := change(&n)
		s, err := New(n, batch)
		if mustContain(t, err, want); s != nil {
			t.Errorf("%s: a session beside the error", want)
		}
	}
	for _, cached := range []bool{true, false} {
		n := network(t, 5)
		inner := n.Build
		n.Build = func(s graph.Scope, batch int, positions graph.Expr, caches nn.Caches) Layers {
			return broken{inner(s, batch, positions, caches), true, cached}
		}
		_, err := New(n, 1)
		mustContain(t, err, "panic: glass")
	}
	_, err := (*Session)(nil).Feed([]int{1})
	mustContain(t, err, "want a Session from NewDecoder")
}

// An error names the row of its tokens, if there are several.
func TestErrorsNameTheRow(t *testing.T) {
	n := network(t, 5)
	one, two := session(t, n, 1), session(t, n, 2)
	for _, c := range []struct {
		s    *Session
		rows [][]int
		want string
	}{
		{one, [][]int{{1, 11}}, "decoder: token 1 is 11, not in 0 … 10"},
		{two, [][]int{{1, 2}, {1, 11}}, "decoder: row 1: token 1 is 11, not in 0 … 10"},
		{two, [][]int{{-1}, {1}}, "decoder: row 0: token 0 is -1, not in 0 … 10"},
	} {
		if _, err := c.s.Feed(c.rows...); err == nil || err.Error() != c.want {
			t.Errorf("%v: got error %v, want %s", c.rows, err, c.want)
		}
	}
}

// Hypotheses of more tokens than the memory holds are refused, by the number of rows.
func TestHypothesesFitIntoMemory(t *testing.T) {
	most := int(graph.MachineMemory() / 8)
	for _, batch := range []int{1, 2} {
		s := session(t, network(t, 5), batch)
		if err := s.checkHypotheses(most / batch / 2); err != nil {
			t.Errorf("%d rows: half of the memory: got error %v", batch, err)
		}
		mustContain(t, s.checkHypotheses(most/batch*5/4), "hypotheses")
	}
}
