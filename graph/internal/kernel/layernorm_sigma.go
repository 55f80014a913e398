package kernel

import "math"

// LayerNormSigma computes y = (x − μ)/(σ + eps)∘w + b over the rows of x (n, d), with σ the root of the variance; b may be
// nil. It leaves μ and σ of every row in mean and sigma (n) for the backward pass.
func LayerNormSigma[T Float](p *Pool, y, x, w, b, mean, sigma []T, eps float64) {
	a := sigmaNorm[T]{y, x, w, b, mean, sigma, eps}
	if grain := rowGrain(len(w)); len(mean) > grain {
		j := a
		p.run(len(mean), grain, &j)
		return
	}
	a.do(0, len(mean))
}

// sigmaNorm is the arguments of LayerNormSigma.
type sigmaNorm[T Float] struct {
	y, x, w, b, mean, sigma []T
	eps                     float64
}

func (a *sigmaNorm[T]) do(from, to int) {
	d := len(a.w)
	for i := from; i < to; i++ {
		x, y := a.x[i*d:(i+1)*d], a.y[i*d:(i+1)*d]
		var sum, squares float64
		for _, v := range x {
			sum += float64(v)
		}
		mu := sum / float64(d)
		for _, v := range x {
			c := float64(v) - mu
			squares += c * c
		}
		a.mean[i], a.sigma[i] = T(mu), T(math.Sqrt(squares/float64(d)))
		m, inv := a.mean[i], 1/(a.sigma[i]+T(a.eps))
		for j, v := range x {
			y[j] = (v - m) * inv * a.w[j]
		}
		for j, v := range a.b {
			y[j] += v
		}
	}
}

// LayerNormSigmaBackward computes dx = (g − mean(g) − (x − μ)/σ∘mean(g∘x̂))/(σ + eps) with g = dy∘w and
// x̂ = (x − μ)/(σ + eps), dw = Σ dy∘x̂ and db = Σ dy over the tokens. dw and db may each be nil when nobody asks for it. A
// row with σ = 0 makes dx NaN there. scratch is 2·Parts·d long.
func LayerNormSigmaBackward[T Float](p *Pool, dx, dw, db, x, w, dy, mean, sigma, scratch []T, eps float64) {
	d, n := len(w), len(mean)
	clear(scratch)
	dws, dbs := scratch[:Parts*d], scratch[Parts*d:]
	p.For(Parts, func(part int) {
		dwp, dbp := dws[part*d:(part+1)*d], dbs[part*d:(part+1)*d]
		for i := part * n / Parts; i < (part+1)*n/Parts; i++ {
			x, dy, dx := x[i*d:(i+1)*d], dy[i*d:(i+1)*d], dx[i*d:(i+1)*d]
			mu, inv := mean[i], 1/(sigma[i]+T(eps))
			var sum, project float64
			for j, v := range x {
				hat := (v - mu) * inv
				g := dy[j] * w[j]
				sum += float64(g)
				project += float64(g * hat)
				dwp[j] += dy[j] * hat
				dbp[j] += dy[j]
			}
			m, q := T(sum/float64(d)), T(project/float64(d))/sigma[i]
			for j, v := range x {
				dx[j] = (dy[j]*w[j] - m - (v-mu)*q) * inv
			}
		}
	})
	if dw != nil {
		fold(dw, dws)
	}
	if db != nil {
		fold(db, dbs)
	}
}
