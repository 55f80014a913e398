package gpt

import (
	"context"
	"fmt"
	"iter"

	"github.com/pedestrian-ml/pedestrian/gpt/decode"
	"github.com/pedestrian-ml/pedestrian/gpt/internal/field"
	"github.com/pedestrian-ml/pedestrian/gpt/search"
	"github.com/pedestrian-ml/pedestrian/gpt/text"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/nn"
	"github.com/pkg/errors"
)

// NewDecoder returns a session that continues a batch of at least one text with m's parameters. The memory limit bounds
// the batch, and the number of tokens that the session can store: their memory is allocated as they come. NewDecoder
// returns an error that names the layer if a user-defined part computes something else token by token than all at once.
func NewDecoder(m *Model, batch int) (*decode.Session, error) {
	n, err := m.Network(batch)
	if err != nil {
		return nil, errors.Wrap(err, "decoder")
	}
	d, err := decode.New(n, batch)
	return d, errors.Wrap(err, "decoder")
}

// Network describes m for those who continue a batch of texts with it, such as package gpt/service. It returns an error
// if no text can be continued, or if the memory limit is too low for the batch.
func (m *Model) Network(batch int) (decode.Network, error) {
	if err := m.checkCausalDecoding(batch); err != nil {
		return decode.Network{}, err
	}
	return m.network(), nil
}

// checkCausalDecoding returns an error if no text can be continued with m.
func (m *Model) checkCausalDecoding(batch int) error {
	if err := m.checkDecoding(batch); err != nil {
		return err
	}
	return m.checkCausal(false)
}

// network describes m for package decode.
func (m *Model) network() decode.Network {
	p := m.plan
	return decode.Network{
		Graph:      m.Graph,
		Context:    p.BlockSize,
		Vocabulary: p.VocabSize,
		Drawn:      min(p.DrawnTokens, p.VocabSize),
		Build: func(s graph.Scope, batch int, positions graph.Expr, caches nn.Caches) decode.Layers {
			at := p.site(s, batch, positions)
			at.Caches = caches
			return newStack(at, p.next())
		},
		CheckMemory: func(batch, tokens int) error { return m.checkState(batch, tokens, 0) },
		CheckSteps:  m.checkSteps,
	}
}

// checkDecoding returns an error if m cannot be decoded with, before anything is allocated.
func (m *Model) checkDecoding(batch int) error {
	if err := m.Check(); err != nil {
		return err
	}
	if batch < 1 {
		return errors.Errorf("sequences: got a batch of %d, want 1 or more", batch)
	}
	p := m.plan
	fed := float64(min(p.BlockSize/2, decode.MostAtOnce)) * p.design.Inside(p.BlockSize)
	logits := float64(3 * p.VocabSize) // of one token, and of the newest of many
	return m.checkState(batch, min(p.BlockSize, decode.FewTokens), fed+logits)
}

// checkState returns an error if there is no memory for the keys and values of the given number of tokens of each
// sequence, and for further numbers of each.
func (m *Model) checkState(batch, tokens int, more float64) error {
	o, err := m.plan.outline()
	if err != nil {
		return errors.Wrap(err, "model")
	}
	if tokens < m.plan.BlockSize {
		few := m.plan
		few.BlockSize = tokens
		if some, err := few.outline(); err == nil { // otherwise a part needs a longer context
			o = some
		}
	}
	fields := append(m.plan.NetworkFields(), field.New("sequences", &batch, field.Size(1), ""))
	return fields.CheckMemory(m.Graph.MemoryLimit(), 4*float64(batch)*(o.remembered+more),
		fmt.Sprintf("the keys and values of %d tokens", tokens),
		"sequences", "block_size", "n_layer", "n_head", "n_embd", "vocab_size")
}

// StateBytes returns the number of bytes that a decoder stores for a sequence of block_size tokens: the keys and values
// of the attentions, and the states of layers with a state of fixed size.
func (m *Model) StateBytes() (int64, error) {
	if err := m.Check(); err != nil {
		return 0, err
	}
	o, err := m.plan.outline()
	return int64(4 * o.remembered), errors.Wrap(err, "model")
}

// Generate yields the model's continuation of the prompt, which must have at least one token, up to n tokens or the
// first stop string. The text stands for the sampler's tokens, as text.Stream returns it. Generate stops early, with an
// error, when ctx ends. It builds a decoder for each call: to generate several texts, keep one from NewDecoder instead.
func (m *Model) Generate(
	ctx context.Context, tok text.Tokenizer, prompt string, n int, s *search.Sampler, stop ...string,
) iter.Seq2[string, error] {
	ids := func(yield func(int, error) bool) {
		prompt, err := tok.Encode(prompt)
		if err != nil {
			yield(0, errors.Wrap(err, "generate: prompt"))
			return
		}
		d, err := NewDecoder(m, 1)
		if err != nil {
			yield(0, err)
			return
		}
		for token, err := range d.Generate(ctx, [][]int{prompt}, n, []*search.Sampler{s}) {
			if !yield(token.ID, err) {
				return
			}
		}
	}
	return text.Stream(tok, ids, stop...)
}
