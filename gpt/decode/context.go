package decode

import (
	"slices"

	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/nn"
	"github.com/pkg/errors"
)

// window holds the context, that is, the tokens from which the next ones are predicted, and the programs that append to
// it. Lists of tokens are ordered by position: first the tokens of all texts at one position, then at the next.
type window struct {
	batch, size int            // number of texts, of tokens that the context holds
	vocabulary  int            // V
	choices     int            // number of tokens that are drawn
	graph       *graph.Graph   // of the weights
	changes     uint64         // count of changes to the weights when the context was fed
	one         *Steps         // for one token, if all layers are cached
	some        []*Steps       // for more tokens, ascending
	newest      *graph.Program // that ran last
	fits        int            // number of tokens for which the memory suffices
	check       func(batch, tokens int) error
	caches      nn.Caches // of these programs
	rerun       *rerun    // for any other network
	tokens      []int
}

// Few is the number of tokens of a prompt that are fed at once while other texts are written. The weights are read once
// for all of them; with this number reading them no longer dominates the time.
const Few = 32

// MostAtOnce is the largest number of tokens of a text that a Session feeds at once. The memory of a run grows with its
// tokens, so it does not depend on the context.
const MostAtOnce = 1024

// runs holds the numbers of tokens that a window feeds at once, up to half a context. For the larger ones, packed
// weights are unpacked once for all tokens; the smallest leaves fewer to be fed one by one.
var runs = [...]int{8, Few, 128, MostAtOnce}

// FewTokens is the number of tokens of each text for which a Session may store keys and values from the beginning.
const FewTokens = 64

func newWindow(n Network, batch int) (w *window, err error) {
	w = &window{
		batch: batch, size: n.Context, vocabulary: n.Vocabulary, choices: n.Choices(),
		graph: n.Graph, caches: nn.Caches{},
		check: n.CheckMemory,
		fits:  FewTokens,
	}
	if w.one, err = n.Steps(batch, 1, 1, w.caches); err != nil {
		return nil, err
	}
	if w.one == nil {
		w.rerun, err = newRerun(n, batch)
		return w, err
	}
	for _, size := range runs {
		size = min(size, max(1, w.size/2))
		if len(w.some) > 0 && size == w.some[len(w.some)-1].N {
			break
		}
		s, err := n.Steps(batch, size, 1, w.caches)
		if err != nil {
			return nil, err
		}
		w.some = append(w.some, s)
	}
	if n.CheckSteps == nil {
		return w, nil
	}
	return w, n.CheckSteps()
}

// origin adds to an error of logits that are not finite which layer's result was the first.
func (w *window) origin(err error) error {
	program := w.newest
	if w.rerun != nil {
		program = w.rerun.program
	}
	if !errors.Is(err, graph.ErrNotFinite) || program == nil {
		return err
	}
	if first := program.NotFinite(); errors.Is(first, graph.ErrNotFinite) {
		return errors.WithMessagef(first, "%v; first", err)
	}
	return err
}

func (w *window) reset() { w.tokens = w.tokens[:0] }

// feed appends tokens of the vocabulary, and returns the logits of the next token with the present weights: a Trainer
// waits with its next update until they are computed. Only the last tokens that fit into the context count. If the
// weights have changed since the context was fed, its keys and values are out of date, and it is fed again.
func (w *window) feed(tokens []int) (logits graph.Tensor, err error) {
	full := w.size * w.batch
	if extra := len(tokens) - full; extra >= 0 {
		tokens = tokens[extra:]
		w.reset()
	}
	err = w.graph.Shared(func(r graph.Reading) (err error) {
		if w.rerun != nil {
			logits, err = w.feedAgain(r, tokens)
			return err
		}
		if changes := r.Changes(); changes != w.changes {
			old := slices.Clone(w.tokens)
			w.reset()
			if err := w.append(r, old); err != nil {
				w.tokens = append(w.tokens[:0], old...) // to be fed again by the next call
				return err
			}
			w.changes = changes
		}
		if err := w.append(r, tokens); err != nil {
			return err
		}
		logits = w.newest.Value()
		return nil
	})
	return logits, err
}

// hold returns an error if the memory does not suffice for n tokens of every text.
func (w *window) hold(n int) error {
	if n <= w.fits || w.check == nil {
		return nil
	}
	room := 1
	for room < n {
		room *= 2
	}
	room = min(room, w.size)
	if err := w.check(w.batch, room); err != nil {
		return err
	}
	w.fits = room
	return nil
}

// append feeds tokens through the programs, as many at a time as fit.
func (w *window) append(r graph.Reading, tokens []int) error {
	full := w.size * w.batch
	if err := w.hold(min(full, len(w.tokens)+len(tokens)) / w.batch); err != nil {
		return err
	}
	for len(tokens) > 0 {
		if len(w.tokens) == full {
			if err := w.shift(r); err != nil {
				return err
			}
		}
		s, program := w.one, w.one.Hidden
		if len(tokens) == w.batch {
			program = w.one.Logits
		}
		for _, more := range w.some {
			switch n := more.N * w.batch; {
			case len(w.tokens)+n > full:
			case len(tokens) > n:
				s, program = more, more.Hidden
			case len(tokens) == n && more.Logits != nil:
				s, program = more, more.Logits
			}
		}
		w.newest = program
		if err := w.run(r, s, program, tokens[:s.N*w.batch]); err != nil {
			return err
		}
		tokens = tokens[s.N*w.batch:]
	}
	return nil
}

// keepHalf returns the newer half of a full context.
func (w *window) keepHalf() []int { return w.tokens[(w.size+1)/2*w.batch:] }

// shift drops the older half of a full context and feeds the rest again.
func (w *window) shift(r graph.Reading) error {
	rest := w.keepHalf()
	w.reset()
	for len(rest) > 0 {
		s := w.one
		for _, more := range w.some {
			if more.N*w.batch <= len(rest) {
				s = more
			}
		}
		if err := w.run(r, s, s.Hidden, rest[:s.N*w.batch]); err != nil {
			return err
		}
		rest = rest[s.N*w.batch:]
	}
	return nil
}

// run feeds s.N tokens of every text.
func (w *window) run(r graph.Reading, s *Steps, p *graph.Program, tokens []int) error {
	first := len(w.tokens) / w.batch
	ids, positions := s.Tokens.Ints(), s.Positions.Ints() // one text after another
	for i, id := range tokens {
		t, b := i/w.batch, i%w.batch
		ids[b*s.N+t], positions[b*s.N+t] = id, first+t
	}
	s.At.Ints()[0] = first
	if err := r.Run(p); err != nil {
		return err
	}
	w.tokens = append(w.tokens, tokens...)
	return nil
}
