package kerneltest

import (
	"math"

	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel/simd"
)

// Formulas returns the vector kernels as formulas in Go. With them, a test can check on every processor the operands
// that are passed to the kernels.
func Formulas() *simd.Set {
	entrywise := func(f func(x float64) float64) func(y, x []float32) {
		return func(y, x []float32) {
			for i, v := range x {
				y[i] = float32(f(float64(v)))
			}
		}
	}
	slope := func(f func(x float64) float64) func(dx, x, dy []float32) {
		return func(dx, x, dy []float32) {
			for i, v := range x {
				dx[i] = float32(f(float64(v)) * float64(dy[i]))
			}
		}
	}
	phi := func(x float64) float64 { return math.Erfc(-x/math.Sqrt2) / 2 }
	inner := func(x float64) float64 { return math.Tanh(math.Sqrt(2/math.Pi) * (x + 0.044715*x*x*x)) }
	relu := func(x float64) float64 { return max(x, 0) }
	step := func(x float64) float64 { return math.Ceil(min(max(x, 0), 1)) }
	return &simd.Set{
		Add: func(z, x, y []float32) {
			for i := range x {
				z[i] = x[i] + y[i]
			}
		},
		Mul: func(z, x, y []float32) {
			for i := range x {
				z[i] = x[i] * y[i]
			}
		},
		Relu: entrywise(relu), ReluBackward: slope(step),
		Relu2:         entrywise(func(x float64) float64 { return relu(x) * relu(x) }),
		Relu2Backward: slope(func(x float64) float64 { return 2 * relu(x) }),
		Exp: func(y, x []float32, shift, scale float32) {
			entrywise(func(x float64) float64 { return math.Exp(x-float64(shift)) * float64(scale) })(y, x)
		},
		Gelu: entrywise(func(x float64) float64 { return x * phi(x) }),
		GeluBackward: slope(func(x float64) float64 {
			return phi(x) + x*math.Exp(-x*x/2)/math.Sqrt(2*math.Pi)
		}),
		GeluTanh: entrywise(func(x float64) float64 { return x * (1 + inner(x)) / 2 }),
		GeluTanhBackward: slope(func(x float64) float64 {
			t := inner(x)
			return (1+t)/2 + x*(1-t*t)/2*math.Sqrt(2/math.Pi)*(1+3*0.044715*x*x)
		}),
		Sigmoid: entrywise(func(x float64) float64 { return 1 / (1 + math.Exp(-x)) }),
		SigmoidBackward: slope(func(x float64) float64 {
			s := 1 / (1 + math.Exp(-x))
			return s * (1 - s)
		}),
		Softplus: entrywise(func(x float64) float64 { return max(x, 0) + math.Log1p(math.Exp(-math.Abs(x))) }),
		Silu:     entrywise(func(x float64) float64 { return x / (1 + math.Exp(-x)) }),
		SiluBackward: slope(func(x float64) float64 {
			s := 1 / (1 + math.Exp(-x))
			return s * (1 + x*(1-s))
		}),
		Swiglu: func(y, x, u []float32) {
			for i, v := range x {
				y[i] = float32(float64(v) / (1 + math.Exp(-float64(v))) * float64(u[i]))
			}
		},
		SwigluBackward: func(dx, du, x, u, dy []float32) {
			for i, v := range x {
				s, v, d := 1/(1+math.Exp(-float64(v))), float64(v), float64(dy[i])
				dx[i], du[i] = float32(d*float64(u[i])*s*(1+v*(1-s))), float32(d*v*s)
			}
		},
		Softmax: softmax, ExpSum: expSum,
		DotRows: func(dot, x, y []float32, cols, stride int) {
			for i := range dot {
				dot[i] = 0
				for j := range cols {
					dot[i] += x[i*stride+j] * y[i*stride+j]
				}
			}
		},
		ScaleRows: func(x, factor []float32, cols, stride int) {
			for i, f := range factor {
				for j := range cols {
					x[i*stride+j] *= f
				}
			}
		},
		LayerNorm: layerNorm, LayerNormBackward: layerNormBackward,
		LayerNormSigma: layerNormSigma, LayerNormSigmaBackward: layerNormSigmaBackward,
		RmsNorm: rmsNorm, RmsNormBackward: rmsNormBackward,
		AdamW: func(w, dw, m, v []float32, c *[9]float32) {
			for i, g := range dw {
				g *= c[0]
				m[i], v[i] = c[1]*m[i]+c[2]*g, c[3]*v[i]+c[4]*g*g
				w[i] = c[5]*w[i] - c[6]*m[i]/(float32(math.Sqrt(float64(v[i])))*c[7]+c[8])
			}
		},
		SumSquares: func(x []float32) (sum float64) {
			for _, v := range x {
				sum += float64(v) * float64(v)
			}
			return sum
		},
		Dropout: func(y, x []float32, key, at, threshold uint64, factor float32) {
			for i, v := range x {
				z := key ^ (at + uint64(i)*0xd1342543de82ef95)
				z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
				z = (z ^ z>>27) * 0x94d049bb133111eb
				if y[i] = v * factor; (z^z>>31)>>11 < threshold {
					y[i] = 0
				}
			}
		},
	}
}

