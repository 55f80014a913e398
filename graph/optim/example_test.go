package optim_test

import (
	"fmt"
	"log"
	"math"

	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/graph/optim"
)

// signum is a user-defined optimizer (Bernstein et al. 2018): m ← βm + (1−β)g, θ ← θ − η(sign(m) + λθ).
type signum struct{ beta float64 }

func (o signum) State() (optim.State, error) { return optim.State{Name: "signum", Moments: 1}, nil }

func (o signum) Step(s optim.Step) {
	for i := range s.W.Len() {
		s.M.Set(i, o.beta*s.M.At(i)+(1-o.beta)*s.Scale*s.G.At(i))
		s.W.Set(i, s.W.At(i)-s.Rate*(math.Copysign(1, s.M.At(i))+s.Decay*s.W.At(i)))
	}
}

func ExampleRule() {
	g := graph.New(graph.Float64, 1)
	w := g.Root().Param("w", graph.Const(3), 1, 2)
	w.Tensor().Set(1, -4)
	p, err := graph.Compile(w.Square().SumAll(), w)
	if err != nil {
		log.Fatal(err)
	}
	o, err := optim.New([]graph.Expr{w}, signum{0.9})
	if err != nil {
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
