package attention

import (
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel/simd"
	"github.com/pedestrian-ml/pedestrian/internal/elementary"
)

// Weights is the function that turns the scores of a query into the weights of its keys.
type Weights int

const (
	Softmax  Weights = iota // e^score/Σ e^score
	Sigmoids                // σ(score − ln n), where n is the number of keys that the query sees
)

// String returns the name of attention with these weights.
func (w Weights) String() string {
	if w == Sigmoids {
		return "sigmoid attention"
	}
	return "attention"
}

// start sets m and ℓ of queries from … to before their first tile. With sigmoids, m is ln n.
func (s *head[T]) start(from, to int) {
	for i := from; i < to; i++ {
		switch {
		case s.Weights == Sigmoids:
			s.top[i], s.total[i] = logKeys[T](int(s.seen[s.lane.q.at(i)])), 1
		case s.sinks != nil:
			s.top[i], s.total[i] = s.sinks[s.j], 1
		default:
			s.top[i], s.total[i] = lowest[T](), 0
		}
	}
}

// logKeys returns ln n, or 0 for a query that sees no key.
func logKeys[T kernel.Float](n int) T { return T(elementary.Log(float64(max(1, n)))) }

// weigh turns a tile of scores of the queries from number first into weights, as softmaxTile or sigmoidTile does. It
// reports whether the results so far must be multiplied by keep.
func (s *head[T]) weigh(x, mask []T, first int, keep []T, cols, stride int) (rescale bool) {
	top := s.top[first : first+len(keep)]
	if s.Weights == Sigmoids {
		sigmoidTile(x, mask, top, cols, stride)
		return false
	}
	softmaxTile(x, mask, top, s.total[first:first+len(keep)], keep, cols, stride)
	return true
}

// weighBackward computes the weights of a tile of scores again, in place, and turns their gradient d into the gradient
// of the scores.
func (s *head[T]) weighBackward(d, x, mask []T, first int, dots []T, cols, stride int) {
	top := s.top[first : first+len(dots)]
	if s.Weights == Sigmoids {
		sigmoidTileBackward(d, x, mask, top, cols, stride)
		return
	}
	softmaxTileBackward(d, x, mask, top, s.total[first:first+len(dots)], dots, cols, stride)
}

// sigmoidTile computes x ← σ(x + mask − shift) in every row of a tile x (len(shift), cols) of scores. The mask is
// optional; its rows lie stride apart. The weight of a hidden key is 0, even if its score is NaN or ∞.
func sigmoidTile[T kernel.Float](x, mask, shift []T, cols, stride int) {
	if fast := simd.Of[T](); fast != nil {
		fast.SigmoidTile(simd.Float32s(x), simd.Float32s(mask), simd.Float32s(shift), cols, stride)
		return
	}
	for i, shift := range shift {
		x := x[i*cols : (i+1)*cols]
		addMask(x, mask, i*stride)
		for j, v := range x {
			x[j], _ = kernel.Logistic(v - shift)
		}
	}
}

// sigmoidTileBackward computes the weights of a tile x of scores again, in place, and turns their gradient d into that
// of the scores, d ← d∘x(1 − x).
func sigmoidTileBackward[T kernel.Float](d, x, mask, shift []T, cols, stride int) {
	if fast := simd.Of[T](); fast != nil {
		fast.SigmoidTileBackward(
			simd.Float32s(d), simd.Float32s(x), simd.Float32s(mask), simd.Float32s(shift), cols, stride)
		return
	}
	for i, shift := range shift {
		x, d := x[i*cols:(i+1)*cols], d[i*cols:(i+1)*cols]
		addMask(x, mask, i*stride)
		for j, v := range x {
			weight, rest := kernel.Logistic(v - shift)
			x[j], d[j] = weight, d[j]*(weight*rest)
		}
	}
}
