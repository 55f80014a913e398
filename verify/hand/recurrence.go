package hand

import "slices"

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

// Backward goes from the last token to the first with the Δ of the state after a token, R, and that of P, C:
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
			lists[4][t] = du.Mul(x.lacking).SumFeatures() // Δβ  (1, 1)
			du = du.Mul(beta.Tokens(t, t+1))              // Δv  (1, dh)
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
		own := r.Mul(x.before).SumFeatures() // α ∘ C ∘ S, summed  (dρ, 1)
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

// matrixRecurrence is a layer whose heads have a matrix as their state. The layers of ln α and β are optional.
//
//	y = (act(x w_g + b_g) ∘ norm(o)) w_proj + b_proj        (B·n, d)
type matrixRecurrence[T Number] struct {
	QKV         Layer[T]      // (d, H(2dρ+dh))
	Decay, Beta Layer[T]      // (d, H) or (d, H·dρ), and (d, H)
	QK          int           // H·dρ
	States      headStates[T] // S of every head
	Norm        Layer[T]      // of the features of a head
	Gate, Act   Layer[T]      // (d, H·dh)
	Proj        Layer[T]      // (H·dh, d)
	Drop        Dropout[T]
}

// optionalForward returns the result of the layer, or the zero Matrix without one.
func optionalForward[T Number](name string, l Layer[T], x Matrix[T]) Matrix[T] {
	if l == nil {
		return Matrix[T]{}
	}
	return forward(name, l, x)
}

// operands returns q, k, v, ln α and β.
func (l matrixRecurrence[T]) operands(x Matrix[T]) (q, k, v, g, beta Matrix[T]) {
	q, k, v = splitPacked(forward("c_attn", l.QKV, x), l.QK, l.QK)
	return q, k, v, optionalForward("c_decay", l.Decay, x), optionalForward("c_beta", l.Beta, x)
}

// split returns a row for every head of every token.
func (l matrixRecurrence[T]) split(x Matrix[T]) Matrix[T] {
	switch x = x.sound(); {
	case x.Err != nil:
		return x
	case !shares(x.Cols, l.States.Heads):
		return failed[T]("(%d, %d) in %d heads", x.Rows, x.Cols, l.States.Heads)
	}
	return x.reshaped(x.Rows*l.States.Heads, x.Cols/l.States.Heads)
}

// Forward applies the heads between the projections.
func (l matrixRecurrence[T]) Forward(x Matrix[T]) Matrix[T] {
	o := l.States.read(l.operands(x))
	normed := forward("norm", l.Norm, l.split(o)).reshaped(o.Rows, o.Cols)
	gate := forward("act", l.Act, forward("c_gate", l.Gate, x))
	return l.Drop.Forward(forward("c_proj", l.Proj, gate.Mul(normed)))
}

// Backward carries Δ through the product with the gate, the norm of every head and the recurrence to the projections.
func (l matrixRecurrence[T]) Backward(x, delta Matrix[T]) (dx Matrix[T], g Gradients[T]) {
	q, k, v, decay, beta := l.operands(x)
	o := l.States.read(q, k, v, decay, beta)
	normed := forward("norm", l.Norm, l.split(o)).reshaped(o.Rows, o.Cols)
	raw := forward("c_gate", l.Gate, x)
	gate := forward("act", l.Act, raw)
	heads := gate.Mul(normed)

	d, _ := l.Drop.Backward(heads, delta)
	dheads, proj := backward("c_proj", l.Proj, heads, d)
	draw, _ := backward("act", l.Act, raw, dheads.Mul(normed))
	dx, gates := backward("c_gate", l.Gate, x, draw)
	dnorm, norm := backward("norm", l.Norm, l.split(o), l.split(dheads.Mul(gate)))
	grads := l.States.back(q, k, v, decay, beta, dnorm.reshaped(o.Rows, o.Cols))

	more, qkv := backward("c_attn", l.QKV, x, JoinColumns(grads[0], grads[1], grads[2]))
	dx = dx.Add(more)
	own := Gradients[T]{}
	rest := grads[3:]
	for _, part := range []struct {
		name, symbol string
		layer        Layer[T]
	}{{"c_decay", "_α", l.Decay}, {"c_beta", "_β", l.Beta}} {
		if part.layer == nil || len(rest) == 0 {
			continue
		}
		more, g := backward(part.name, part.layer, x, rest[0])
		dx, rest = dx.Add(more), rest[1:]
		own = append(own, g.In(part.name, part.symbol)...)
	}
	return dx, slices.Concat(
		qkv.In("c_attn", ""), own, norm.In("norm", ""), gates.In("c_gate", "_g"),
		deltaAt("heads", "Δ₃ = Δ₅ w₃ᵗ", dheads),
		proj.by("a₃ᵗΔ₅", "ΣΔ₅").In("c_proj", "₃"),
		deltaAt("c_proj", "Δ₅, dispatched to a₄", d),
	)
}
