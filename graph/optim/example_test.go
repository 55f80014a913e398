package optim_test

import (
	"fmt"
	"log"
	"math"

	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/graph/optim"
)

// lion is a user-defined optimizer, that of Chen et al. 2023: θ ← θ − η·sign(β₁m + (1−β₁)g), m ← β₂m + (1−β₂)g.
// Gradients accumulates micro-batches, takes their mean and clips it.
type lion struct {
	*optim.Gradients
	names []string
	m     []graph.Tensor
}

func newLion(params []graph.Expr) (*lion, error) {
	g, err := optim.NewGradients("lion", params)
	o := &lion{Gradients: g}
	for _, p := range params {
		m := p.Tensor().Clone()
		clear(m.F32)
		clear(m.F64)
		o.names, o.m = append(o.names, p.Name()), append(o.m, m)
	}
	return o, err
}

func (o *lion) Update(p *graph.Program, lr float64) (norm float64, err error) {
	return o.Apply(p, 1, func(i int, w, g graph.Tensor, scale float64) {
		for j := range w.Len() {
			g, m := scale*g.At(j), o.m[i].At(j)
			w.Set(j, w.At(j)-lr*math.Copysign(1, 0.9*m+0.1*g))
			o.m[i].Set(j, 0.99*m+0.01*g)
		}
	})
}

func (o *lion) Moments(f func(name string, m, v graph.Tensor)) {
	for i, name := range o.names {
		f(name, o.m[i], graph.Tensor{})
	}
}

func ExampleOptimizer() {
	g := graph.New(graph.Float64, 1)
	w := g.Root().Param("w", graph.Const(3), 1, 2)
	w.Tensor().Set(1, -4)
	p, err := graph.Compile(w.Square().SumAll(), w)
	if err != nil {
		log.Fatal(err)
	}
	var o optim.Optimizer
	if o, err = newLion([]graph.Expr{w}); err != nil {
		log.Fatal(err)
	}
	for range 3 {
		if err := p.Run(); err != nil {
			log.Fatal(err)
		}
		norm, err := o.Update(p, 0.5)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("norm %.2f, w %v\n", norm, w.Tensor().Floats())
	}
	// Output:
	// norm 10.00, w [2.5 -3.5]
	// norm 8.60, w [2 -3]
	// norm 7.21, w [1.5 -2.5]
}
