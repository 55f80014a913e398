package gpt_test

import (
	"fmt"
	"strings"

	"github.com/pedestrian-ml/pedestrian/gpt/parts"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/nn"
)

// grouped makes queries of H heads, but keys and values of G only, each shared by H/G heads (Ainslie et al. 2023).
type grouped struct {
	nn.Layer // (n, d) → (n, H·dρ + G(dρ+dh))
	nn.Dims
	shared int // G
}

func (l grouped) Forward(x graph.Expr) graph.Expr { // (n, d) → (n, H(2dρ+dh)), every key and value as often as it is shared
	y := l.Layer.Forward(x)
	list, keys, values := []graph.Expr{}, l.Heads*l.QK, l.Heads*l.QK+l.shared*l.QK
	for h := range 2 * l.Heads {
		from, size, g := keys, l.QK, h%l.Heads*l.shared/l.Heads
		if h >= l.Heads {
			from, size = values, l.V
		}
		list = append(list, y.Cols(from+g*size, from+(g+1)*size))
	}
	return y.Cols(0, keys).Join(list...)
}

func newGrouped(at nn.Site, shared int) nn.Layer {
	affine, d := at.Affine, at.Dims
	at.Affine = func(s graph.Scope, in int, out []int, bias bool, init graph.Init) nn.Layer {
		if !strings.HasSuffix(s.Path(), "c_attn") {
			return affine(s, in, out, bias, init)
		}
		return grouped{affine(s, in, []int{d.Heads * d.QK, shared * d.QK, shared * d.V}, bias, init), d, shared}
	}
	return nn.NewSelfAttention(at)
}

// Grouped-query attention is SelfAttention, with its mask, rotary positions, dropout and cache, behind another projection.
// An option says how many heads have keys and values.
func ExampleConfig_ownAttention() {
	c := small()
	c.Parts.Attentions = []parts.Attention{{
		Name:    "grouped",
		Options: []parts.Option{{Name: "kv_heads", Help: "grouped: heads with keys and values", Default: func(parts.Stack) int { return 1 }}},
		New: func(_ nn.Site, s parts.Stack) nn.Attention {
			return func(at nn.Site) nn.Layer { return newGrouped(at, s.Options.Get("kv_heads")) }
		},
	}}
	whole, _ := c.Count()
	c.Attention, c.NHead = "grouped", 4
	c.Options.Set("kv_heads", 2)
	narrow, _ := c.Count()
	fmt.Println(whole-narrow, "parameters fewer")
	trains(c)
	// Output:
	// 512 parameters fewer
	// the loss falls, and it writes
}
