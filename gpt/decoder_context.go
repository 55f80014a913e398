package gpt

import (
	"slices"
	"sync"

	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/nn"
	"github.com/pkg/errors"
)

var (
	errNoDecoder = errors.New("decoder: nothing to decode with, want one from NewDecoder or NewBatchDecoder")
	errBusy      = errors.New("decoder: in use by another goroutine, or by a Generate that has not ended")
)

// decoding holds the context, that is, the tokens from which the next ones are predicted, and the programs that append
// to it. Lists of tokens are ordered by position: first those of all sequences at one position, then those at the next.
type decoding struct {
	batch, size, vocab int          // number of sequences, block_size, V
	graph              *graph.Graph // of the model
	changes            uint64       // count of changes to its weights when the context was fed
	one, some, half    *stepProgram // for one token, a few, and half a context, if all layers are cached
	caches             nn.Caches    // of these programs
	rerun              *rerun       // for any other model
	context            []int
	busy               sync.Mutex // held during a call
}

// few is the number of tokens of a prompt that are fed at once if it is shorter than half a context. The weights are
// read once for all of them; with this number reading them no longer dominates the time.
const few = 32

func newDecoding(m *Model, batch int) (d *decoding, err error) {
	if err := m.checkDecoding(batch); err != nil {
		return nil, err
	}
	if err := m.checkCausal(false); err != nil {
		return nil, err
	}
	d = &decoding{batch: batch, size: m.Config.BlockSize, vocab: m.Config.VocabSize, graph: m.Graph}
	d.context = make([]int, 0, d.size*batch)
	d.caches = nn.Caches{}
	if d.one, err = newStepProgram(m, batch, 1, d.caches); err != nil {
		return nil, err
	}
	if d.one == nil {
		d.rerun, err = newRerun(m, batch)
		return d, err
	}
	if d.half, err = newStepProgram(m, batch, max(1, d.size/2), d.caches); err != nil {
		return nil, err
	}
	if d.some = d.half; d.half.n > few {
		if d.some, err = newStepProgram(m, batch, few, d.caches); err != nil {
			return nil, err
		}
	}
	return d, m.checkSteps()
}

// begin locks d for one caller, who must unlock busy.
func (d *decoding) begin() error {
	switch {
	case d == nil:
		return errNoDecoder
	case !d.busy.TryLock():
		return errBusy
	}
	return nil
}

func (d *decoding) reset() { d.context = d.context[:0] }

// check returns an error if a token is outside the vocabulary.
func (d *decoding) check(tokens []int) error {
	for i, id := range tokens {
		if id < 0 || id >= d.vocab {
			return errors.Errorf("token %d is %d, not in 0 … %d", i, id, d.vocab-1)
		}
	}
	return nil
}

// feed appends tokens of the vocabulary, and returns the logits of the next token with the present weights: a Trainer
// waits with its next update until they are computed. Only the last tokens that fit into the context count. If the
// weights have changed since the context was fed, its keys and values are out of date, and it is fed again.
func (d *decoding) feed(tokens []int) (logits graph.Tensor, err error) {
	full := d.size * d.batch
	if extra := len(tokens) - full; extra >= 0 {
		tokens = tokens[extra:]
		d.reset()
	}
	err = d.graph.Shared(func(r graph.Reading) (err error) {
		if d.rerun != nil {
			logits, err = d.feedAgain(r, tokens)
			return err
		}
		if changes := r.Changes(); changes != d.changes {
			old := slices.Clone(d.context)
			d.reset()
			if err := d.append(r, old); err != nil {
				d.context = append(d.context[:0], old...) // to be fed again by the next call
				return err
			}
			d.changes = changes
		}
		if err := d.append(r, tokens); err != nil {
			return err
		}
		logits = d.one.logits.Value()
		return nil
	})
	return logits, err
}

// append feeds tokens through the programs, as many at a time as fit.
func (d *decoding) append(r graph.Reading, tokens []int) error {
	full := d.size * d.batch
	for len(tokens) > 0 {
		if len(d.context) == full {
			if err := d.shift(r); err != nil {
				return err
			}
		}
		s, program := d.one, d.one.hidden
		if len(tokens) == d.batch {
			program = d.one.logits
		}
		for _, more := range []*stepProgram{d.some, d.half} {
			if n := more.n * d.batch; len(tokens) > n && len(d.context)+n <= full {
				s, program = more, more.hidden
			}
		}
		if err := d.run(r, s, program, tokens[:s.n*d.batch]); err != nil {
			return err
		}
		tokens = tokens[s.n*d.batch:]
	}
	return nil
}

// keepHalf returns the newer half of a full context.
func (d *decoding) keepHalf() []int { return d.context[(d.size+1)/2*d.batch:] }

// shift drops the older half of a full context and feeds the rest again.
func (d *decoding) shift(r graph.Reading) error {
	rest := d.keepHalf()
	if d.reset(); len(rest) == 0 {
		return nil
	}
	return d.run(r, d.half, d.half.hidden, rest)
}

// run feeds s.n tokens of every sequence.
func (d *decoding) run(r graph.Reading, s *stepProgram, p *graph.Program, tokens []int) error {
	first := len(d.context) / d.batch
	ids, positions := s.tokens.Ints(), s.positions.Ints() // one sequence after another
	for i, id := range tokens {
		t, b := i/d.batch, i%d.batch
		ids[b*s.n+t], positions[b*s.n+t] = id, first+t
	}
	s.at.Ints()[0] = first
	if err := r.Run(p); err != nil {
		return err
	}
	d.context = append(d.context, tokens...)
	return nil
}
