package graph

import (
	"fmt"
	"math"

	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
	"github.com/pedestrian-ml/pedestrian/graph/internal/plan"
	"github.com/pkg/errors"
)

// NotFinite finds where a run of p has left the finite numbers. It computes the forward pass again, with the same
// inputs and dropout, and returns an ErrNotFinite that names the first operation with a NaN or +∞ in its result, its
// layer, and the row and column there. If there is none, a −∞ counts, which a mask may have put there. It returns nil
// if all results are finite. Afterwards p has no value until its next Run.
func (p *Program) NotFinite() error {
	if p == nil || p.graph == nil {
		return errNoProgram
	}
	if !p.graph.running.TryLock() {
		return errors.Wrap(errRunning, "run")
	}
	defer p.graph.running.Unlock()
	p.graph.store.RLock()
	defer p.graph.store.RUnlock()
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
