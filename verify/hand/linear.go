package hand

// Linear is the fully connected layer with an optional bias and optional adapters.
//
//	y = xw + b̃             (n, in) → (n, out)   (4), (9)
type Linear[T Number] struct {
	Weight, Bias Matrix[T] // (in, out), (1, out)
	Adapters     []LoRA[T]
}

// Forward returns xw + b̃ plus the outputs of the adapters.
func (l Linear[T]) Forward(x Matrix[T]) Matrix[T] {
	y := x.MatMul(l.Weight).plus(l.Bias)
	for _, a := range l.Adapters {
		y = y.addColumns(a.From, a.To, a.Forward(x))
	}
	return y
}

// Backward returns Δ at the input and the gradients of w and b.
//
//	Δx = Δ wᵗ              (n, in)
//	∂w = xᵗ Δ              (in, out)
//	∂b = Σ_tokens Δ        (1, out)
func (l Linear[T]) Backward(x, delta Matrix[T]) (dx Matrix[T], g Gradients[T]) {
	dx = delta.MatMul(l.Weight.Transpose())
	dw := x.Transpose().MatMul(delta)
	db := delta.SumTokens()
	g = append(gradient(l.Weight, "weight", "w", "aᵗΔ", dw), gradient(l.Bias, "bias", "b", "ΣΔ", db)...)
	for _, a := range l.Adapters {
		through, own := a.Backward(x, delta.Columns(a.From, a.To))
		dx, g = dx.Add(through), append(g, own...)
	}
	return dx, g
}

// Linear returns the layer whose parameters are at.weight, at.bias and at.lora_d, at.lora_u.
func (at Site[T]) Linear() Linear[T] {
	w := at.Param("weight")
	return Linear[T]{w, at.Optional("bias"), at.adapters(0, "", w.Cols)}
}

// Packed returns the linear layer for [q | k | v] with q, k and the remaining columns. Each part has its own adapter,
// or all of them have one together.
func (at Site[T]) Packed(q, k int) Linear[T] {
	l := Linear[T]{Weight: at.Param("weight"), Bias: at.Optional("bias")}
	if w := l.Weight; w.Err == nil && (q < 1 || k < 1 || k >= w.Cols-q) {
		l.Weight = failed[T]("[q | k | v] of %d, %d and more columns in (%d, %d)", q, k, w.Rows, w.Cols)
	}
	l.Adapters = at.adapters(0, "", l.Weight.Cols)
	from := 0
	for _, part := range []struct {
		name  string
		width int
	}{{"q.", q}, {"k.", k}, {"v.", l.Weight.Cols - q - k}} {
		l.Adapters = append(l.Adapters, at.adapters(from, part.name, part.width)...)
		from += part.width
	}
	return l
}

// Scaled is a layer with constant factors on its input and its output: y = b·layer(a·x).
type Scaled[T Number] struct {
	Layer   Layer[T]
	In, Out float64 // a and b
}

// Forward returns b·layer(a·x).
func (l Scaled[T]) Forward(x Matrix[T]) Matrix[T] {
	return forward("scaled", l.Layer, x.Scale(l.In)).Scale(l.Out)
}

// Backward passes bΔ through the layer at a·x. With u = a·x and y = b·f(u),
//
//	Δu = fᵇ(bΔ),  Δx = a·Δu
func (l Scaled[T]) Backward(x, delta Matrix[T]) (dx Matrix[T], g Gradients[T]) {
	du, g := backward("scaled", l.Layer, x.Scale(l.In), delta.Scale(l.Out))
	return du.Scale(l.In), g
}

// ScaledQueries is the layer of [q | k | v] with a factor c on the queries: [c·q | k | v].
type ScaledQueries[T Number] struct {
	QKV    Layer[T]
	QK     int // columns of the queries
	Factor float64
}

// Forward returns [c·q | k | v].
func (l ScaledQueries[T]) Forward(x Matrix[T]) Matrix[T] { return l.scale(forward("scaled", l.QKV, x)) }

// Backward passes [c·Δ_q | Δ_k | Δ_v] through the layer, because a factor on columns is its own transpose.
func (l ScaledQueries[T]) Backward(x, delta Matrix[T]) (dx Matrix[T], g Gradients[T]) {
	return backward("scaled", l.QKV, x, l.scale(delta))
}

func (l ScaledQueries[T]) scale(y Matrix[T]) Matrix[T] {
	if y.Err == nil && l.QK < 1 {
		return failed[T]("%d columns of queries", l.QK)
	}
	return Join(y.Columns(0, l.QK).Scale(l.Factor), y.Columns(l.QK, y.Cols))
}

// LoRA is an adapter of rank r, which adds to the columns From … To−1 of the output of its frozen layer.
//
//	y = scale · x d u      (n, in) → (n, out)   (43)
//
// The paper calls scale α and suggests α = r; the usual scale is α/r, which then is 1 (erratum B4).
type LoRA[T Number] struct {
	Name     string    // prefix of the parameters' names: "" or "q."
	Down, Up Matrix[T] // d (in, r), u (r, out)
	Scale    float64
	From, To int
}

// Forward returns scale · x d u.
func (l LoRA[T]) Forward(x Matrix[T]) Matrix[T] {
	return x.MatMul(l.Down).MatMul(l.Up).Scale(l.Scale)
}

// Backward returns the adapter's share of Δx. The frozen layer has its own share, Δ wᵗ, to be added (erratum B3: the
// paper's Δ₁₁ omits it).
func (l LoRA[T]) Backward(x, delta Matrix[T]) (dx Matrix[T], g Gradients[T]) {
	d, u := l.Down, l.Up
	dx = delta.MatMul(d.MatMul(u).Transpose()).Scale(l.Scale)              // (n, in)  (44)
	dd := x.Transpose().MatMul(delta).MatMul(u.Transpose()).Scale(l.Scale) // (in, r)  (45)
	du := x.MatMul(d).Transpose().MatMul(delta).Scale(l.Scale)             // (r, out) (46)
	return dx, append(gradient(d, l.Name+"lora_d", "d", "(45)", dd), gradient(u, l.Name+"lora_u", "u", "(46)", du)...)
}

// adapters returns the adapter of some columns, if the parameters contain one.
func (at Site[T]) adapters(from int, name string, width int) []LoRA[T] {
	d := at.Optional(name + "lora_d")
	if d.None() {
		return nil
	}
	return []LoRA[T]{{name, d, at.Param(name + "lora_u"), at.LoRAScale, from, from + width}}
}
