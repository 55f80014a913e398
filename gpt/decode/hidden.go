package decode

import (
	"context"
	"iter"
	"sync"

	"github.com/pedestrian-ml/pedestrian/gpt/search"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/nn"
	"github.com/pkg/errors"
)

// Reader computes the last hidden values of texts, from which a network predicts, without predicting anything. It reads
// one text at a time.
type Reader struct {
	net    Network
	caches nn.Caches
	steps  []*Steps // for pieces of a text, descending
	busy   sync.Mutex
}

// NewReader returns a Reader. It returns an error if a layer of the network has no Step, or if the memory limit is too
// low for a text of the network's context.
func NewReader(n Network) (*Reader, error) { return newReader(n, normed) }

// Scorer computes the logits of the token after each token of a text. It reads one text at a time.
type Scorer struct{ reader *Reader }

// NewScorer returns a Scorer. It returns the errors of NewReader.
func NewScorer(n Network) (*Scorer, error) {
	r, err := newReader(n, Layers.Predict)
	if err != nil {
		return nil, err
	}
	return &Scorer{r}, nil
}

// Logits yields the logits of the tokens that are drawn after each token of a text, in the order of the tokens. The
// next ones overwrite them. It yields an error if ctx ends, or if the weights change meanwhile.
func (s *Scorer) Logits(ctx context.Context, tokens []int) iter.Seq2[graph.Tensor, error] {
	return func(yield func(graph.Tensor, error) bool) {
		if s == nil || s.reader == nil {
			yield(graph.Tensor{}, errors.New("scorer: got nil, want one from NewScorer"))
			return
		}
		for z, err := range s.reader.Hidden(ctx, tokens) {
			if !yield(search.First(z, s.reader.net.Choices()), err) {
				return
			}
		}
	}
}

// newReader returns a Reader that yields what head makes of the last hidden values.
func newReader(n Network, head func(Layers, graph.Expr) graph.Expr) (*Reader, error) {
	if err := n.Check(1); err != nil {
		return nil, err
	}
	if n.CheckMemory != nil {
		if err := n.CheckMemory(1, n.Context); err != nil {
			return nil, errors.Wrap(err, "reader")
		}
	}
	r := &Reader{net: n, caches: nn.Caches{}}
	for _, size := range [...]int{Few, 8, 1} {
		if size > n.Context {
			continue
		}
		s, err := n.reads(size, r.caches, head)
		switch {
		case err != nil:
			return nil, errors.Wrap(err, "reader")
		case s == nil:
			return nil,
				errors.New("reader: a layer, or an edit of one, stores nothing of earlier tokens (it has no Step)")
		}
		r.steps = append(r.steps, s)
	}
	return r, nil
}

// normed returns the last hidden values after the last norm.
func normed(l Layers, hidden graph.Expr) graph.Expr {
	if l, ok := l.(interface{ Normed(graph.Expr) graph.Expr }); ok {
		return l.Normed(hidden)
	}
	return hidden
}

// reads compiles a step of n tokens of one text whose Hidden ends with head.
func (net Network) reads(n int, caches nn.Caches, head func(Layers, graph.Expr) graph.Expr) (s *Steps, err error) {
	return net.steps(1, n, 1, caches, head, func(s *Steps, _ bool, _, headed graph.Expr) (err error) {
		s.Hidden, err = graph.Compile(headed)
		return err
	})
}

// Hidden yields the last hidden value (d) of each token of a text after the last norm, in the order of the tokens. The
// next one overwrites it. It yields an error if ctx ends, or if the weights change meanwhile.
func (r *Reader) Hidden(ctx context.Context, tokens []int) iter.Seq2[graph.Tensor, error] {
	return func(yield func(graph.Tensor, error) bool) {
		if err := r.begin(ctx, tokens); err != nil {
			yield(graph.Tensor{}, err)
			return
		}
		defer r.busy.Unlock()
		var changes uint64
		for at := 0; at < len(tokens); {
			s := r.steps[0]
			for _, less := range r.steps {
				if s = less; s.N <= len(tokens)-at {
					break
				}
			}
			err := ctx.Err()
			if err == nil {
				err = r.read(s, tokens[at:at+s.N], at, &changes)
			}
			if err != nil {
				yield(graph.Tensor{}, errors.Wrap(err, "reader"))
				return
			}
			rows := s.Hidden.Value()
			for i := range s.N {
				if !yield(rows.Row(i), nil) {
					return
				}
			}
			at += s.N
		}
	}
}

// begin locks the reader for a text, or returns why it cannot be read. The caller must unlock busy.
func (r *Reader) begin(ctx context.Context, tokens []int) error {
	switch {
	case r == nil || len(r.steps) == 0:
		return errors.New("reader: got nil, want one from NewReader")
	case ctx == nil:
		return errors.New("reader: context: got nil, want one such as context.Background()")
	case len(tokens) == 0 || len(tokens) > r.net.Context:
		return errors.Errorf("reader: got %d tokens, want 1 to the context of %d", len(tokens), r.net.Context)
	}
	if err := r.net.CheckTokens(tokens); err != nil {
		return errors.Wrap(err, "reader")
	}
	if !r.busy.TryLock() {
		return errors.New("reader: in use by another goroutine, or by a Hidden that has not ended")
	}
	if err := r.caches.Keep(0, 0); err != nil {
		r.busy.Unlock()
		return errors.Wrap(err, "reader")
	}
	return nil
}

// read feeds the tokens of a step, the first of them at a position.
func (r *Reader) read(s *Steps, tokens []int, at int, changes *uint64) error {
	return r.net.Graph.Shared(func(g graph.Reading) error {
		if at > 0 && g.Changes() != *changes {
			return errors.New("the weights have changed since the text began")
		}
		*changes = g.Changes()
		copy(s.Tokens.Ints(), tokens)
		for i := range tokens {
			s.Positions.Ints()[i] = at + i
		}
		s.At.Ints()[0] = at
		return g.Run(s.Hidden)
	})
}
