package gpt

import (
	"math"

	"github.com/pedestrian-ml/pedestrian/graph"
)

// lastDraw is a token, and the logits that it was drawn from, where they are: most who draw never ask for its
// probability.
type lastDraw struct {
	id  int
	f32 []float32
	f64 []float64
}

// LogProb is ln softmax(z)ᵢ of the token i that was drawn last: the model's own, before penalty, temperature and cuts.
// It reads z where Draw did, and a decoder writes the next logits there: ask before it is fed again, such as inside of
// the loop over Generate. NaN where nothing was drawn, and while another goroutine draws.
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
		sum += math.Exp(z.At(i) - top)
	}
	return z.At(s.last.id) - top - math.Log(sum)
}
