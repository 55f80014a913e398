package hand

// Grouped-query attention (Ainslie et al. 2023; G = 1 is Shazeer 2019): the H/G consecutive heads of a group share its
// keys and values. The gradient is derived here. Head h uses k_g and v_g with g = ⌊hG/H⌋, so their gradients are sums
// over the heads of the group,
//
//	∂k_g = Σ_h Δ_raw,hᵗ q_h,   ∂v_g = Σ_h ρ_hᵗ Δ_h

// repeat returns the columns of x repeated so that every head of q has those of its group: (n, G·w) → (n, H·w).
func (l Heads[T]) repeat(q, x Matrix[T]) Matrix[T] {
	if l.Groups == 0 {
		return x
	}
	if err := firstErr(q, x); err != nil {
		return Matrix[T]{Err: err}
	}
	if !shares(q.Cols, l.Count) || !shares(l.Count, l.Groups) || !shares(x.Cols, l.Groups) {
		return failed[T]("(%d, %d) in %d heads, (%d, %d) in %d groups",
			q.Rows, q.Cols, l.Count, x.Rows, x.Cols, l.Groups)
	}
	heads := make([]Matrix[T], l.Count)
	for h := range heads {
		heads[h] = x.part(h*l.Groups/l.Count, l.Groups)
	}
	return JoinColumns(heads...)
}

// sum returns the sums of the columns over the heads of every group: (n, H·w) → (n, G·w).
func (l Heads[T]) sum(x Matrix[T]) Matrix[T] {
	if l.Groups == 0 || x.Err != nil {
		return x
	}
	groups := make([]Matrix[T], l.Groups)
	for h := range l.Count {
		g, own := h*l.Groups/l.Count, x.part(h, l.Count)
		if groups[g].None() {
			groups[g] = own
		} else {
			groups[g] = groups[g].Add(own)
		}
	}
	return JoinColumns(groups...)
}

// keys returns the width of the keys, G·dρ, given the width qk of the queries, H·dρ.
func (l Heads[T]) keys(qk int) int {
	if !shares(l.Count, l.Groups) {
		return qk
	}
	return qk / l.Count * l.Groups
}

// part returns the i-th of the given number of equal parts of the columns.
func (x Matrix[T]) part(i, of int) Matrix[T] {
	w := x.Cols / of
	return x.Columns(i*w, (i+1)*w)
}
