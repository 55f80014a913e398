package hand

// Cache holds the keys (t, dρ) and values (t, dh) of a head for the t tokens so far.
type Cache[T Number] struct{ K, V Matrix[T] }

// Attend attends from one more token with the query q (1, dρ), key k (1, dρ) and value v (1, dh). It returns the output
// (1, dh) and the cache with this token.
//
//	a = softmax(q [K; k]ᵗ/√dρ) [V; v]
//
// This is row t of Attention under a causal mask: the rows above do not change, so no query is kept. R. Xu (33)–(36)
// and L. Boué, section 3.2, print it without the scale (errata X11, B7).
func (c Cache[T]) Attend(q, k, v Matrix[T]) (a Matrix[T], next Cache[T]) {
	next = Cache[T]{K: k, V: v}
	if !c.K.None() || !c.V.None() {
		next = Cache[T]{K: JoinTokens(c.K, k), V: JoinTokens(c.V, v)}
	}
	return Attention[T]{}.Forward(q, next.K, next.V), next
}
