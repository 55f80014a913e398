package kernel

// strip is the number of entries of a gate that are computed at once, so that all operands stay in the first cache.
const strip = 1024

// Gated computes y = f(x)∘u: u after the gate f(x). f computes one activation of at most strip entries.
func Gated[T Float](p *Pool, f func(p *Pool, y, x []T), y, x, u []T) {
	Spread(p, len(x), grain, gated[T]{p, f, y, x, u})
}

type gated[T Float] struct {
	p       *Pool
	f       func(p *Pool, y, x []T)
	y, x, u []T
}

func (a *gated[T]) Do(from, to int) {
	for i := from; i < to; i += strip {
		j := min(i+strip, to)
		a.f(a.p, a.y[i:j], a.x[i:j])
		Mul(a.y[i:j], a.y[i:j], a.u[i:j])
	}
}

// GatedBackward computes dx = dy∘u∘f'(x) and du = dy∘f(x). back computes dx = dy∘f'(x), where dx may be dy.
func GatedBackward[T Float](
	p *Pool, f func(p *Pool, y, x []T), back func(p *Pool, dx, x, dy []T), dx, du, x, u, dy []T,
) {
	Spread(p, len(x), grain, gatedBackward[T]{p, f, back, dx, du, x, u, dy})
}

type gatedBackward[T Float] struct {
	p                *Pool
	f                func(p *Pool, y, x []T)
	back             func(p *Pool, dx, x, dy []T)
	dx, du, x, u, dy []T
}

func (a *gatedBackward[T]) Do(from, to int) {
	for i := from; i < to; i += strip {
		j := min(i+strip, to)
		dx, du, x, dy := a.dx[i:j], a.du[i:j], a.x[i:j], a.dy[i:j]
		a.f(a.p, du, x)
		Mul(du, du, dy)
		Mul(dx, dy, a.u[i:j])
		a.back(a.p, dx, x, dx)
	}
}
