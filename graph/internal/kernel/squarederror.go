package kernel

// SquaredError returns Σ w(x − y)²/Σ w.
func SquaredError[T Float](x, y, weights []T) (loss float64) {
	for i, v := range x {
		d := float64(v) - float64(y[i])
		loss += float64(weights[i]) * d * d
	}
	return loss / total(weights)
}

// SquaredErrorBackward computes dx = scale·2w(x − y)/Σ w.
func SquaredErrorBackward[T Float](dx, x, y, weights []T, scale T) {
	f := 2 * float64(scale) / total(weights)
	for i, v := range x {
		dx[i] = T(f * float64(weights[i]) * (float64(v) - float64(y[i])))
	}
}

func total[T Float](x []T) (sum float64) {
	for _, v := range x {
		sum += float64(v)
	}
	return sum
}
