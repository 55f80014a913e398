package hand

// Unprojected is attention of tokens to themselves or to other tokens Z. The tokens themselves serve as queries, keys
// and values.
//
//	softmax(x zᵗ/√d + M) z      (n, d), (m, d) → (n, d)      Xu (4)–(6)
//
// Conti prints it for z ≠ x under the name of cross-attention (erratum C14).
type Unprojected[T Number] struct {
	Z     Matrix[T] // optional; x itself if absent
	Heads Heads[T]
}

func (l Unprojected[T]) keys(x Matrix[T]) Matrix[T] {
	if l.Z.None() {
		return x
	}
	return l.Z
}

// Forward computes attention of x to z.
func (l Unprojected[T]) Forward(x Matrix[T]) Matrix[T] {
	z := l.keys(x)
	return l.Heads.Forward(x, z, z)
}

// Backward returns the Δ of the queries. The Δ of z, which is both key and value, is the sum of both. If z = x, all
// three are added.
func (l Unprojected[T]) Backward(x, delta Matrix[T]) (dx Matrix[T], g Gradients[T]) {
	z := l.keys(x)
	dq, dk, dv := l.Heads.Backward(x, z, z, delta)
	dz := dk.Add(dv)
	if l.Z.None() {
		return dq.Add(dz), nil
	}
	return dq, deltaAt(MemoryDelta, "Δk + Δv", dz)
}
