package gpt

import (
	"github.com/pedestrian-ml/pedestrian/gpt/internal/made"
	"github.com/pedestrian-ml/pedestrian/gpt/text"
	"github.com/pkg/errors"
)

// fields returns the exported fields of m except Config.
func (m *Model) fields() made.Network {
	return made.Network{Graph: m.Graph, Exprs: []made.Expr{
		{Name: "Tokens", Expr: m.Tokens}, {Name: "Targets", Expr: m.Targets},
		{Name: "Logits", Expr: m.Logits}, {Name: "Loss", Expr: m.Loss},
	}}
}

// withConfig returns the exported fields of m, and those fields of its Config that change what a graph computes when it
// does not train.
func (m *Model) withConfig() made.Network {
	all := m.fields()
	all.Config = m.Config.networkFields().Without("dropout").Lines()
	return all
}

// Check returns an error unless m is as New or LoadModel has returned it. The error names the field that has been
// replaced: a decoder or a file of such a model would belong to another network than the weights.
func (m *Model) Check() error {
	if m == nil {
		return errors.New("model: got nil, want one from New or LoadModel")
	}
	return made.Check(m.built, m.withConfig())
}

// checkTokenizer returns an error if tok, which may be nil, has more tokens than the model has logits.
func (m *Model) checkTokenizer(tok text.Tokenizer) error {
	if tok != nil && tok.Size() > m.Config.VocabSize {
		return errors.Errorf("tokenizer: got %d tokens, want at most the model's vocab_size %d",
			tok.Size(), m.Config.VocabSize)
	}
	return nil
}
