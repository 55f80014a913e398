package verify

import (
	"fmt"
	"strings"

	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/verify/hand"
	"github.com/pedestrian-ml/pedestrian/verify/internal/variants"
)

// plan describes the model to the formulas, with the dropout masks that the library will draw.
func (m Pairs) plan(g *graph.Graph) (variants.Plan, error) {
	c, batch := m.Config, len(m.Pairs)
	e := variants.Encoder{Context: c.SourceSize, Attention: c.Attention}
	for _, p := range m.Pairs {
		e.Lengths = append(e.Lengths, len(p.Source))
	}
	p := variants.Plan{
		Batch: batch, Context: c.TargetSize, Layers: c.NLayer, Heads: c.NHead, QK: c.QKSize,
		Position: c.Position, Attention: "causal", Norm: c.Norm, Block: c.Block,
		Activation: c.Activation, Head: "linear", MLP: c.MLP,
		Option: c.Options.Get, Eps: c.Eps, Theta: 10_000, Encoder: &e,
	}
	if c.Dropout > 0 {
		p.Dropout = remembered(func(path string) hand.Matrix[float64] {
			rows, cols := m.shape(path)
			return hand.NewMatrix(rows, cols, g.DropoutMask(path, c.Dropout, rows*cols)...)
		})
	}
	return p, nil
}

// shape returns the shape of the dropout mask at a path.
func (m Pairs) shape(path string) (rows, cols int) {
	c := m.Config
	size, keys := c.TargetSize, c.TargetSize
	if strings.HasPrefix(path, "encoder.") {
		if size, keys = c.SourceSize, c.SourceSize; c.Attention == "linformer" {
			keys = c.Options.Get("mixed_keys")
		}
	}
	switch {
	case strings.HasSuffix(path, "cross.attn_dropout"):
		return len(m.Pairs) * c.NHead * size, c.SourceSize
	case strings.HasSuffix(path, "attn_dropout"):
		return len(m.Pairs) * c.NHead * size, keys
	}
	return len(m.Pairs) * size, c.NEmbd
}

// position describes where a difference is in an activation: pair, token, feature.
func (m Pairs) position(name string, d Difference) string {
	size := m.Config.TargetSize
	if name == "z" || strings.HasPrefix(name, "encoder.") {
		size = m.Config.SourceSize
	}
	return fmt.Sprintf("pair %d, token %d, feature %d", d.Row/size, d.Row%size, d.Col)
}
