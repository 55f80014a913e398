package hand

import "slices"

// Heads applies every head to every sequence and puts their outputs side by side (34).
type Heads[T Number] struct {
	Batch, Count int                    // B, H
	Groups       int                    // G, groups of heads that share keys and values; 0 means H
	Head         func(b, h int) Head[T] // head h of sequence b
}

// Forward takes queries (B·n, H·dρ), keys (B·m, G·dρ) and values (B·m, G·dh), each of them [head 1 | … | head H].
func (l Heads[T]) Forward(q, k, v Matrix[T]) Matrix[T] { // (B·n, H·dh)
	k, v = l.repeat(q, k), l.repeat(q, v)
	return perHead(l.Batch, l.Count, func(b, h int, x []Matrix[T]) []Matrix[T] {
		return []Matrix[T]{l.head(b, h).Forward(x[0], x[1], x[2])}
	}, q, k, v)[0]
}

// Backward passes each head its columns of Δ and packs the results like the inputs of Forward. The sum over heads of
// (35) is the linear layer's Δ wᵗ, whose columns are the heads.
func (l Heads[T]) Backward(q, k, v, delta Matrix[T]) (dq, dk, dv Matrix[T]) {
	k, v = l.repeat(q, k), l.repeat(q, v)
	d := perHead(l.Batch, l.Count, func(b, h int, x []Matrix[T]) []Matrix[T] {
		dq, dk, dv := l.head(b, h).Backward(x[0], x[1], x[2], x[3])
		return []Matrix[T]{dq, dk, dv}
	}, q, k, v, delta)
	return d[0], l.sum(d[1]), l.sum(d[2])
}

// sinks returns the gradients of the heads' sinks (1, H), sums over the sequences, or none without sinks.
func (l Heads[T]) sinks(q, k, v, delta Matrix[T]) Gradients[T] {
	if a, ok := l.head(0, 0).(Attention[T]); !ok || a.Sink.None() {
		return nil
	}
	k, v = l.repeat(q, k), l.repeat(q, v)
	sums := perHead(l.Batch, l.Count, func(b, h int, x []Matrix[T]) []Matrix[T] {
		a, ok := l.head(b, h).(Attention[T])
		if !ok {
			return []Matrix[T]{failed[T]("head %d has no sink, head 0 has one", h)}
		}
		return []Matrix[T]{a.SinkGradient(x[0], x[1], x[2], x[3])}
	}, q, k, v, delta)[0].SumTokens()
	return Gradients[T]{{Name: "sinks", Symbol: "b", Equation: "−Σ ρ₀ D", Value: sums}}
}

// perHead calls f with the rows of sequence b and the columns of head h of every matrix, and joins the results: heads
// side by side, sequences below one another. If a matrix cannot be divided, f gets one head with the error.
func perHead[T Number](batch, heads int, f func(b, h int, x []Matrix[T]) []Matrix[T], xs ...Matrix[T]) []Matrix[T] {
	err := firstErr(xs...)
	for _, x := range xs {
		if err == nil && !(shares(x.Rows, batch) && shares(x.Cols, heads)) {
			err = failed[T]("(%d, %d) for %d sequences and %d heads", x.Rows, x.Cols, batch, heads).Err
		}
	}
	if err != nil {
		batch, heads, xs = 1, 1, slices.Repeat([]Matrix[T]{{Err: err}}, len(xs))
	}
	var results [][]Matrix[T] // the sequences of every result
	for b := range batch {
		var parts [][]Matrix[T] // the heads of every result
		for h := range heads {
			own := make([]Matrix[T], len(xs))
			for i, x := range xs {
				n, width := x.Rows/batch, x.Cols/heads
				own[i] = x.Tokens(b*n, (b+1)*n).Columns(h*width, (h+1)*width)
			}
			for i, y := range f(b, h, own) {
				if h == 0 {
					parts = append(parts, nil)
				}
				parts[i] = append(parts[i], y)
			}
		}
		for i, p := range parts {
			if b == 0 {
				results = append(results, nil)
			}
			results[i] = append(results[i], Join(p...))
		}
	}
	out := make([]Matrix[T], len(results))
	for i, r := range results {
		out[i] = JoinTokens(r...)
	}
	return out
}

// Grouped-query attention (Ainslie et al. 2023; G = 1 is Shazeer 2019): the H/G consecutive heads of a group share its
// keys and values. The gradient is derived here. Head h uses k_g and v_g with g = ⌊hG/H⌋, so their gradients are sums
// over the heads of the group,
//
//	∂k_g = Σ_h Δ_raw,hᵗ q_h,   ∂v_g = Σ_h ρ_hᵗ Δ_h

// repeat returns the columns of x repeated so that every head of q has the columns of its group: (n, G·w) → (n, H·w).
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
	return Join(heads...)
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
	return Join(groups...)
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

// splitPacked returns the parts of [q | k | v], where q has wq columns and k has wk.
func splitPacked[T Number](qkv Matrix[T], wq, wk int) (q, k, v Matrix[T]) {
	return qkv.Columns(0, wq), qkv.Columns(wq, wq+wk), qkv.Columns(wq+wk, qkv.Cols)
}

// PackedQKV is the projection to [q | k | v]. Its gradients are listed for each of the three parts, with the paper's
// names of a head's parameters.
type PackedQKV[T Number] struct {
	Layer         Layer[T] // (d, H·dρ+G(dρ+dh))
	Queries, Keys int      // columns of q and of k
	Symbol        string   // added to the symbols
	Cancels       bool     // the keys' bias does, as in a softmax over keys that no link changes
}

// Forward returns [q | k | v].
func (l PackedQKV[T]) Forward(x Matrix[T]) Matrix[T] {
	y := forward("packed", l.Layer, x)
	if y.Err == nil && (l.Queries < 1 || l.Keys < 1 || l.Keys >= y.Cols-l.Queries) {
		return failed[T]("[q | k | v] of %d, %d and more columns in %d", l.Queries, l.Keys, y.Cols)
	}
	return y
}

// Backward returns Δ at x and the gradients of the parts.
func (l PackedQKV[T]) Backward(x, delta Matrix[T]) (dx Matrix[T], parts Gradients[T]) {
	if y := l.Forward(x); y.Err != nil {
		return y, nil
	}
	dx, g := backward("packed", l.Layer, x, delta)
	equations := map[string][3]string{"weight": {"(31.a)", "(31.b)", "(23)"}, "bias": {"(32.a)", "(29)", "(24)"}}
	for _, e := range g {
		equation, ok := equations[e.Name]
		if !ok { // an adapter's
			parts = append(parts, e)
			continue
		}
		q, k, v := splitPacked(e.Value, l.Queries, l.Keys)
		for i, value := range []Matrix[T]{q, k, v} {
			part := []string{"q", "k", "v"}[i]
			p := Gradient[T]{
				Name: e.Name, Part: part, Symbol: e.Symbol + "_" + part + l.Symbol, Value: value,
				Zero: l.Cancels && part == "k" && e.Name == "bias",
			}
			if l.Symbol == "" {
				p.Equation = equation[i]
				if l.Keys < l.Queries && i > 0 {
					p.Equation = "Σ_h " + p.Equation
				}
			}
			parts = append(parts, p)
		}
	}
	return dx, parts
}
