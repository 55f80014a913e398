package hand

import (
	"fmt"
	"strings"
)

// Layer is a layer by hand: its formula, and the gradients derived from it on paper.
type Layer[T Number] interface {
	// Forward turns activations (n, in) into activations (n, out).
	Forward(x Matrix[T]) Matrix[T]
	// Backward takes the input x of Forward and Δ at its output, and returns Δ at x and the gradients of the
	// parameters.
	Backward(x, delta Matrix[T]) (dx Matrix[T], g Gradients[T])
}

// Gradient is ∂L/∂p of a parameter, or of those columns of a packed one that are a Part of their own; or it is a Δ,
// ∂L/∂a at the output of a part of the model. The formula that computes it says where the paper has it.
type Gradient[T Number] struct {
	Name     string // of the parameter, such as h.0.ln_1.weight, or of the part, such as h.0.ln_1
	Part     string // "q", "k" or "v", whose columns stand in this order; usually empty
	Symbol   string // in the paper
	Equation string
	Value    Matrix[T]
	Zero     bool // 0 for every value of the parameters
	Delta    bool
}

// Gradients are listed in the order of the model: from the embeddings to the head.
type Gradients[T Number] []Gradient[T]

// gradient is that of a parameter; of one that is absent there is none.
func gradient[T Number](parameter Matrix[T], name, symbol, equation string, value Matrix[T]) Gradients[T] {
	if parameter.None() {
		return nil
	}
	return Gradients[T]{{Name: name, Symbol: symbol, Equation: equation, Value: value}}
}

// deltaAt is Δ at the output of the named part.
func deltaAt[T Number](name, equation string, value Matrix[T]) Gradients[T] {
	return Gradients[T]{{Name: name, Equation: equation, Value: value, Delta: true}}
}

// In says that g belongs to the layer of that name, whose number in Table 2 is index, such as "₁": w and b become w₁
// and b₁. Names that begin with a slash are the model's, and stay.
func (g Gradients[T]) In(name, index string) Gradients[T] {
	for i := range g {
		if !strings.HasPrefix(g[i].Name, "/") {
			g[i].Name = name + "." + g[i].Name
		}
		if g[i].Symbol == "w" || g[i].Symbol == "b" {
			g[i].Symbol += index
		}
	}
	return g
}

// by says which equations a linear layer's weight and bias have where it stands.
func (g Gradients[T]) by(weight, bias string) Gradients[T] {
	for i := range g {
		switch g[i].Name {
		case "weight":
			g[i].Equation = weight
		case "bias":
			g[i].Equation = bias
		}
	}
	return g
}

// reading replaces a term in the equations of every Δ.
func (g Gradients[T]) reading(term, by string) Gradients[T] {
	for i := range g {
		if g[i].Delta {
			g[i].Equation = strings.ReplaceAll(g[i].Equation, term, by)
		}
	}
	return g
}

// take removes the Δ of the given name, and returns those that there were, one after another.
func (g Gradients[T]) take(name string) (rest, taken Gradients[T]) {
	for _, e := range g {
		if e.Name == name {
			taken = append(taken, e)
		} else {
			rest = append(rest, e)
		}
	}
	return rest, taken
}

// Parameters returns the gradients by name. The parts of one parameter stand side by side; of a parameter that the
// model uses twice it is the sum.
func (g Gradients[T]) Parameters() Parameters[T] {
	out := Parameters[T]{}
	for _, e := range g {
		switch had, twice := out[e.Name]; {
		case e.Delta:
		case !twice:
			out[e.Name] = e.Value
		case e.Part != "":
			out[e.Name] = JoinColumns(had, e.Value)
		default:
			out[e.Name] = had.Add(e.Value)
		}
	}
	return out
}

// Err returns the first error in any of them, from the loss downwards.
func (g Gradients[T]) Err() error {
	for i := len(g) - 1; i >= 0; i-- {
		if err := g[i].Value.sound().Err; err != nil {
			return fmt.Errorf("%s: %w", g[i].Name, err)
		}
	}
	return nil
}
