package hand

// stateScan is one head of a recurrence whose state S (dρ, dh) decays by α, is written by keys and values, and is read
// by queries, token by token. ln α is one number or a row of dρ numbers for every token, and β one number; both are
// optional. By the delta rule, what the state holds at k is replaced:
//
//	P = αᵗ ∘ S    u = β(v − k P), or β v    S ← P + kᵗ u    o = q S
type stateScan[T Number] struct {
	Delta  bool
	Before Matrix[T] // S before the first token, a constant; zeros if it is the zero Matrix  (dρ, dh)
}

// tokenState is the state around one token.
type tokenState[T Number] struct {
	before, decayed, after Matrix[T] // S, P and S after it  (dρ, dh)
	lacking, u             Matrix[T] // u/β, u               (1, dh)
}

// scan returns the states around all tokens.
func (l stateScan[T]) scan(k, v, g, beta Matrix[T]) []tokenState[T] {
	list := make([]tokenState[T], v.Rows)
	s := l.Before
	if s.None() {
		s = Zeros[T](k.Cols, v.Cols)
	}
	for t := range list {
		k, x := k.Tokens(t, t+1), tokenState[T]{before: s, decayed: s, lacking: v.Tokens(t, t+1)}
		if !g.None() {
			x.decayed = s.Mul(alpha(g, t))
		}
		if l.Delta {
			x.lacking = x.lacking.Sub(k.MatMul(x.decayed))
		}
		if x.u = x.lacking; !beta.None() {
			x.u = x.lacking.Mul(beta.Tokens(t, t+1))
		}
		x.after = x.decayed.Add(k.Transpose().MatMul(x.u))
		s, list[t] = x.after, x
	}
	return list
}

// alpha returns α of a token as a column, for the rows of the state.
func alpha[T Number](g Matrix[T], t int) Matrix[T] { return g.Tokens(t, t+1).Exp().Transpose() }

// Forward returns the rows q S.
func (l stateScan[T]) Forward(q, k, v, g, beta Matrix[T]) Matrix[T] {
	if err := firstErr(q, k, v, g, beta); err != nil {
		return Matrix[T]{Err: err}
	}
	states := l.scan(k, v, g, beta)
	rows := make([]Matrix[T], len(states))
	for t, x := range states {
		rows[t] = q.Tokens(t, t+1).MatMul(x.after)
	}
	return JoinTokens(rows...)
}

// Backward goes from the last token to the first with the Δ of the state after a token, R, and the Δ of P, C:
//
//	R ← R + qᵗ Δ      Δq = Δ Sᵗ
//	Δu = k R          Δk = u Rᵗ
//	Δβ = Δu·(u/β)     Δv = β Δu
//	C = R − kᵗ Δv     Δk ← Δk − Δv Pᵗ    by the delta rule, otherwise C = R
//	Δ(ln α) = α ∘ (C ∘ S before the token), summed over dh
//	R ← αᵗ ∘ C
//
// Nothing is divided by a gate or by β.
func (l stateScan[T]) Backward(q, k, v, g, beta, delta Matrix[T]) (dq, dk, dv, dg, dbeta Matrix[T]) {
	if err := firstErr(q, k, v, g, beta, delta); err != nil {
		none := Matrix[T]{Err: err}
		return none, none, none, none, none
	}
	states := l.scan(k, v, g, beta)
	n := len(states)
	var lists [5][]Matrix[T]
	for i := range lists {
		lists[i] = make([]Matrix[T], n)
	}
	r := Zeros[T](k.Cols, v.Cols)
	for t := n - 1; t >= 0; t-- {
		x, q, k, d := states[t], q.Tokens(t, t+1), k.Tokens(t, t+1), delta.Tokens(t, t+1)
		r = r.Add(q.Transpose().MatMul(d))
		du := k.MatMul(r)               // Δu          (1, dh)
		dk := x.u.MatMul(r.Transpose()) // u Rᵗ        (1, dρ)
		if !beta.None() {
			lists[4][t] = du.Mul(x.lacking).Sum() // Δβ  (1, 1)
			du = du.Mul(beta.Tokens(t, t+1))      // Δv  (1, dh)
		}
		if l.Delta {
			dk = dk.Sub(du.MatMul(x.decayed.Transpose()))
			r = r.Sub(k.Transpose().MatMul(du)) // C  (dρ, dh)
		}
		lists[0][t], lists[1][t], lists[2][t] = d.MatMul(x.after.Transpose()), dk, du
		if g.None() {
			continue
		}
		a := alpha(g, t)
		r = r.Mul(a)
		own := r.Mul(x.before).Sum() // α ∘ C ∘ S, summed  (dρ, 1)
		if lists[3][t] = own.Transpose(); g.Cols == 1 {
			lists[3][t] = own.SumTokens()
		}
	}
	join := func(list []Matrix[T]) Matrix[T] { return JoinTokens(list...) }
	dq, dk, dv = join(lists[0]), join(lists[1]), join(lists[2])
	if !g.None() {
		dg = join(lists[3])
	}
	if !beta.None() {
		dbeta = join(lists[4])
	}
	return dq, dk, dv, dg, dbeta
}

