package hand

import (
	"maps"
	"slices"
)

// Chain is a layer made of links, which hand values to one another by name. It begins with its input, x, and ends with
// its result, y. Attention names its queries, keys and values q, k and v.
//
//	x (n, in) → link 1 → … → link m → y (n, out)
type Chain[T Number] []Link[T]

// Link is one step of a Chain: it reads some of the chain's values and writes others, or new ones in their place.
type Link[T Number] interface {
	// Forward returns the values that the link writes.
	Forward(v Values[T]) (written Values[T])
	// Backward takes the values that Forward took, and Δ at each value that it wrote. It returns Δ at the values that
	// it read, and the gradients of its parameters.
	Backward(v, delta Values[T]) (read Values[T], g Gradients[T])
}

// Values holds the values of a chain by name.
type Values[T Number] map[string]Matrix[T]

// at returns the named value. A value that no link has written is an error.
func (v Values[T]) at(name string) Matrix[T] {
	if m, ok := v[name]; ok {
		return m
	}
	return missing[T]("value " + name)
}

// pass holds the values before a link, and those that it wrote.
type pass[T Number] struct{ before, written Values[T] }

// run returns the passes of all links, and the values at the end.
func (c Chain[T]) run(x Matrix[T]) (passes []pass[T], end Values[T]) {
	end = Values[T]{"x": x}
	for _, l := range c {
		p := pass[T]{end, Values[T]{"y": missing[T]("link")}}
		if l != nil {
			p.written = l.Forward(end)
		}
		end = maps.Clone(end)
		maps.Copy(end, p.written)
		passes = append(passes, p)
	}
	return passes, end
}

// Values returns the values at the end of the chain.
func (c Chain[T]) Values(x Matrix[T]) Values[T] {
	_, end := c.run(x)
	return end
}

// Forward returns y.
func (c Chain[T]) Forward(x Matrix[T]) Matrix[T] {
	return c.Values(x).at("y")
}

// Backward returns Δ at x.
func (c Chain[T]) Backward(x, delta Matrix[T]) (dx Matrix[T], g Gradients[T]) {
	d, g := c.back(x, Values[T]{"y": delta})
	return d["x"], g
}

// back goes through the links of any chain from the last to the first, given Δ at values of the end, d. Δ at a value
// that a link wrote goes no further than this link. A value that several links read gets the sum of their Δ.
func (c Chain[T]) back(x Matrix[T], d Values[T]) (read Values[T], g Gradients[T]) {
	passes, _ := c.run(x)
	for i, l := range slices.Backward(c) {
		written := Values[T]{}
		for name, m := range passes[i].written {
			written[name] = m.zeros() // nothing reads it
			if delta, ok := d[name]; ok {
				written[name] = delta
			}
			delete(d, name)
		}
		if l == nil {
			return Values[T]{"x": missing[T]("link")}, g
		}
		shares, own := l.Backward(passes[i].before, written)
		for name, m := range shares {
			d[name] = sumOf(d[name], m) // over the readers of the value
		}
		g = slices.Concat(own, g)
	}
	read = Values[T]{"x": sumOf(d["x"], x.zeros())}
	for name := range d {
		if name != "x" { // no link wrote it
			read["x"] = missing[T]("value " + name)
		}
	}
	return read, g
}

// Apply is the link to = layer(from).
type Apply[T Number] struct {
	Name         string // of the layer, before the names of its parameters; the empty name adds nothing
	From, To     string
	Layer        Layer[T]
	Index        string    // of the symbols w and b, such as ₃
	Weight, Bias string    // equations of their gradients; empty keeps the layer's
	Delta        string    // equation of Δ at the layer's output, which is reported under its name; empty reports none
	Reading      [2]string // a term in the layer's equations of Δ, and what takes its place
}

// Forward returns layer(from).
func (l Apply[T]) Forward(v Values[T]) (written Values[T]) {
	x := v.at(l.From)
	if l.Name == "" && l.Layer != nil {
		return Values[T]{l.To: l.Layer.Forward(x)}
	}
	return Values[T]{l.To: forward(l.Name, l.Layer, x)}
}

// Backward passes Δ through the layer.
func (l Apply[T]) Backward(v, delta Values[T]) (read Values[T], g Gradients[T]) {
	dx, g := backward(l.Name, l.Layer, v.at(l.From), delta[l.To])
	if l.Reading[0] != "" {
		g = g.reading(l.Reading[0], l.Reading[1])
	}
	if l.Weight != "" {
		g = g.by(l.Weight, l.Bias)
	}
	if l.Name != "" {
		g = g.In(l.Name, l.Index)
	}
	if l.Delta != "" {
		g = append(g, deltaAt(l.Name, l.Delta, delta[l.To])...)
	}
	return Values[T]{l.From: dx}, g
}

// place is a link that changes nothing. It reports Δ at a value under a name.
type place[T Number] struct{ value, name, equation string }

// Forward returns the value.
func (l place[T]) Forward(v Values[T]) (written Values[T]) { return Values[T]{l.value: v.at(l.value)} }

// Backward returns Δ at the value.
func (l place[T]) Backward(_, delta Values[T]) (read Values[T], g Gradients[T]) {
	return delta, deltaAt(l.name, l.equation, delta[l.value])
}

// plus is the link to = Σ terms.
type plus[T Number] struct {
	to    string
	terms []string
}

// Forward returns the sum.
func (l plus[T]) Forward(v Values[T]) (written Values[T]) {
	var sum Matrix[T]
	for _, name := range l.terms {
		sum = sumOf(sum, v.at(name))
	}
	return Values[T]{l.to: sum}
}

// Backward returns Δ at every term.
func (l plus[T]) Backward(_, delta Values[T]) (read Values[T], g Gradients[T]) {
	read = Values[T]{}
	for _, name := range l.terms {
		read[name] = delta[l.to]
	}
	return read, nil
}

// multiply is the link y = a ∘ b.
type multiply[T Number] struct{ a, b string }

// Forward returns a ∘ b.
func (l multiply[T]) Forward(v Values[T]) (written Values[T]) {
	return Values[T]{"y": v.at(l.a).Mul(v.at(l.b))}
}

// Backward returns Δa = Δ ∘ b and Δb = Δ ∘ a.
func (l multiply[T]) Backward(v, delta Values[T]) (read Values[T], g Gradients[T]) {
	return Values[T]{l.a: delta["y"].Mul(v.at(l.b)), l.b: delta["y"].Mul(v.at(l.a))}, nil
}

// unpack is the link that takes packed queries, keys and values, [q | k | v], apart.
type unpack[T Number] struct{ queries, keys int } // columns of q and of k

// Forward returns q, k and v.
func (l unpack[T]) Forward(v Values[T]) (written Values[T]) {
	q, k, value := splitPacked(v.at("qkv"), l.queries, l.keys)
	return Values[T]{"q": q, "k": k, "v": value}
}

// Backward returns [Δq | Δk | Δv].
func (unpack[T]) Backward(_, delta Values[T]) (read Values[T], g Gradients[T]) {
	return Values[T]{"qkv": Join(delta["q"], delta["k"], delta["v"])}, nil
}
