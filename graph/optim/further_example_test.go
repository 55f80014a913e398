package optim_test

import (
	"fmt"
	"math"

	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/graph/optim"
)

// adafactor keeps a mean of squares for every row and column of a matrix instead of one for every entry (Shazeer and
// Stern 2018, without clipping): R ← βR + (1−β)Σ_j g², C ← βC + (1−β)Σ_i g², θ ← θ − ηg/√(RC/ΣR).
type adafactor struct{ beta float64 }

func (o adafactor) State() (optim.State, error) {
	return optim.State{Name: "adafactor", Whole: true, Further: func(shape, _ []int) []optim.Kept {
		return []optim.Kept{{Name: "rows", Shape: shape[:1]}, {Name: "columns", Shape: shape[1:]}}
	}}, nil
}

func (o adafactor) Step(s optim.Step) {
	rows, columns := s.Further[0], s.Further[1]
	for _, list := range s.Further {
		for i := range list.Len() {
			list.Set(i, o.beta*list.At(i))
		}
	}
	sum := 0.0
	for i := range s.W.Len() {
		g := s.Scale * s.G.At(i)
		row, column, square := i/columns.Len(), i%columns.Len(), (1-o.beta)*g*g
		rows.Set(row, rows.At(row)+square)
		columns.Set(column, columns.At(column)+square)
	}
	for i := range rows.Len() {
		sum += rows.At(i)
	}
	for i := range s.W.Len() {
		square := rows.At(i/columns.Len()) * columns.At(i%columns.Len()) / sum
		s.W.Set(i, s.W.At(i)-s.Rate*s.Scale*s.G.At(i)/math.Sqrt(square))
	}
}

// A rule may keep tensors of other shapes than its parameter's. They are saved, resumed and divided among machines like
// moments.
func ExampleState() {
	g := graph.New(graph.Float64, 1)
	w := g.Root().Param("w", graph.Const(1), 2, 3)
	p, err := graph.Compile(w.Square().SumAll(), w)
	check(err)
	o, err := optim.New([]graph.Expr{w}, adafactor{0.5})
	check(err)
	check(p.Run())
	_, err = o.Update(p, 0.25)
	check(err)
	o.Moments(func(kept, param string, t graph.Tensor) { fmt.Println(kept, "of", param, t.Floats()) })
	fmt.Printf("w %.2f\n", w.Tensor().Floats())
	// Output:
	// rows of w [6 6]
	// columns of w [4 4 4]
	// w [0.65 0.65 0.65 0.65 0.65 0.65]
}
