package gpt

import (
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/nn"
	"github.com/pkg/errors"
)

// window is the tokens that predictions look at, and the graphs that append to it. Its lists of tokens go position by
// position: first those of all sequences at one, then at the next.
type window struct {
	batch, size, vocab int
	one, half          *feeder // of a model whose layers are all cached
	whole              *rerun  // of any other
	tokens             []int
}

// feeder is a graph for n new tokens of every sequence.
type feeder struct {
	n                     int
	tokens, positions, at graph.Expr
	hidden                *graph.Program // fills the caches, leaves out the head
	logits                *graph.Program // nil where nobody asks
}

func newWindow(m *Model, batch int) (w window, err error) {
	w = window{batch: batch, size: m.Config.BlockSize, vocab: m.Config.VocabSize}
	w.tokens = make([]int, 0, w.size*batch)
	caches := nn.Caches{}
	if w.one, err = newFeeder(m, batch, 1, caches); err != nil {
		return w, err
	}
	if w.one == nil {
		w.whole, err = newRerun(m, batch)
		return w, err
	}
	w.half, err = newFeeder(m, batch, max(1, w.size/2), caches)
	return w, err
}

// newFeeder is nil for a model with a layer that cannot take the newest tokens alone.
func newFeeder(m *Model, batch, n int, caches nn.Caches) (*feeder, error) {
	g := m.Graph.Sibling()
	for {
		f, err := buildFeeder(g, m.Config, batch, n, caches)
		if !errors.Is(err, graph.ErrCollision) {
			return f, err
		}
		g = g.Salted()
	}
}

func buildFeeder(g *graph.Graph, c Config, batch, n int, caches nn.Caches) (*feeder, error) {
	g.SetTraining(false)
	s := g.Root()
	f := &feeder{
		n:         n,
		tokens:    s.Ints("tokens", batch*n, c.VocabSize, 0),
		positions: s.Ints("positions", batch*n, c.BlockSize, 0),
		at:        s.Ints("at", 1, c.BlockSize, 0),
	}
	at := site(s, c, batch, f.positions)
	at.Caches = caches
	net := newStack(at, c)
	if err := g.Err(); err != nil || !net.cached() {
		return nil, err
	}
	hidden, logits := net.step(f.tokens, f.at)
	var err error
	if f.hidden, err = graph.Compile(hidden); err != nil || n > 1 {
		return f, err
	}
	f.logits, err = graph.Compile(logits)
	return f, err
}

func (w *window) reset() { w.tokens = w.tokens[:0] }

// known finds a token outside the vocabulary.
func (w *window) known(tokens []int) (i int, ok bool) {
	for i, id := range tokens {
		if id < 0 || id >= w.vocab {
			return i, false
		}
	}
	return 0, true
}

// feed appends tokens of the vocabulary.
func (w *window) feed(tokens []int) (graph.Tensor, error) {
	full := w.size * w.batch
	if extra := len(tokens) - full; extra >= 0 {
		tokens, w.tokens = tokens[extra:], w.tokens[:0]
	}
	if w.whole != nil {
		return w.feedWhole(tokens)
	}
	half := w.half.n * w.batch
	for len(tokens) > 0 {
		if len(w.tokens) == full {
			if err := w.slide(); err != nil {
				return graph.Tensor{}, err
			}
		}
		f, program := w.one, w.one.hidden
		switch {
		case len(tokens) == w.batch:
			program = w.one.logits
		case len(tokens) > half && len(w.tokens)+half <= full:
			f, program = w.half, w.half.hidden
		}
		if err := w.run(f, program, tokens[:f.n*w.batch]); err != nil {
			return graph.Tensor{}, err
		}
		tokens = tokens[f.n*w.batch:]
	}
	return w.one.logits.Value(), nil
}

// newer is the newer half of a full window.
func (w *window) newer() []int { return w.tokens[(w.size+1)/2*w.batch:] }

// slide drops the oldest half of the window and feeds the rest again.
func (w *window) slide() error {
	rest := w.newer()
	if w.reset(); len(rest) == 0 {
		return nil
	}
	return w.run(w.half, w.half.hidden, rest)
}

// run feeds f.n tokens of every sequence.
func (w *window) run(f *feeder, p *graph.Program, tokens []int) error {
	first := len(w.tokens) / w.batch
	ids, positions := f.tokens.Ints(), f.positions.Ints() // of one sequence after another
	for i, id := range tokens {
		t, b := i/w.batch, i%w.batch
		ids[b*f.n+t], positions[b*f.n+t] = id, first+t
	}
	f.at.Ints()[0] = first
	if err := p.Run(); err != nil {
		return err
	}
	w.tokens = append(w.tokens, tokens...)
	return nil
}
