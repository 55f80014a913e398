package kernel

// Exclusion is the kernel of exclusive self-attention, for results y and values v (n, H·d) of Heads heads:
//
//	z = y − λ∘s∘v,  s = y·v/w,  w = ‖v‖² + ε,  in every head
//
// Lambda holds λ (H); nil is 1. Scratch is for 3·Parts·H numbers.
type Exclusion[T Float] struct {
	Y, V, Lambda []T
	Heads, Width int // H and d
	Eps          float64
	Scratch      []T
}

// heads returns the rows of one task of Parts, and the scratch for one token of it: three numbers of every head.
func (e *Exclusion[T]) heads(part int) (from, to int, s, w, a []T) {
	n, h := len(e.Y)/(e.Heads*e.Width), e.Heads
	own := e.Scratch[part*3*h:][:3*h]
	return part * n / Parts, (part + 1) * n / Parts, own[:h], own[h : 2*h], own[2*h:]
}

// lambda returns λ of a head.
func (e *Exclusion[T]) lambda(h int) T {
	if e.Lambda == nil {
		return 1
	}
	return e.Lambda[h]
}

// Exclude computes z.
func Exclude[T Float](p *Pool, z []T, e Exclusion[T]) { Spread(p, Parts, 1, exclude[T]{e, z}) }

type exclude[T Float] struct {
	Exclusion[T]
	z []T
}

func (e *exclude[T]) Do(part, _ int) {
	from, to, s, w, _ := e.heads(part)
	for d := e.Heads * e.Width; from < to; from++ {
		y, v, z := e.Y[from*d:][:d], e.V[from*d:][:d], e.z[from*d:][:d]
		e.shares(s, w, y, v)
		for h := range s {
			s[h] *= -e.lambda(h)
		}
		copy(z, y)
		MulAddRows(z, v, s, e.Width, e.Width)
	}
}

// shares computes s and w of a token.
func (e *Exclusion[T]) shares(s, w, y, v []T) {
	DotRows(s, y, v, e.Width, e.Width)
	DotRows(w, v, v, e.Width, e.Width)
	for h := range s {
		w[h] += T(e.Eps)
		s[h] /= w[h]
	}
}

// ExcludeBackward computes dy, dv and dλ from dz, the last two unless they are nil. With a = dz·v/w,
//
//	dy = dz − λ∘a∘v,  dv = −λ∘(s∘dz + a∘y − 2·a∘s∘v),  dλ = −Σ s∘a∘w
//
// sums is for Parts·H numbers.
func ExcludeBackward[T Float](p *Pool, dy, dv, dlambda, dz, sums []T, e Exclusion[T]) {
	Spread(p, Parts, 1, excludeBackward[T]{e, dy, dv, dz, sums})
	if len(dlambda) > 0 {
		fold(p, dlambda, sums)
	}
}

type excludeBackward[T Float] struct {
	Exclusion[T]
	dy, dv, dz, sums []T
}

func (e *excludeBackward[T]) Do(part, _ int) {
	from, to, s, w, a := e.heads(part)
	sums := e.sums[part*e.Heads:][:e.Heads]
	clear(sums)
	for d := e.Heads * e.Width; from < to; from++ {
		y, v, dz := e.Y[from*d:][:d], e.V[from*d:][:d], e.dz[from*d:][:d]
		dy := e.dy[from*d:][:d]
		e.shares(s, w, y, v)
		DotRows(a, dz, v, e.Width, e.Width)
		for h := range a {
			sums[h] -= T(s[h] * a[h])
			a[h] *= -e.lambda(h) / w[h]
			w[h] = -2 * a[h] * s[h]
			s[h] *= -e.lambda(h)
		}
		copy(dy, dz)
		MulAddRows(dy, v, a, e.Width, e.Width)
		if len(e.dv) == 0 { // v is a constant
			continue
		}
		dv := e.dv[from*d:][:d]
		clear(dv)
		MulAddRows(dv, dz, s, e.Width, e.Width)
		MulAddRows(dv, y, a, e.Width, e.Width)
		MulAddRows(dv, v, w, e.Width, e.Width)
	}
}
