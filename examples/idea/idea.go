package main

import (
	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/lab"
	"github.com/pedestrian-ml/pedestrian/gpt/lab/verdict"
	"github.com/pedestrian-ml/pedestrian/gpt/parts"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/graph/fused"
	"github.com/pedestrian-ml/pedestrian/nn"
)

// idea is a norm of the result of every head, as RetNet has it (Sun et al. 2023, arXiv 2307.08621), for attention,
//
//	y ← y / √(Σ y²/dh + ε)
func idea() verdict.Idea {
	return verdict.Idea{Arm: lab.Arm{Name: "normed heads", Version: "1", Change: func(c *gpt.Config) {
		c.Parts.Kinds = []parts.Kind{{Key: "head_norm", Help: "norm of the result of every head",
			Variants: func() []parts.Variant {
				return []parts.Variant{{Name: "none"}, {Name: "rms", After: parts.Apart(newHeadNorm)}}
			}}}
		c.With.Set("head_norm", "rms")
	}}}
}

func newHeadNorm(nn.Site, fused.AttentionShape) nn.Link {
	return nn.LinkFunc(func(in nn.Inside) graph.Expr { // (n, H·dh) → (n, H·dh)
		n, rows := in.Y.Shape()[0], in.Y.Shape()[0]*in.Heads
		y := in.Y.Reshape(rows, in.V) // (n·H, dh)
		rms := y.Square().Sum().Scale(1 / float64(in.V)).Shift(1e-6).Sqrt()
		return y.Div(rms).Reshape(n, in.Heads*in.V)
	})
}
