package gpt

import (
	"slices"

	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/nn"
)

// decoding is the tokens that predictions look at, the context, and the programs that append to it. Lists of tokens go
// position by position: first those of all sequences at one, then at the next.
type decoding struct {
	batch, size, vocab int          // sequences, block_size, V
	one, half          *stepProgram // of a model whose layers are all cached; for one token and half a context
	rerun              *rerun       // of any other
	context            []int
}

func newDecoding(m *Model, batch int) (d decoding, err error) {
	d = decoding{batch: batch, size: m.Config.BlockSize, vocab: m.Config.VocabSize}
	d.context = make([]int, 0, d.size*batch)
	caches := nn.Caches{}
	if d.one, err = newStepProgram(m, batch, 1, caches); err != nil {
		return d, err
	}
	if d.one == nil {
		d.rerun, err = newRerun(m, batch)
		return d, err
	}
	d.half, err = newStepProgram(m, batch, max(1, d.size/2), caches)
	return d, err
}

func (d *decoding) reset() { d.context = d.context[:0] }

// unknown is the place of a token outside the vocabulary, −1 if there is none.
func (d *decoding) unknown(tokens []int) int {
	return slices.IndexFunc(tokens, func(id int) bool { return id < 0 || id >= d.vocab })
}

// feed appends tokens of the vocabulary. Of more than the context holds only the last count.
func (d *decoding) feed(tokens []int) (graph.Tensor, error) {
	full := d.size * d.batch
	if extra := len(tokens) - full; extra >= 0 {
		tokens = tokens[extra:]
		d.reset()
	}
	if d.rerun != nil {
		return d.feedAgain(tokens)
	}
	half := d.half.n * d.batch
	for len(tokens) > 0 {
		if len(d.context) == full {
			if err := d.shift(); err != nil {
				return graph.Tensor{}, err
			}
		}
		s, program := d.one, d.one.hidden
		switch {
		case len(tokens) == d.batch:
			program = d.one.logits
		case len(tokens) > half && len(d.context)+half <= full:
			s, program = d.half, d.half.hidden
		}
		if err := d.run(s, program, tokens[:s.n*d.batch]); err != nil {
			return graph.Tensor{}, err
		}
		tokens = tokens[s.n*d.batch:]
	}
	return d.one.logits.Value(), nil
}

// keepHalf is the newer half of a full context.
func (d *decoding) keepHalf() []int { return d.context[(d.size+1)/2*d.batch:] }

// shift drops the older half of a full context and feeds the rest again.
func (d *decoding) shift() error {
	rest := d.keepHalf()
	if d.reset(); len(rest) == 0 {
		return nil
	}
	return d.run(d.half, d.half.hidden, rest)
}

// run feeds s.n tokens of every sequence.
func (d *decoding) run(s *stepProgram, p *graph.Program, tokens []int) error {
	first := len(d.context) / d.batch
	ids, positions := s.tokens.Ints(), s.positions.Ints() // of one sequence after another
	for i, id := range tokens {
		t, b := i/d.batch, i%d.batch
		ids[b*s.n+t], positions[b*s.n+t] = id, first+t
	}
	s.at.Ints()[0] = first
	if err := p.Run(); err != nil {
		return err
	}
	d.context = append(d.context, tokens...)
	return nil
}
