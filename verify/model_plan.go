package verify

import (
	"cmp"
	"fmt"
	"math"
	"strings"

	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/verify/hand"
	"github.com/pedestrian-ml/pedestrian/verify/internal/variants"
	"github.com/pkg/errors"
)

// plan describes the model to the formulas. It reads the dropout masks that the library will draw and the keys that it
// has drawn at random, so that the formulas use the same ones.
func (m Model) plan(g *graph.Graph) (variants.Plan, error) {
	c := m.Config
	p := variants.Plan{
		Batch: m.batch(), Context: c.BlockSize, Layers: c.NLayer, Heads: c.NHead, QK: c.QKSize,
		Position: c.Position, Attention: c.Attention, Norm: c.Norm, Block: c.Block,
		Activation: c.Activation, Head: c.Head, MLP: c.MLP,
		Option: c.Options.Get, Eps: c.Eps, Theta: c.RopeTheta,
	}
	if m.Sum {
		p.Reduction = hand.Sum
	}
	if c.LoraR > 0 {
		switch p.LoRAScale = c.LoraAlpha; c.LoraScale {
		case "alpha/r":
			p.LoRAScale /= float64(c.LoraR)
		case "alpha/sqrt(r)":
			p.LoRAScale /= math.Sqrt(float64(c.LoraR))
		}
	}
	if c.Dropout > 0 {
		p.Dropout = remembered(func(path string) hand.Matrix[float64] {
			rows, cols := m.batch()*c.BlockSize, c.NEmbd
			if strings.HasSuffix(path, "attn_dropout") {
				if rows, cols = m.batch()*c.NHead*c.BlockSize, c.BlockSize; c.Attention == "longformer" {
					cols *= 2 // a key of the window and a global one for every token
				}
			}
			return hand.NewMatrix(rows, cols, g.DropoutMask(path, c.Dropout, rows*cols)...)
		})
	}
	if c.Attention == "bigbird" {
		return p, drawn(g, &p)
	}
	return p, nil
}

// drawn reads the keys that were drawn at random for the queries.
func drawn(g *graph.Graph, p *variants.Plan) error {
	x, ok := g.Leaf("visible.mask")
	if !ok {
		return errors.New("verify: the model has no visible.mask, from which to read the random keys")
	}
	var candidates []int
	p.Random, candidates = p.Drawn(x.Tensor().Floats(), func(x float64) bool { return !math.IsInf(x, -1) })
	for i, keys := range p.Random {
		if want := min(p.Option("random_keys"), candidates[i]); len(keys) != want || want > 0 && keys[want-1] > i {
			return errors.Errorf("verify: query %d has the random keys %v, want %d keys that do not follow it",
				i, keys, want)
		}
	}
	return nil
}

// position describes where a difference is in an activation of the model: sequence, token, and head if it has one.
func (m Model) position(name string, d Difference) string {
	c := m.Config
	where := fmt.Sprintf("feature %d", d.Col)
	switch {
	case strings.HasSuffix(name, ".attn.heads"):
		where = fmt.Sprintf("head %d, feature %d", d.Col/c.VSize, d.Col%c.VSize)
	case strings.HasSuffix(name, ".attn.c_attn"):
		what, col, size := "queries", d.Col, c.QKSize
		if q := c.NHead * c.QKSize; col >= q {
			what, col = "keys", col-q
			if k := cmp.Or(c.Options.Get("n_kv_head"), c.NHead) * c.QKSize; col >= k {
				what, col, size = "values", col-k, c.VSize
			}
		}
		where = fmt.Sprintf("%s, head %d, feature %d", what, col/size, col%size)
	}
	return fmt.Sprintf("sequence %d, token %d, %s", d.Row/c.BlockSize, d.Row%c.BlockSize, where)
}
