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

// sinks returns the gradients of the heads' sinks (1, H), sums over the sequences, or the zero Matrix without sinks.
func (l Heads[T]) sinks(q, k, v, delta Matrix[T]) Matrix[T] {
	if a, ok := l.head(0, 0).(Attention[T]); !ok || a.Sink.None() {
		return Matrix[T]{}
	}
	k, v = l.repeat(q, k), l.repeat(q, v)
	return perHead(l.Batch, l.Count, func(b, h int, x []Matrix[T]) []Matrix[T] {
		a, ok := l.head(b, h).(Attention[T])
		if !ok {
			return []Matrix[T]{failed[T]("head %d has no sink, head 0 has one", h)}
		}
		return []Matrix[T]{a.SinkGradient(x[0], x[1], x[2], x[3])}
	}, q, k, v, delta)[0].SumTokens()
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
			results[i] = append(results[i], JoinColumns(p...))
		}
	}
	out := make([]Matrix[T], len(results))
	for i, r := range results {
		out[i] = JoinTokens(r...)
	}
	return out
}

// splitPacked returns the parts of [q | k | v], where q has wq columns and k has wk.
func splitPacked[T Number](qkv Matrix[T], wq, wk int) (q, k, v Matrix[T]) {
	return qkv.Columns(0, wq), qkv.Columns(wq, wq+wk), qkv.Columns(wq+wk, qkv.Cols)
}

// packedGradients returns the gradients of a projection to [q | k | v], one for each part, with the paper's name of a
// head's own parameter. zero reports whether the keys' bias cancels, as it does in a softmax over keys that do not
// rotate.
func packedGradients[T Number](g Gradients[T], wq, wk int, kind string, zero bool) (out Gradients[T]) {
	equations := map[string][3]string{"weight": {"(31.a)", "(31.b)", "(23)"}, "bias": {"(32.a)", "(29)", "(24)"}}
	for _, e := range g {
		equation, ok := equations[e.Name]
		if !ok { // an adapter's
			out = append(out, e)
			continue
		}
		q, k, v := splitPacked(e.Value, wq, wk)
		for i, value := range []Matrix[T]{q, k, v} {
			part := []string{"q", "k", "v"}[i]
			own := Gradient[T]{
				Name: e.Name, Part: part, Symbol: e.Symbol + "_" + part + kind, Value: value,
				Zero: zero && part == "k" && e.Name == "bias",
			}
			if kind == "" {
				own.Equation = equation[i]
				if wk < wq && i > 0 {
					own.Equation = "Σ_h " + own.Equation
				}
			}
			out = append(out, own)
		}
	}
	return out
}
