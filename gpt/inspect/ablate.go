package inspect

import (
	"context"

	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/text"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pkg/errors"
)

// Ablation is the loss without a part of the network: Head of the activation at Place, or the entire activation if Head
// is −1.
type Ablation struct {
	Place string
	Head  int
	Loss  float64 // nats, the mean over the targets that count
}

// Instead returns the replacement of an ablated feature from its mean over the text. Zero and Mean are such functions.
type Instead func(mean float64) float64

// Zero returns 0 (Michel, Levy and Neubig, Are sixteen heads really better than one?, 2019).
func Zero(float64) float64 { return 0 }

// Mean returns the mean, which depends on the feature but not on the text at hand (Wang et al., Interpretability in the
// wild, 2022).
func Mean(mean float64) float64 { return mean }

// Ablate returns the loss over the blocks of a text as [gpt.Trainer.EvaluateAll] computes it, and the losses with each
// activation that matches the pattern replaced, for attn.heads each head separately. All losses come from one graph, in
// the batches of m. If ctx ends, Ablate returns its cause.
func Ablate(
	ctx context.Context, m *gpt.Model, s text.Split, pattern string, instead Instead,
) (loss float64, without []Ablation, err error) {
	if ctx == nil || instead == nil {
		return 0, nil, errors.New("inspect: ablate: got nil, want a context, and Zero or Mean")
	}
	if m == nil || s == nil {
		return 0, nil, errors.New("inspect: ablate: got no model or no text (nil)")
	}
	a := ablated{}
	err = a.build(m, []string{pattern}, len(m.Tokens.Ints())/max(1, m.Config.BlockSize), func() (err error) {
		a.program, err = graph.CompileWith(a.model.Loss, a.places)
		return err
	})
	if err != nil {
		return 0, nil, err
	}
	means := make([][]float64, len(a.names))
	for i, x := range a.keep {
		means[i] = make([]float64, x.Shape()[1])
	}
	if loss, err = a.loss(ctx, s, means); err != nil {
		return 0, nil, err
	}
	for i, name := range a.names {
		numbers := means[i]
		for h, columns := range a.columns(i) {
			from, to := columns[0], columns[1]
			set(a.keep[i], from, to, func(int) float64 { return 0 })
			set(a.shift[i], from, to, func(j int) float64 { return instead(numbers[j]) })
			one := Ablation{Place: name, Head: a.head(name, h)}
			if one.Loss, err = a.loss(ctx, s, nil); err != nil {
				return 0, nil, err
			}
			without = append(without, one)
			set(a.keep[i], from, to, func(int) float64 { return 1 })
			set(a.shift[i], from, to, func(int) float64 { return 0 })
		}
	}
	return loss, without, nil
}
