package kernel

import "math"

// Elman runs the recurrence h_t = tanh(h_{t−1}·w + a_t) over batch sequences: a and h (batch·n, d), the sequences one
// behind the other, w (d, d). What h is before
// t = 0 is first (batch, d), or 0 if that is nil. All sequences take a step together.
func Elman[T Float](p *Pool, h, a, w, first []T, batch, d int) {
	n := len(h) / (batch * d)
	for t := range n {
		before := Mat(first, d)
		if t > 0 {
			before = moment(h, t-1, n, d)
		}
		if before.Data == nil {
			for b := range batch {
				copy(h[b*n*d:][:d], a[b*n*d:])
			}
		} else {
			GemmAdd(p, batch, d, d, 1, before, Mat(w, d), moment(a, t, n, d), moment(h, t, n, d))
		}
		for b := range batch {
			row := h[(b*n+t)*d:][:d]
			for j, v := range row {
				row[j] = Tanh(v)
			}
		}
	}
}

// moment is what all sequences of x hold at t: (batch, d), a row of it every n·d numbers.
func moment[T Float](x []T, t, n, d int) Matrix[T] { return Matrix[T]{Data: x[t*d:], Stride: n * d} }

// ElmanBackward goes back through time: da_t = (dh_t + da_{t+1}·wᵀ)∘(1 − h_t²), from the last t to the first, and
// dw = Σ h_{t−1}ᵀ·da_t over the sequences and t > 0. dw may be nil when nobody asks for it.
func ElmanBackward[T Float](p *Pool, da, dw, h, w, dh []T, batch, d int) {
	n := len(h) / (batch * d)
	for t := n - 1; t >= 0; t-- {
		if t < n-1 {
			GemmAdd(p, batch, d, d, 1, moment(da, t+1, n, d), Mat(w, d).T(), moment(dh, t, n, d), moment(da, t, n, d))
		}
		for b := range batch {
			at := (b*n + t) * d
			row, delta := da[at:at+d], da[at:at+d]
			if t == n-1 {
				delta = dh[at : at+d]
			}
			for j, y := range h[at : at+d] {
				row[j] = delta[j] * (1 - y*y)
			}
		}
	}
	if dw == nil {
		return
	}
	clear(dw)
	for b := range batch {
		before, after := h[b*n*d:(b*n+n-1)*d], da[(b*n+1)*d:(b+1)*n*d]
		Gemm(p, d, d, n-1, 1, Mat(before, d).T(), Mat(after, d), 1, Mat(dw, d))
	}
}

// Tanh is tanh x. In float32 it is 1 − 2/(e^2|x| + 1) with the sign of x, and near 0, where that cancels, Taylor's series to
// x⁷, whose remainder is below a unit in the last place.
func Tanh[T Float](x T) T {
	if y, ok := any(x).(float64); ok {
		return T(math.Tanh(y))
	}
	if x > -0.15 && x < 0.15 {
		s := x * x
		return x * (1 - s*(1./3-s*(2./15-s*(17./315))))
	}
	if x < 0 {
		return 2/(Exp(-2*x)+1) - 1
	}
	return 1 - 2/(Exp(2*x)+1)
}