func softmax(x, mask []float32, cols, rows int) {
	for i := range rows {
		row := x[i*cols : (i+1)*cols]
		for j := range row {
			if row[j] += mask[i*cols+j]; math.IsInf(float64(mask[i*cols+j]), -1) {
				row[j] = mask[i*cols+j]
			}
		}
		top, total := expSum(row)
		for j, v := range row {
			row[j] = float32(math.Exp(float64(v)-float64(top)) / total)
			if math.IsInf(float64(v), -1) {
				row[j] = 0
			}
		}
	}
}

func expSum(x []float32) (top float32, total float64) {
	top = float32(math.Inf(-1))
	for _, v := range x {
		top = max(top, v)
	}
	for _, v := range x {
		total += math.Exp(float64(v) - float64(top))
	}
	return top, total
}

func layerNorm(y, x, w, b, mean, inv []float32, share, eps float32) {
	d := len(w)
	for i := range mean {
		var mu, variance float64
		for _, v := range x[i*d : (i+1)*d] {
			mu += float64(v * share)
		}
		for _, v := range x[i*d : (i+1)*d] {
			variance += (float64(v) - mu) * (float64(v) - mu) * float64(share)
		}
		mean[i], inv[i] = float32(mu), float32(1/math.Sqrt(variance+float64(eps)))
		for j := range d {
			if y[i*d+j] = (x[i*d+j] - mean[i]) * inv[i] * w[j]; b != nil {
				y[i*d+j] += b[j]
			}
		}
	}
}

func layerNormBackward(dx, dw, db, x, w, dy, mean, inv []float32, share float32) {
	d := len(w)
	for i := range mean {
		var g, gx float32
		for j := range d {
			hat, delta := (x[i*d+j]-mean[i])*inv[i], dy[i*d+j]
			g, gx = g+delta*w[j]*share, gx+delta*w[j]*hat*share
			dw[j] += delta * hat
			db[j] += delta
		}
		for j := range d {
			if dx != nil {
				dx[i*d+j] = (dy[i*d+j]*w[j] - g - (x[i*d+j]-mean[i])*inv[i]*gx) * inv[i]
			}
		}
	}
}

func layerNormSigma(y, x, w, b, mean, sigma []float32, share, eps float32) {
	d := len(w)
	for i := range mean {
		layerNorm(y[:d], x[i*d:(i+1)*d], w, nil, mean[i:i+1], sigma[i:i+1], share, 0)
		if sigma[i] = 1 / sigma[i]; math.IsInf(float64(sigma[i]), 0) || sigma[i] != sigma[i] {
			sigma[i] = 0
		}
	}
	for i := range mean {
		for j := range d {
			if y[i*d+j] = (x[i*d+j] - mean[i]) / (sigma[i] + eps) * w[j]; b != nil {
				y[i*d+j] += b[j]
			}
		}
	}
}

func layerNormSigmaBackward(dx, dw, db, x, w, dy, mean, sigma []float32, share, eps float32) {
	d := len(w)
	for i := range mean {
		var g, gx float32
		inv := 1 / (sigma[i] + eps)
		for j := range d {
			hat, delta := (x[i*d+j]-mean[i])*inv, dy[i*d+j]
			g, gx = g+delta*w[j]*share, gx+delta*w[j]*hat*share
			dw[j] += delta * hat
			db[j] += delta
		}
		for j := range d {
			dx[i*d+j] = (dy[i*d+j]*w[j] - g - (x[i*d+j]-mean[i])/sigma[i]*gx) * inv
		}
	}
}

func rmsNorm(y, x, w, inv []float32, share, eps float32) {
	d := len(w)
	for i := range inv {
		squares := 0.0
		for _, v := range x[i*d : (i+1)*d] {
			squares += float64(v) * float64(v) * float64(share)
		}
		inv[i] = float32(1 / math.Sqrt(squares+float64(eps)))
		for j := range d {
			y[i*d+j] = x[i*d+j] * inv[i] * w[j]
		}
	}
}

func rmsNormBackward(dx, dw, x, w, dy, inv []float32, share float32) {
	d := len(w)
	for i := range inv {
		var gx float32
		for j := range d {
			hat, delta := x[i*d+j]*inv[i], dy[i*d+j]
			gx += delta * w[j] * hat * share
			dw[j] += delta * hat
		}
		for j := range d {
			dx[i*d+j] = (dy[i*d+j]*w[j] - x[i*d+j]*inv[i]*gx) * inv[i]
		}
	}
}
