package hand

import "slices"

// Stream is the residual stream x of a model, from the embeddings to the last norm. The zero Stream is the plain one,
// to which every sublayer adds its result.
type Stream[T Number] struct {
	Expand Chain[T]   // after the embeddings (n, d) → (n, w)
	Skips  []Chain[T] // before each block; nil for none
	Reduce Chain[T]   // before the last norm (n, w) → (n, d)
}

// skip returns the links before block i.
func (s Stream[T]) skip(i int) (c Chain[T]) {
	if i < len(s.Skips) {
		c = s.Skips[i]
	}
	return c
}

// Connections returns how the named sublayer of a block joins the residual stream. The nil function is the plain
// stream: h = x, and x ← x + y.
type Connections[T Number] func(sublayer string) Connection[T]

// Connection joins a sublayer to the residual stream x: Read writes its input h, and Write takes its result y into x.
type Connection[T Number] struct{ Read, Write Chain[T] }

// block returns the links of a block, from x to y: its sublayers, given the equation of Δ at its input.
func (c Connections[T]) block(input string, sublayers ...Chain[T]) Chain[T] {
	links := Chain[T]{place[T]{"x", inputOf, c.equation(input)}}
	for _, l := range sublayers {
		links = append(links, l...)
	}
	return append(links, plus[T]{"y", []string{"x"}})
}

// sublayer returns the links of a sublayer, from x to x: its layers lead from h to y.
func (c Connections[T]) sublayer(name string, layers ...Apply[T]) Chain[T] {
	var links Chain[T]
	for _, l := range layers {
		if l.To == "y" && l.Delta != "" {
			l.Delta = c.equation(l.Delta)
		}
		links = append(links, l)
	}
	return c.links(name, links)
}

// links returns the links of a sublayer, from x to x: the given ones lead from h to y.
func (c Connections[T]) links(name string, links Chain[T]) Chain[T] {
	at := Connection[T]{Chain[T]{plus[T]{"h", []string{"x"}}}, Chain[T]{plus[T]{"x", []string{"x", "y"}}}}
	if c != nil {
		at = c(name)
	}
	if len(at.Read) == 0 || len(at.Write) == 0 { // the sublayer would read nothing, or write nothing
		return Chain[T]{Apply[T]{Name: name + "_stream", From: "x", To: "x"}}
	}
	return slices.Concat(at.Read.in(name+"_stream"), links, at.Write.in(name+"_stream"))
}

// in returns the links with a name before the names of their parameters.
func (c Chain[T]) in(name string) (named Chain[T]) {
	for _, l := range c {
		named = append(named, namedLink[T]{l, name})
	}
	return named
}

// namedLink is a Link with a name before the names of its parameters.
type namedLink[T Number] struct {
	Link[T]
	name string
}

// Backward returns the link's Backward.
func (l namedLink[T]) Backward(v, delta Values[T]) (read Values[T], g Gradients[T]) {
	read, g = l.Link.Backward(v, delta)
	return read, g.In(l.name, "")
}

// equation returns the equation of a Δ, which holds in the plain stream.
func (c Connections[T]) equation(plain string) string {
	if c == nil {
		return plain
	}
	return "Δ at the stream, through its connection"
}

// Skip is the link that mixes an earlier place e of the residual stream into the input x of a block (Jordan et al.
// 2024):
//
//	x ← λ₁ x + λ₂ e        (n, d), (n, d) → (n, d)
type Skip[T Number] struct {
	Name   string    // of the block, before the name of λ
	Lambda Matrix[T] // [λ₁, λ₂] (1, 2), or [λ₂] (1, 1) if λ₁ is 1
	From   string    // the value e
}

// Forward returns λ₁ x + λ₂ e.
func (l Skip[T]) Forward(v Values[T]) (written Values[T]) {
	return Values[T]{"x": within(l.Name, v.at("x"), mixed(l.Lambda, v.at("x"), v.at(l.From)))}
}

// Backward returns Δx = λ₁ Δ and Δe = λ₂ Δ. The gradients are Δλ₁ = Σ Δ ∘ x and Δλ₂ = Σ Δ ∘ e.
func (l Skip[T]) Backward(v, delta Values[T]) (read Values[T], g Gradients[T]) {
	dx, de, dlambda := mixedBackward(l.Lambda, v.at("x"), v.at(l.From), delta["x"])
	g = append(deltaAt(inputOf, "times λ₁, and λ₂ Δ of the skips from here", dx),
		gradient(l.Lambda, "skip_lambda", "λ", "Σ Δ ∘ x, Σ Δ ∘ e", dlambda)...)
	return Values[T]{"x": dx, l.From: de}, g.In(l.Name, "")
}

// Keep returns the link to = from, for links after it that read an earlier place of the residual stream.
func Keep[T Number](from, to string) Link[T] { return plus[T]{to, []string{from}} }

// mixed returns λ₁ x + λ₂ e for λ = [λ₁, λ₂], or x + λ₂ e for λ = [λ₂].
func mixed[T Number](lambda, x, e Matrix[T]) Matrix[T] {
	if last := lambda.Cols - 1; last > 0 {
		x, lambda = x.Mul(lambda.Columns(0, last)), lambda.Columns(last, last+1)
	}
	return x.Add(e.Mul(lambda))
}

// mixedBackward returns Δ at x, at e and at λ.
func mixedBackward[T Number](lambda, x, e, delta Matrix[T]) (dx, de, dlambda Matrix[T]) {
	sum := func(x Matrix[T]) Matrix[T] { return delta.Mul(x).Sum().SumTokens() }
	if lambda.Cols == 1 {
		return delta, delta.Mul(lambda), sum(e)
	}
	return delta.Mul(lambda.Columns(0, 1)), delta.Mul(lambda.Columns(1, 2)), Join(sum(x), sum(e))
}
