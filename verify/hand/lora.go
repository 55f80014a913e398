package hand

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
