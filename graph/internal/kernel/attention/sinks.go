package attention

import (
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
)

// SinkGradients computes the gradients of the sinks' logits b from dy and the results of Forward: y, LSE and the spans.
// With D of Backward and the weight of the sink, e^(b − m)/ℓ, the gradient is −Σ e^(b − m)/ℓ·D over all queries of a
// head, which are added in a fixed order.
func (f *Flash[T]) SinkGradients(pool *kernel.Pool, db, y, dy []T) {
	pool.Tasks(f.Heads, func(_, j int) {
		var sum T
		for b := range f.Batch {
			for l := range f.lanes(b*f.Heads + j) {
				s := f.head(b*f.Heads+j, &f.lanes(b*f.Heads + j)[l])
				out, grad := s.of(y), s.of(dy)
				for i, top := range s.top {
					d := dot(out.Data[i*out.Stride:][:f.V], grad.Data[i*grad.Stride:][:f.V])
					sum -= T(kernel.Exp(f.Sinks[j]-top) / s.total[i] * d)
				}
			}
		}
		db[j] = sum
	})
}
