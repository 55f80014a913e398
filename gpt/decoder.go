package gpt

import (
	"context"
	"iter"

	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/nn"
	"github.com/pkg/errors"
)

// Decoder lets a model write one token at a time. It has graphs of its own, which share the model's parameters and keep
// the keys and values of the tokens so far, so the cost of a token does not grow with a forward pass over all of them: one
// graph for a new token, at any position, and one for half a window of them at once.
//
// When the window of block_size tokens is full, the oldest half is dropped and the rest fed again: learned positions have
// moved, so what was kept is no longer valid (errata X9).
type Decoder struct {
	size, vocab int
	one, half   *feeder
	window      []int
}

// feeder is a graph for some new tokens at once.
type feeder struct {
	tokens, positions, at graph.Expr
	hidden                *graph.Program // fills the caches, leaves out the head
	logits                *graph.Program
}

// NewDecoder makes a decoder of m's parameters, as they are when it runs.
func NewDecoder(m *Model) (d *Decoder, err error) {
	d = &Decoder{size: m.Config.BlockSize, vocab: m.Config.VocabSize}
	caches := nn.Caches{}
	if d.one, err = newFeeder(m, 1, caches); err != nil {
		return nil, errors.Wrap(err, "decoder")
	}
	d.half, err = newFeeder(m, max(1, d.size/2), caches)
	return d, errors.Wrap(err, "decoder")
}

func newFeeder(m *Model, n int, caches nn.Caches) (*feeder, error) {
	g := m.Graph.Sibling()
	for {
		f, err := buildFeeder(g, m.Config, n, caches)
		if !errors.Is(err, graph.ErrCollision) {
			return f, err
		}
		g = g.Salted()
	}
}

func buildFeeder(g *graph.Graph, c Config, n int, caches nn.Caches) (*feeder, error) {
	g.SetTraining(false)
	s := g.Root()
	f := &feeder{
		tokens:    s.Ints("tokens", n, c.VocabSize, 0),
		positions: s.Ints("positions", n, c.BlockSize, 0),
		at:        s.Ints("at", 1, c.BlockSize, 0),
	}
	at := site(s, c, 1)
	at.Caches = caches
	hidden, logits := newStack(at, c).step(f.tokens, f.positions, f.at)
	var err error
	if f.logits, err = graph.Compile(logits); err != nil {
		return nil, err
	}
	f.hidden, err = graph.Compile(hidden)
	return f, err
}

// Reset forgets the tokens so far.
func (d *Decoder) Reset() { d.window = d.window[:0] }

// Window is the tokens that the next prediction looks at.
func (d *Decoder) Window() []int { return d.window }

// Feed appends tokens, at least one, and returns the logits (V) of what follows. The result is overwritten by the next
// call. Of more tokens than the window holds only the last block_size count. After an id outside the vocabulary, an error,
// the window is as it was.
func (d *Decoder) Feed(tokens ...int) (graph.Tensor, error) {
	if len(tokens) == 0 {
		return graph.Tensor{}, errors.New("decoder: no token to feed")
	}
	for i, id := range tokens {
		if id < 0 || id >= d.vocab {
			return graph.Tensor{}, errors.Errorf("decoder: token %d is %d, not in 0 … %d", i, id, d.vocab-1)
		}
	}
	if extra := len(tokens) - d.size; extra >= 0 {
		tokens, d.window = tokens[extra:], d.window[:0]
	}
	for len(tokens) > 0 {
		if len(d.window) == d.size {
			if err := d.slide(); err != nil {
				return graph.Tensor{}, err
			}
		}
		f, n := d.one, 1
		if half := len(d.half.tokens.Ints()); len(tokens) > half && len(d.window)+half <= d.size {
			f, n = d.half, half
		}
		program := f.hidden
		if n == len(tokens) {
			program = f.logits
		}
		if err := d.run(f, program, tokens[:n]); err != nil {
			return graph.Tensor{}, err
		}
		tokens = tokens[n:]
	}
	return d.one.logits.Value(), nil
}

// slide drops the oldest half of the window and feeds the rest again.
func (d *Decoder) slide() error {
	rest := append([]int{}, d.window[(d.size+1)/2:]...)
	if d.window = d.window[:0]; len(rest) == 0 {
		return nil
	}
	return d.run(d.half, d.half.hidden, rest)
}

func (d *Decoder) run(f *feeder, p *graph.Program, tokens []int) error {
	copy(f.tokens.Ints(), tokens)
	f.at.Ints()[0] = len(d.window)
	for i := range tokens {
		f.positions.Ints()[i] = len(d.window) + i
	}
	if err := p.Run(); err != nil {
		return errors.Wrap(err, "decoder")
	}
	d.window = append(d.window, tokens...)
	return nil
}

// Generate feeds the prompt, at least one token, and yields n tokens more as the sampler draws them. It stops early, with
// an error, when ctx ends.
func (d *Decoder) Generate(ctx context.Context, prompt []int, n int, s *Sampler) iter.Seq2[int, error] {
	return func(yield func(int, error) bool) {
		feed := prompt
		for range n {
			if err := ctx.Err(); err != nil {
				yield(0, errors.Wrap(err, "generate"))
				return
			}
			logits, err := d.Feed(feed...)
			if err != nil {
				yield(0, err)
				return
			}
			id, err := s.Draw(logits)
			if !yield(id, err) || err != nil {
				return
			}
			feed = []int{id}
		}
	}
}
