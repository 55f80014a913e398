package graph

import (
	"fmt"
	"math"

	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
	"github.com/pedestrian-ml/pedestrian/graph/internal/plan"
	"github.com/pkg/errors"
)

// NotFinite finds where a run of p has left the finite numbers. It computes the forward pass again, with the same
// inputs and dropout. The error wraps ErrNotFinite and names the first operation whose result has a NaN or +∞, with its
// layer, row and column. A mask may put −∞ into a result, so NotFinite reports a −∞ only if there is no NaN and no +∞.
// It returns nil if all results are finite. Afterwards p has no value until its next Run.
func (p *Program) NotFinite() error {
	if err := p.hold(); err != nil {
		return err
	}
	defer p.release()
	p.ran = false
	p.graph.ops.Run.Begin(len(p.grads) > 0)
	var first, infinite error
	err := p.plan.Forward(func(o *plan.Op, out plan.Numbers) bool {
		if kernel.Finite(out.F32) && kernel.Finite(out.F64) {
			return true
		}
		t := Tensor{F32: out.F32, F64: out.F64}
		for i := range t.Len() {
			switch x := t.At(i); {
			case math.IsNaN(x) || math.IsInf(x, 1):
				first = notFinite(o, t, i)
				return false
			case infinite == nil && math.IsInf(x, -1):
				infinite = notFinite(o, t, i)
			}
		}
		return true
	})
	switch {
	case err != nil:
		return errors.Wrap(err, "run")
	case first != nil:
		return first
	}
	return infinite
}

// notFinite returns the error of entry i of the result of an operation.
func notFinite(o *plan.Op, t Tensor, i int) error {
	place := fmt.Sprintf("entry %d", i)
	if o.Rows > 1 {
		width := t.Len() / o.Rows
		place = fmt.Sprintf("row %d of %d, column %d", i/width, o.Rows, i%width)
	}
	return errors.Wrapf(ErrNotFinite, "%s: %s is %v", o.Name, place, t.At(i))
}
