package kernel

import "math"

// rowGrain is the number of rows of d entries in a chunk of a loop over tokens.
func rowGrain(d int) int { return max(1, grain/d) }

// LayerNorm computes y = (x − μ)/σ∘w + b over the rows of x (n, d), with σ = √(variance + eps); b may be nil. It leaves
// μ and 1/σ of every row in mean and inv (n) for the backward pass.
func LayerNorm[T Float](p *Pool, y, x, w, b, mean, inv []T, eps float64) {
	d := len(w)
	if b != nil {
		b = b[:d]
	}
	a := normalising[T]{y, x, w, b, mean, inv, eps}
	if len(inv) <= rowGrain(d) {
		a.do(0, len(inv))
		return
	}
	jobs := spareOf[normalising[T]](&p.norm32, &p.norm64)
	j := jobs.take()
	*j = a
	p.run(len(inv), rowGrain(d), j)
	*j = normalising[T]{}
	jobs.give(j)
}

// normalising is the arguments of LayerNorm.
type normalising[T Float] struct {
	y, x, w, b, mean, inv []T
	eps                   float64
}

func (a *normalising[T]) do(from, to int) {
	d, mean, inv := len(a.w), a.mean[from:to], a.inv[from:to]
	if fast := vectorsOf[T](); fast != nil {
		fast.layerNorm(single(a.y[from*d:to*d]), single(a.x[from*d:to*d]), single(a.w), single(a.b), single(mean), single(inv), 1/float32(d), float32(a.eps))
		return
	}
	for i := range inv {
		x, y := a.x[(from+i)*d:(from+i+1)*d], a.y[(from+i)*d:(from+i+1)*d]
		var sum, squares float64
		for _, v := range x {
			sum += float64(v)
		}
		mu := sum / float64(d)
		for _, v := range x {
			c := float64(v) - mu
			squares += c * c
		}
		mean[i], inv[i] = T(mu), T(1/math.Sqrt(squares/float64(d)+a.eps))
		mu, s := float64(mean[i]), inv[i]
		for j, v := range x {
			y[j] = (v - T(mu)) * s * a.w[j]
		}
		for j, v := range a.b {
			y[j] += v
		}
	}
}

// LayerNormBackward computes dx = (g − mean(g) − x̂∘mean(g∘x̂))/σ with g = dy∘w, dw = Σ dy∘x̂ and db = Σ dy over the
// tokens. dx, dw and db may each be nil when nobody asks for it. scratch is 2·Parts·d long.
func LayerNormBackward[T Float](p *Pool, dx, dw, db, x, w, dy, mean, inv, scratch []T) {
	d := len(w)
	n := len(inv)
	clear(scratch)
	dws, dbs := scratch[:Parts*d], scratch[Parts*d:]
	p.For(Parts, func(part int) {
		dwp, dbp := dws[part*d:(part+1)*d], dbs[part*d:(part+1)*d]
		from, to := part*n/Parts, (part+1)*n/Parts
		if fast := vectorsOf[T](); fast != nil {
			var out []T
			if dx != nil {
				out = dx[from*d : to*d]
			}
			fast.layerNormBackward(single(out), single(dwp), single(dbp), single(x[from*d:to*d]), single(w), single(dy[from*d:to*d]), single(mean[from:to]), single(inv[from:to]), 1/float32(d))
			return
		}
		for i := from; i < to; i++ {
			x, dy := x[i*d:(i+1)*d], dy[i*d:(i+1)*d]
			mu, s := mean[i], inv[i]
			var sum, project float64
			for j, v := range x {
				hat := (v - mu) * s
				g := dy[j] * w[j]
				sum += float64(g)
				project += float64(g * hat)
				dwp[j] += dy[j] * hat
				dbp[j] += dy[j]
			}
			if dx == nil {
				continue
			}
			m, q := T(sum/float64(d)), T(project/float64(d))
			dx := dx[i*d : (i+1)*d]
			for j, v := range x {
				dx[j] = (dy[j]*w[j] - m - (v-mu)*s*q) * s
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
