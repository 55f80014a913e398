package gpt

import (
	"math"

	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pkg/errors"
)

// checkSteps compares Step with Forward over a full context, in every attention or every block that may contain a
// user-defined part. A type that embeds a layer of the library and replaces its Forward inherits a Step that computes
// something else, which decoding would use without an error. The tests of the library compare its own layers.
func (m *Model) checkSteps() error {
	own := m.Config.Parts
	if len(own.Attentions)+len(own.Positions) > 0 {
		if err := m.compareSteps(false); err != nil {
			return err
		}
	}
	if len(own.Blocks)+len(own.Norms)+len(own.MLPs)+len(own.Activations) > 0 {
		return m.compareSteps(true)
	}
	return nil
}

// compareSteps computes random rows all at once with Forward, and by halves with Step.
func (m *Model) compareSteps(blocks bool) error {
	context := m.Config.BlockSize
	n := max(1, context/2)
	all, err := m.newWindow(context, blocks, false)
	if err != nil || len(all.names) == 0 {
		return err
	}
	some, err := m.newWindow(n, blocks, true)
	if err != nil {
		return err
	}
	if err := all.program.Run(); err != nil {
		return err
	}
	for first := 0; first+n <= context; first += n {
		some.at.Ints()[0] = first
		for i := range n {
			some.positions.Ints()[i] = first + i
			if err := some.x.Tensor().Row(i).Copy(all.x.Tensor().Row(first + i)); err != nil {
				return err
			}
		}
		if err := some.program.Run(); err != nil {
			return err
		}
		if err := all.compare(some.program.Value(), first, n); err != nil {
			return err
		}
	}
	return nil
}

// compare compares rows of Step, from first on, with those of Forward, layer by layer. It skips numbers for which
// Forward is not finite.
func (w *window) compare(step graph.Tensor, first, n int) error {
	tolerance := 1e4 * 0x1p-52
	if step.F32 != nil {
		tolerance = 1e4 * 0x1p-23
	}
	forward, from := w.program.Value(), 0
	for i, name := range w.names {
		var worst, got, want, largest float64
		token := 0
		for t := range n {
			a, b := step.Row(t), forward.Row(first+t)
			for j := from; j < from+w.widths[i]; j++ {
				if b.At(j)-b.At(j) != 0 {
					continue
				}
				largest = max(largest, math.Abs(b.At(j)))
				if d := math.Abs(a.At(j) - b.At(j)); !(d <= worst) {
					worst, got, want, token = d, a.At(j), b.At(j), first+t
				}
			}
		}
		if from += w.widths[i]; !(worst <= tolerance*largest) {
			return errors.Errorf("%s: Step and Forward differ: token %d of a text gives %.6g by Step, %.6g by Forward;"+
				" a layer that replaces one of them must replace both", name, token, got, want)
		}
	}
	return nil
}
