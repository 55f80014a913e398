package inspect

import (
	"strings"

	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/text"
	"github.com/pkg/errors"
)

// Ablation is the loss without something: Head of the activation at Place, or all of it where Head is −1.
type Ablation struct {
	Place string
	Head  int
	Loss  float64 // nats, the mean over the targets that count
}

// Ablate is the loss over the blocks of a text as [gpt.Trainer.EvaluateAll] has it, and that with each activation that
// matches the pattern set to 0, of attn.heads each head by itself (Michel, Levy and Neubig, Are sixteen heads really
// better than one?, 2019). With mean they are set to their means over the text, by feature: what knows them and nothing
// of the text (Wang et al., Interpretability in the wild, 2022). One graph does it all, in the batches of m.
func Ablate(m *gpt.Model, s text.Split, pattern string, mean bool) (loss float64, without []Ablation, err error) {
	a := ablated{size: map[string]int{}}
	if err := a.build(m, pattern); err != nil {
		return 0, nil, err
	}
	if s == nil {
		return 0, nil, errors.New("inspect: got no text (nil)")
	}
	if n := s.Len(); n <= m.Config.BlockSize {
		return 0, nil, errors.Errorf("inspect: got a text of %d tokens, want more than block_size, %d", n, m.Config.BlockSize)
	}
	means := make([][]float64, len(a.names))
	for i, x := range a.keep {
		means[i] = make([]float64, x.Shape()[1])
	}
	if loss, err = a.loss(s, means); err != nil {
		return 0, nil, err
	}
	for i, name := range a.names {
		heads, numbers := a.size[name], means[i]
		if !mean {
			clear(numbers)
		}
		for h := range heads {
			from, to := h*len(numbers)/heads, (h+1)*len(numbers)/heads
			set(a.keep[i], from, to, func(int) float64 { return 0 })
			set(a.shift[i], from, to, func(j int) float64 { return numbers[j] })
			one := Ablation{name, h, 0}
			if !strings.HasSuffix(name, ".attn.heads") {
				one.Head = -1
			}
			if one.Loss, err = a.loss(s, nil); err != nil {
				return 0, nil, err
			}
			without = append(without, one)
			set(a.keep[i], from, to, func(int) float64 { return 1 })
			set(a.shift[i], from, to, func(int) float64 { return 0 })
		}
	}
	return loss, without, nil
}
