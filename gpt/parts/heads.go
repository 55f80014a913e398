package parts

import (
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/nn"
)

// Head makes logits of the last activations: (n, d) → (n, V).
type Head struct {
	Name string
	New  func(at nn.Site, vocabulary int, wte *nn.Embedding) nn.Layer // wte is the token embedding
}

// PartName is h's name.
func (h Head) PartName() string { return h.Name }

// Heads lists the library's, the default first.
func Heads() []Head {
	return []Head{{"linear", linearHead}, {"tied", tiedHead}}
}

func linearHead(at nn.Site, vocabulary int, _ *nn.Embedding) nn.Layer {
	return at.Affine(at.Scope, at.Embd, []int{vocabulary}, at.Bias, graph.Normal(0.02))
}

func tiedHead(at nn.Site, _ int, wte *nn.Embedding) nn.Layer { return nn.NewTied(at.Scope, wte) }
