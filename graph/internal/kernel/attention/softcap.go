package attention

import (
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel/simd"
)

// capScores replaces scores by limit·tanh(score/limit) if there is a cap. slope is as for softcap.
func (s *head[T]) capScores(x, slope []T) {
	if s.Cap != 0 {
		softcap(x, slope, T(s.Cap))
	}
}

// slope returns space for the slope of the cap of n scores, which is empty without a cap.
func (s *head[T]) slope(n int) []T {
	if s.Cap == 0 {
		return nil
	}
	x := s.borrow()
	if x.slope == nil {
		x.slope = make([]T, max(backwardQueries*backwardKeys, restRows*restKeys))
	}
	return x.slope[:n]
}

// softcap computes x ← c·tanh(x/c) with the limit c, and slope ← 1 − tanh²(x/c) unless slope is nil (Gemma 2).
func softcap[T kernel.Float](x, slope []T, limit T) {
	if fast := simd.Of[T](); fast != nil {
		fast.Softcap(simd.Float32s(x), simd.Float32s(slope), float32(limit))
		return
	}
	for i, v := range x {
		t := kernel.Tanh(v / limit)
		x[i] = limit * t
		if slope != nil {
			slope[i] = 1 - T(t*t)
		}
	}
}

// multiply computes d ← d∘slope. A nil slope is 1.
func multiply[T kernel.Float](d, slope []T) {
	if slope == nil {
		return
	}
	if fast := simd.Of[T](); fast != nil {
		fast.Mul(simd.Float32s(d), simd.Float32s(d), simd.Float32s(slope))
		return
	}
	for i, s := range slope {
		d[i] *= s
	}
}