// headStates is the states of all heads of all sequences, whose rows and columns are packed as in Heads. ln α and β are
// optional: absent ones are the zero Matrix.
type headStates[T Number] struct {
	Delta        bool // the delta rule
	Batch, Heads int
	Before       Matrix[T] // the states before the first token, constants; optional  (B, H·dρ·dh)
}

// perState calls f for every head with its scan and its q, k, v, ln α, β and Δ.
func (l headStates[T]) perState(
	f func(scan stateScan[T], x [6]Matrix[T]) []Matrix[T], operands [6]Matrix[T],
) []Matrix[T] {
	var all [7]Matrix[T]
	copy(all[:], operands[:])
	all[6] = l.Before
	var given []Matrix[T]
	for i, m := range all {
		if i < 3 || !m.None() {
			given = append(given, m)
		}
	}
	return perHead(l.Batch, l.Heads, func(_, _ int, x []Matrix[T]) []Matrix[T] {
		var own [7]Matrix[T]
		for i, m := range all {
			if i < 3 || !m.None() {
				own[i], x = x[0], x[1:]
			}
		}
		scan := stateScan[T]{Delta: l.Delta}
		if s := own[6]; !s.None() {
			scan.Before = s.reshaped(own[1].Cols, own[2].Cols)
		}
		return f(scan, [6]Matrix[T](own[:6]))
	}, given...)
}

// read returns o, the results of the heads.
func (l headStates[T]) read(q, k, v, g, beta Matrix[T]) Matrix[T] { // (B·n, H·dh)
	return l.perState(func(scan stateScan[T], x [6]Matrix[T]) []Matrix[T] {
		return []Matrix[T]{scan.Forward(x[0], x[1], x[2], x[3], x[4])}
	}, [6]Matrix[T]{q, k, v, g, beta})[0]
}

// back returns the gradients of q, k, v, and of ln α and β if they are given, for Δ at o.
func (l headStates[T]) back(q, k, v, g, beta, delta Matrix[T]) []Matrix[T] {
	return l.perState(func(scan stateScan[T], x [6]Matrix[T]) []Matrix[T] {
		dq, dk, dv, dg, db := scan.Backward(x[0], x[1], x[2], x[3], x[4], x[5])
		out := []Matrix[T]{dq, dk, dv}
		for i, d := range []Matrix[T]{dg, db} {
			if !x[3+i].None() {
				out = append(out, d)
			}
		}
		return out
	}, [6]Matrix[T]{q, k, v, g, beta, delta})
}

// states is the link of the heads: o from q, k and v, and from g = ln α and b = β where a link has written them.
//
//	y = o        (B·n, H·dh)
type states[T Number] struct{ headStates[T] }

// Forward returns o.
func (l states[T]) Forward(v Values[T]) (written Values[T]) {
	return Values[T]{"y": l.read(v.at("q"), v.at("k"), v.at("v"), v["g"], v["b"])}
}

// Backward returns Δ at what Forward reads.
func (l states[T]) Backward(v, delta Values[T]) (read Values[T], g Gradients[T]) {
	d := l.back(v.at("q"), v.at("k"), v.at("v"), v["g"], v["b"], delta["y"])
	read = Values[T]{"q": d[0], "k": d[1], "v": d[2]}
	for _, name := range []string{"g", "b"} {
		if _, ok := v[name]; ok {
			read[name], d = d[3], d[1:]
		}
	}
	return read, nil
}

// ofHeads applies a layer to the features of every head.
type ofHeads[T Number] struct {
	layer Layer[T]
	heads int
}

// split returns a row for every head of every token.
func (l ofHeads[T]) split(x Matrix[T]) Matrix[T] {
	switch x = x.sound(); {
	case x.Err != nil:
		return x
	case !shares(x.Cols, l.heads):
		return failed[T]("(%d, %d) in %d heads", x.Rows, x.Cols, l.heads)
	}
	return x.reshaped(x.Rows*l.heads, x.Cols/l.heads)
}

// Forward returns the layer of every head.
func (l ofHeads[T]) Forward(x Matrix[T]) Matrix[T] {
	return l.layer.Forward(l.split(x)).reshaped(x.Rows, x.Cols)
}

// Backward passes Δ of every head through the layer.
func (l ofHeads[T]) Backward(x, delta Matrix[T]) (dx Matrix[T], g Gradients[T]) {
	dx, g = l.layer.Backward(l.split(x), l.split(delta))
	return dx.reshaped(x.Rows, x.Cols), g
}
