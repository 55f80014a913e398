package inspect

import (
	"math"
	"slices"
	"strings"

	"github.com/pkg/errors"
	"gonum.org/v1/gonum/floats"
)

// parts returns the products of the activations and their gradients.
func (a *attribution) parts(logits []float64) (parts []Part) {
	rows, heads := len(logits), a.model.Config.NHead
	sum := func(i, from, to int) []float64 { // over some columns
		x, d, list := a.program.Kept(a.places[i]), a.program.Grad(a.places[i]), make([]float64, rows)
		for t := range list {
			for j := t*x.Shape[1] + from; j < t*x.Shape[1]+to; j++ {
				list[t] += x.At(j) * d.At(j)
			}
		}
		return list
	}
	minus := func(x []float64, list ...Part) []float64 {
		for _, p := range list {
			for t := range x {
				x[t] -= p.Logit[t]
			}
		}
		return x
	}
	for i, name := range a.names {
		width := a.places[i].Shape()[1]
		switch {
		case strings.HasSuffix(name, ".heads") && width%heads == 0:
			for h := range heads {
				parts = append(parts, Part{name, h, sum(i, h*width/heads, (h+1)*width/heads)})
			}
		case strings.HasSuffix(name, ".heads"):
			parts = append(parts, Part{name, -1, sum(i, 0, width)})
		case strings.HasSuffix(name, ".attn"): // the rest without its heads
			own := parts[slices.IndexFunc(parts, func(p Part) bool { return p.Place == name+".heads" }):]
			parts = append(parts, Part{name, -1, minus(sum(i, 0, width), own...)})
		case name == "ln_f":
			b, d := make([]float64, rows), a.program.Grad(a.places[i])
			for t := range b {
				for j := range width {
					if a.bias.Graph() != nil {
						b[t] += a.bias.Tensor().At(j) * d.At(t*width+j)
					}
				}
			}
			head := minus(slices.Clone(logits), Part{Logit: sum(i, 0, width)})
			parts = append(parts, Part{name, -1, b}, Part{"logits", -1, head})
		default:
			parts = append(parts, Part{name, -1, sum(i, 0, width)})
		}
	}
	return parts
}

// check returns an error if the parts do not add up to the logits: then the model has further parts, or its stream is
// not a sum.
func (a *attribution) check(logits []float64, parts []Part) error {
	tolerance := 1e-9
	if a.program.Kept(a.model.Logits).F32 != nil {
		tolerance = 1e-3
	}
	for t, logit := range logits {
		sum, size := 0.0, 1.0
		for _, p := range parts {
			sum, size = sum+p.Logit[t], size+math.Abs(p.Logit[t])
		}
		if !(math.Abs(sum-logit) <= tolerance*size) {
			c := a.model.Config
			return errors.Errorf("inspect: block %q, norm %q: the parts add up to %.6g after token %d, "+
				"want the logit, %.6g", c.Block, c.Norm, sum, t, logit)
		}
	}
	return nil
}

// checkNorm returns an error unless the last norm multiplies all features of a token by one number. DyT's tanh, for
// example, scales each feature by a different one, so its result is no sum of parts.
func (a *attribution) checkNorm() error {
	norm, line := a.program.Kept(a.norm), a.program.Kept(a.line)
	tolerance := 1e-9
	if norm.F32 != nil {
		tolerance = 1e-3
	}
	largest := floats.Norm(norm.Floats(), math.Inf(1))
	for i := range norm.Len() {
		if d := math.Abs(norm.At(i) - line.At(i)); !(d <= tolerance*largest) {
			return errors.Errorf("inspect: norm %q: entry %d of ln_f is %.6g, but %.6g with one scale for all "+
				"features of a token; want a norm that scales them alike, such as layernorm",
				a.model.Config.Norm, i, norm.At(i), line.At(i))
		}
	}
	return nil
}
