package gpt

import (
	"github.com/pedestrian-ml/pedestrian/gpt/internal/made"
	"github.com/pedestrian-ml/pedestrian/gpt/text"
	"github.com/pkg/errors"
)

// fields returns the exported fields of m but its Config.
func (m *Model) fields() made.Network {
	return made.Network{Graph: m.Graph, Exprs: []made.Expr{
		{Name: "Tokens", Expr: m.Tokens}, {Name: "Targets", Expr: m.Targets},
		{Name: "Logits", Expr: m.Logits}, {Name: "Loss", Expr: m.Loss},
	}}
}

// withConfig returns the exported fields of m, and those of its Config that change what a graph computes that does not
// train.
func (m *Model) withConfig() made.Network {
	all := m.fields()
	all.Config = m.Config.networkFields().Without("dropout").Lines()
	return all
}

// Check returns an error unless m is as New or LoadModel has made it, and names the field that has been replaced: what
// is made of m, such as a decoder or a file, would be of another network than the weights.
func (m *Model) Check() error {
	if m == nil {
		return errors.New("model: got nil, want one of New or LoadModel")
	}
	return made.Check(m.built, m.withConfig())
}

// checkTokenizer returns an error if tok, which may be nil, has tokens that the model has no logit for.
func (m *Model) checkTokenizer(tok text.Tokenizer) error {
	if tok != nil && tok.Size() > m.Config.VocabSize {
		return errors.Errorf("tokenizer: got %d tokens, want at most the model's vocab_size %d", tok.Size(), m.Config.VocabSize)
	}
	return nil
}
