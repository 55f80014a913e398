package hand

import "slices"

// HyperConnection returns the connection of a sublayer to s parallel residual streams (Zhu et al. 2024; Xie et al.
// 2025, (7)–(9)), which are side by side in x. Its parameters are at.weight, at.alpha and at.bias.
//
//	h = Σ_j pre_j x_j,  x_i ← Σ_j res_ij x_j + post_i y       (n, d) of each stream
func (at Site[T]) HyperConnection(s int) Connection[T] {
	return Connection[T]{
		Read: Chain[T]{
			hyperMaps[T]{at.Param("weight"), at.Param("alpha"), at.Param("bias"), s, at.Eps}, hyperRead[T]{s},
		},
		Write: Chain[T]{hyperWrite[T]{s}},
	}
}

// HyperStream returns the Stream of s parallel streams, which begin as copies of the embeddings and end in their mean.
func HyperStream[T Number](s int) Stream[T] {
	return Stream[T]{
		Expand: Chain[T]{Apply[T]{From: "x", To: "x", Layer: copies[T]{s}}},
		Reduce: Chain[T]{Apply[T]{From: "x", To: "x", Layer: meanOf[T]{s}}},
	}
}

// copies places s copies of x side by side.
type copies[T Number] struct{ s int }

// Forward returns the copies.
func (l copies[T]) Forward(x Matrix[T]) Matrix[T] {
	return Join(slices.Repeat([]Matrix[T]{x}, l.s)...)
}

// Backward returns the sum of Δ over the copies.
func (l copies[T]) Backward(_, delta Matrix[T]) (dx Matrix[T], g Gradients[T]) {
	return meanOf[T](l).Forward(delta).Scale(float64(l.s)), nil
}

// meanOf is the mean of s matrices that are side by side.
type meanOf[T Number] struct{ s int }

// Forward returns the mean.
func (l meanOf[T]) Forward(x Matrix[T]) (mean Matrix[T]) {
	for i := range l.s {
		mean = sumOf(mean, x.part(i, l.s).Scale(1/float64(l.s)))
	}
	return mean
}

// Backward returns Δ/s for every matrix.
func (l meanOf[T]) Backward(_, delta Matrix[T]) (dx Matrix[T], g Gradients[T]) {
	return copies[T](l).Forward(delta.Scale(1 / float64(l.s))), nil
}

// hyperMaps is the link that computes the weights of the streams from x:
//
//	[z₁ | z₂ | z₃] = x̂ w,  x̂ = x/√(mean(x²) + ε)
//	pre = σ(α₁ z₁ + b₁),  post = 2σ(α₂ z₂ + b₂),  res = Sinkhorn(α₃ z₃ + b₃)       (n, s), (n, s), (n, s²)
type hyperMaps[T Number] struct {
	weight, alpha, bias Matrix[T] // (s·d, 2s+s²), (1, 3), (1, 2s+s²)
	s                   int
	eps                 float64
}

// norm returns the layer from x to x̂.
func (l hyperMaps[T]) norm() RMSNorm[T] {
	return RMSNorm[T]{Zeros[T](1, l.weight.Rows).Shift(1), l.eps}
}

// factors returns α₁, α₂ and α₃ at the columns of z.
func (l hyperMaps[T]) factors() Matrix[T] {
	var each []Matrix[T]
	for i, n := range []int{l.s, l.s, l.s * l.s} {
		each = append(each, Zeros[T](1, n).Shift(1).Mul(l.alpha.Columns(i, i+1)))
	}
	return Join(each...)
}

// logits returns z and α z + b.
func (l hyperMaps[T]) logits(v Values[T]) (z, logits Matrix[T]) {
	z = l.norm().Forward(v.at("x")).MatMul(l.weight)
	return z, z.Mul(l.factors()).Add(l.bias)
}

// Forward returns the three weights.
func (l hyperMaps[T]) Forward(v Values[T]) (written Values[T]) {
	_, logits := l.logits(v)
	steps := l.sinkhorn(logits.Columns(2*l.s, logits.Cols))
	return Values[T]{
		"h_pre":  sigmoid(logits.Columns(0, l.s)),
		"h_post": sigmoid(logits.Columns(l.s, 2*l.s)).Scale(2),
		"h_res":  steps[len(steps)-1],
	}
}

// Backward passes Δ at the three weights through σ and Sinkhorn to the logits, where it is Δ_l, and from there to x:
//
//	∂b = Σ Δ_l,  ∂α_i = Σ Δ_l ∘ z_i,  Δ_z = α Δ_l,  ∂w = x̂ᵗ Δ_z,  Δ_x̂ = Δ_z wᵗ
func (l hyperMaps[T]) Backward(v, delta Values[T]) (read Values[T], g Gradients[T]) {
	z, logits := l.logits(v)
	s := l.s
	pre, _ := Sigmoid[T]{}.Backward(logits.Columns(0, s), delta["h_pre"])
	post, _ := Sigmoid[T]{}.Backward(logits.Columns(s, 2*s), delta["h_post"].Scale(2))
	d := Join(pre, post, l.sinkhornBackward(logits.Columns(2*s, logits.Cols), delta["h_res"]))
	along := d.Mul(z).SumTokens()
	sum := func(from, to int) Matrix[T] { return along.Columns(from, to).Sum() }
	dalpha := Join(sum(0, s), sum(s, 2*s), sum(2*s, along.Cols))
	dz := d.Mul(l.factors())
	dx, _ := l.norm().Backward(v.at("x"), dz.MatMul(l.weight.Transpose()))
	g = slices.Concat(
		gradient(l.weight, "weight", "w", "x̂ᵗ Δ_z", l.norm().Forward(v.at("x")).Transpose().MatMul(dz)),
		gradient(l.alpha, "alpha", "α", "Σ Δ_l ∘ z", dalpha),
		gradient(l.bias, "bias", "b", "Σ Δ_l", d.SumTokens()),
	)
	return Values[T]{"x": dx}, g
}

