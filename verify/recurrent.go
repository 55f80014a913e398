package verify

import "fmt"

// recurrent is block i of an Elman network; its input layer is a linear layer like others.
func (r *run[T]) recurrent(i int, x Matrix[T]) (b Block[T]) {
	h := fmt.Sprintf("h.%d.", i)
	b.A1 = x
	b.A2 = r.linear(h+"c_input", x) // x U + b   (B·n, d)
	b.A10 = ElmanForward(b.A2, identity[T](x.Cols), r.p.need(h+"weight"), Matrix[T]{}, r.Batch)
	return b
}

func (r *run[T]) recurrentBackward(i int, b Block[T], delta Matrix[T]) Matrix[T] {
	h := fmt.Sprintf("h.%d.", i)
	d2, _, dw, _ := ElmanBackward(b.A2, identity[T](b.A1.Cols), r.p.need(h+"weight"), Matrix[T]{}, r.Batch, delta)
	r.leave(h+"weight", dw)
	return r.linearBackward(h+"c_input", b.A1, d2)
}

func identity[T Number](n int) Matrix[T] {
	out := Zeros[T](n, n)
	for i := range n {
		out.Data[i*n+i] = 1
	}
	return out
}
