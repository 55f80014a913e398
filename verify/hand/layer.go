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

// Gradient is ∂L/∂p for a parameter, or for the columns of a packed one that are a Part of their own. With Delta it is
// a Δ, ∂L/∂a at the output of a part of the model. Each formula sets the place of its equation in the paper.
type Gradient[T Number] struct {
	Name     string // of the parameter, such as h.0.ln_1.weight, or of the part, such as h.0.ln_1
	Part     string // "q", "k" or "v", in the order of the columns; usually empty
	Symbol   string // in the paper
	Equation string
	Value    Matrix[T]
	Zero     bool // 0 for every value of the parameters
	Delta    bool
}

// Gradients are gradients in the order of the model, from the embeddings to the head.
type Gradients[T Number] []Gradient[T]

// gradient returns the gradient of a parameter, or none if the parameter is absent.
func gradient[T Number](parameter Matrix[T], name, symbol, equation string, value Matrix[T]) Gradients[T] {
	if parameter.None() {
		return nil
	}
	return Gradients[T]{{Name: name, Symbol: symbol, Equation: equation, Value: value}}
}

// deltaAt returns the Δ at the output of the named part.
func deltaAt[T Number](name, equation string, value Matrix[T]) Gradients[T] {
	return Gradients[T]{{Name: name, Equation: equation, Value: value, Delta: true}}
}

// In returns g as the gradients of the named layer, whose number in Table 2 is index, such as "₁": w and b become w₁
// and b₁. Names that begin with a slash are absolute and stay unchanged.
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

// by sets the equations of a linear layer's weight and bias.
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

// take splits g into the Δ of the given name and the rest.
func (g Gradients[T]) take(name string) (rest, found Gradients[T]) {
	for _, e := range g {
		if e.Name == name {
			found = append(found, e)
		} else {
			rest = append(rest, e)
		}
	}
	return rest, found
}

// Parameters returns the gradients by name. The parts of one parameter are joined side by side; the gradients of a
// parameter that the model uses twice are added.
func (g Gradients[T]) Parameters() Parameters[T] {
	out := Parameters[T]{}
	for _, e := range g {
		switch had, twice := out[e.Name]; {
		case e.Delta:
		case !twice:
			out[e.Name] = e.Value
		case e.Part != "":
			out[e.Name] = Join(had, e.Value)
		default:
			out[e.Name] = had.Add(e.Value)
		}
	}
	return out
}

// Err returns the first error of the gradients, from the loss downwards.
func (g Gradients[T]) Err() error {
	for i := len(g) - 1; i >= 0; i-- {
		if err := g[i].Value.sound().Err; err != nil {
			return fmt.Errorf("%s: %w", g[i].Name, err)
		}
	}
	return nil
}
