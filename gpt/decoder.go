package gpt

import (
	"context"
	"iter"

	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pkg/errors"
)

// Decoder lets a model write one token at a time. It has a graph of its own for one token, which shares the model's
// parameters and keeps the keys and values of the tokens before it, so the cost of a token does not grow with a forward
// pass over all of them. One graph serves every position.
//
// When the window of block_size tokens is full, the oldest half is dropped and the rest fed again: learned positions have
// moved, so what was kept is no longer valid (errata X9).
type Decoder struct {
	size, vocab     int
	token, pos, at  graph.Expr
	logits, prefill *graph.Program
	window          []int
}

// NewDecoder makes a decoder of m's parameters, as they are when it runs.
func NewDecoder(m *Model) (*Decoder, error) {
	g := m.Graph.Sibling()
	for {
		d, err := newDecoder(g, m.Config)
		if !errors.Is(err, graph.ErrCollision) {
			return d, errors.Wrap(err, "decoder")
		}
		g = g.Salted()
	}
}

func newDecoder(g *graph.Graph, c Config) (*Decoder, error) {
	g.SetTraining(false)
	s := g.Root()
	d := &Decoder{
		size:  c.BlockSize,
		vocab: c.VocabSize,
		token: s.Ints("token", 1, c.VocabSize, 0),
		pos:   s.Ints("position", 1, c.BlockSize, 0),
		at:    s.Ints("at", 1, c.BlockSize, 0),
	}
	hidden, logits := newStack(s, c, 1).step(d.token, d.pos, d.at)
	var err error
	if d.logits, err = graph.Compile(logits); err != nil {
		return nil, err
	}
	d.prefill, err = graph.Compile(hidden) // fills the caches, leaves out the head
	return d, err
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
	for i, id := range tokens {
		if len(d.window) == d.size {
			if err := d.slide(); err != nil {
				return graph.Tensor{}, err
			}
		}
		program := d.prefill
		if i == len(tokens)-1 {
			program = d.logits
		}
		if err := d.run(program, id); err != nil {
			return graph.Tensor{}, err
		}
	}
	return d.logits.Value(), nil
}

// slide drops the oldest half of the window.
func (d *Decoder) slide() error {
	rest := append([]int{}, d.window[(d.size+1)/2:]...)
	d.window = d.window[:0]
	for _, id := range rest {
		if err := d.run(d.prefill, id); err != nil {
			return err
		}
	}
	return nil
}

func (d *Decoder) run(p *graph.Program, id int) error {
	d.token.Ints()[0], d.pos.Ints()[0], d.at.Ints()[0] = id, len(d.window), len(d.window)
	if err := p.Run(); err != nil {
		return errors.Wrap(err, "decoder")
	}
	d.window = append(d.window, id)
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
