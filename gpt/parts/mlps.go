package parts

import "github.com/pedestrian-ml/pedestrian/nn"

// MLP is a kind of layer behind the attention of a block, in which every token is by itself.
type MLP struct {
	Name string
	New  func(at nn.Site) nn.Layer
}

// PartName is m's name.
func (m MLP) PartName() string { return m.Name }

// MLPs lists the library's, the default first.
func MLPs() []MLP {
	return []MLP{{"mlp", func(at nn.Site) nn.Layer { return nn.NewMLP(at) }}}
}
