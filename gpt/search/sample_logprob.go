package search

import (
	"math"

	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/internal/elementary"
)

// lastDraw holds a token and references to the logits from which it was drawn. They are not copied, because most
// callers never need its probability.
type lastDraw struct {
	id  int
	f32 []float32
	f64 []float64
}

// LogProb returns ln softmax(z)ᵢ of the token i that was drawn last, as the model predicts it, before penalty,
// temperature and cuts. It reads z from the tensor passed to Draw, which a decoder overwrites with the next logits:
// call it before the decoder is fed again, for example in the loop over Generate. It returns NaN if nothing was drawn,
// and while another goroutine draws.
func (s *Sampler) LogProb() float64 {
	if s == nil || !s.busy.TryLock() {
		return math.NaN()
	}
	defer s.busy.Unlock()
	z := graph.Tensor{F32: s.last.f32, F64: s.last.f64}
	top, sum := math.Inf(-1), 0.0
	for i := range z.Len() {
		top = max(top, z.At(i))
	}
	for i := range z.Len() {
		sum += elementary.Exp(z.At(i) - top)
	}
	return z.At(s.last.id) - top - elementary.Log(sum)
}