// sinkhorn returns the matrices of every token, (n, s²), after each step: 20 times the columns and then the rows are
// divided by their sums plus 10⁻⁶. The first step is a softmax, exp with the division by its sum. The results of odd
// steps are transposed.
func (l hyperMaps[T]) sinkhorn(z Matrix[T]) (steps []Matrix[T]) {
	rows := l.transposed(z).reshaped(z.Rows*l.s, l.s)
	steps = append(steps, rows.Softmax().reshaped(z.Rows, z.Cols))
	for len(steps) < 40 {
		rows := l.transposed(steps[len(steps)-1]).reshaped(z.Rows*l.s, l.s)
		steps = append(steps, rows.Div(rows.Sum().Shift(1e-6)).reshaped(z.Rows, z.Cols))
	}
	return steps
}

// sinkhornBackward passes Δ back through the steps. For y = x/w, w = Σx + 10⁻⁶, of a row, Δx = (Δ − Σ Δ∘y)/w, and for
// the softmax Δx = y ∘ (Δ − Σ Δ∘y).
func (l hyperMaps[T]) sinkhornBackward(z, delta Matrix[T]) (dz Matrix[T]) {
	rows := func(x Matrix[T]) Matrix[T] { return x.reshaped(z.Rows*l.s, l.s) }
	steps := l.sinkhorn(z)
	for i, y := range slices.Backward(steps) {
		y, d := rows(y), rows(delta)
		d = d.Sub(d.Mul(y).Sum())
		if i == 0 {
			d = d.Mul(y)
		} else {
			d = d.Div(rows(l.transposed(steps[i-1])).Sum().Shift(1e-6))
		}
		delta = l.transposed(d.reshaped(z.Rows, z.Cols))
	}
	return delta
}

// transposed returns the transposes of matrices (s, s), which are rows of x.
func (l hyperMaps[T]) transposed(x Matrix[T]) Matrix[T] {
	var columns []Matrix[T]
	for i := range l.s {
		for j := range l.s {
			columns = append(columns, x.Columns(j*l.s+i, j*l.s+i+1))
		}
	}
	return Join(columns...)
}

// hyperRead is the link h = Σ_j pre_j x_j.
type hyperRead[T Number] struct{ s int }

// Forward returns h.
func (l hyperRead[T]) Forward(v Values[T]) (written Values[T]) {
	var h Matrix[T]
	for j := range l.s {
		h = sumOf(h, v.at("x").part(j, l.s).Mul(v.at("h_pre").Columns(j, j+1)))
	}
	return Values[T]{"h": h}
}

// Backward returns Δx_j = pre_j Δ, and Δpre_j = Σ Δ ∘ x_j over the features.
func (l hyperRead[T]) Backward(v, delta Values[T]) (read Values[T], g Gradients[T]) {
	var dx, dpre []Matrix[T]
	for j := range l.s {
		dx = append(dx, delta["h"].Mul(v.at("h_pre").Columns(j, j+1)))
		dpre = append(dpre, delta["h"].Mul(v.at("x").part(j, l.s)).Sum())
	}
	return Values[T]{"x": Join(dx...), "h_pre": Join(dpre...)}, nil
}

// hyperWrite is the link x_i ← Σ_j res_ij x_j + post_i y.
type hyperWrite[T Number] struct{ s int }

// Forward returns the streams.
func (l hyperWrite[T]) Forward(v Values[T]) (written Values[T]) {
	var streams []Matrix[T]
	for i := range l.s {
		x := v.at("y").Mul(v.at("h_post").Columns(i, i+1))
		for j := range l.s {
			x = x.Add(v.at("x").part(j, l.s).Mul(v.at("h_res").Columns(i*l.s+j, i*l.s+j+1)))
		}
		streams = append(streams, x)
	}
	return Values[T]{"x": Join(streams...)}
}

// Backward returns Δx_j = Σ_i res_ij Δ_i, Δy = Σ_i post_i Δ_i, Δres_ij = Σ Δ_i ∘ x_j and Δpost_i = Σ Δ_i ∘ y over the
// features.
func (l hyperWrite[T]) Backward(v, delta Values[T]) (read Values[T], g Gradients[T]) {
	dx := make([]Matrix[T], l.s)
	var dy Matrix[T]
	var dres, dpost []Matrix[T]
	for i := range l.s {
		d := delta["x"].part(i, l.s)
		dy = sumOf(dy, d.Mul(v.at("h_post").Columns(i, i+1)))
		dpost = append(dpost, d.Mul(v.at("y")).Sum())
		for j := range l.s {
			dx[j] = sumOf(dx[j], d.Mul(v.at("h_res").Columns(i*l.s+j, i*l.s+j+1)))
			dres = append(dres, d.Mul(v.at("x").part(j, l.s)).Sum())
		}
	}
	return Values[T]{
		"x": Join(dx...), "y": dy, "h_res": Join(dres...), "h_post": Join(dpost...),
	}, nil
}
