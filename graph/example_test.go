package graph_test

import (
	"fmt"
	"log"
	"math/rand/v2"
	"slices"

	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/graph/fused"
	G "gorgonia.org/gorgonia"
)

// check ends an example that fails.
func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

// A graph is built and compiled once, and run whenever its inputs change: here y = x·w + b and the loss Σ(y − t)².
func Example() {
	var x, t, w, b graph.Expr
	var p *graph.Program
	_, err := graph.Build(graph.Float64, 1, func(g *graph.Graph) (err error) {
		s := g.Root()
		x, t = s.Value("x", graph.Const(0), 2, 3), s.Value("t", graph.Const(1), 2, 1)
		w, b = s.Param("w", graph.Const(0.5), 3, 1), s.Param("b", graph.Const(0), 1)
		loss := x.MatMul(w).Add(b).Sub(t).Square().SumAll()
		p, err = graph.Compile(loss, w, b)
		return err
	})
	check(err)
	for _, row := range []float64{0, 1} {
		for i := range x.Tensor().Len() {
			x.Tensor().Set(i, row*float64(i))
		}
		check(p.Run())
		fmt.Printf("loss %.2f, ∂w %.1f, ∂b %.1f\n", p.Loss(), p.Grad(w).Floats(), p.Grad(b).Floats())
	}
	// Output:
	// loss 2.00, ∂w [0.0 0.0 0.0], ∂b [-4.0]
	// loss 25.25, ∂w [30.0 41.0 52.0], ∂b [11.0]
}

// A program can be differentiated by an intermediate expression: its gradient is the one that the backward pass carries
// there.
func ExampleCompile_tap() {
	g := graph.New(graph.Float64, 1)
	w := g.Root().Param("w", graph.Const(0.5), 1, 3)
	hidden := w.Scale(2)
	p, err := graph.Compile(hidden.Cube().SumAll(), w, hidden)
	check(err)
	check(p.Run())
	fmt.Println("w     ", p.Grad(w).Floats())
	fmt.Println("hidden", p.Grad(hidden).Floats())
	// Output:
	// w      [6 6 6]
	// hidden [3 3 3]
}

// A user-defined layer: x + sin²(βx)/β, the Snake of Ziyin et al. 2020. For an operation that Expr lacks, here the
// sine, use a Gorgonia operation on the node; Wrap turns its result, or its error, back into an Expr. Gorgonia derives
// the backward pass. Such operations run in planned memory together with kernels, and Recompute handles them as well.
func ExampleExpr_Node() {
	g := graph.New(graph.Float64, 1)
	s := g.Root().Sub("snake")
	x := g.Root().Value("x", graph.Const(1), 1, 2)
	beta := s.Param("beta", graph.Const(2), 1)
	scaled := x.In(s).Mul(beta)
	wave := scaled.Wrap(G.Sin(scaled.Node()))
	y := x.In(s).Add(wave.Square().Div(beta))
	p, err := graph.Compile(y.SumAll(), x, beta)
	check(err)
	check(p.Run())
	fmt.Printf("Σy %.4f, ∂x %.4f, ∂β %.4f\n", p.Loss(), p.Grad(x).Floats(), p.Grad(beta).Floats())
	fmt.Println("Gorgonia's:", slices.Contains(p.Stock(), "snake: sin"))
	// Output:
	// Σy 2.8268, ∂x [0.2432 0.2432], ∂β [-1.1702]
	// Gorgonia's: true
}

// ArgMax finds the largest logit of each row; the mean of matches is the accuracy.
func ExampleExpr_ArgMax() {
	s := graph.New(graph.Float32, 1).Root()
	logits, right := s.Value("logits", graph.Const(0), 2, 3), s.Ints("right", 2, 3, -1)
	logits.Tensor().Set(1, 5)
	logits.Tensor().Set(5, 7)
	right.Ints()[0] = 1
	best := logits.ArgMax()
	p, err := graph.Compile(best.OneHot(3).Mul(right.OneHot(3)).SumAll())
	check(err)
	check(p.Run())
	fmt.Println(best.Ints(), p.Loss())
	// Output:
	// [1 2] 1
}

// The ids of the token after the next one, of which a sequence has one fewer.
func ExampleExpr_Advance() {
	s := graph.New(graph.Float32, 1).Root()
	next := s.Ints("next", 6, 9, -1)
	copy(next.Ints(), []int{1, 2, 3, 7, 8, 6})
	after := next.Advance(1, 3)
	p, err := graph.Compile(after.OneHot(9).SumAll())
	check(err)
	check(p.Run())
	fmt.Println(after.Ints(), p.Loss())
	// Output:
	// [2 3 -1 8 6 -1] 4
}

// The row of a hashed table for every token and the one before it: (3·t + 5·t₋₁) mod 7. Before the first token of each
// of the two sequences stands id 9.
func ExampleExpr_DelayInts() {
	s := graph.New(graph.Float32, 1).Root()
	ids := s.Ints("ids", 6, 9, graph.NoneIgnored)
	copy(ids.Ints(), []int{1, 2, 3, 1, 2, 3})
	rows := ids.ScaleInts(3).AddInts(ids.DelayInts(1, 3, 9).ScaleInts(5)).ModInts(7)
	p, err := graph.Compile(s.Value("table", graph.Const(1), 7, 2).Gather(rows).SumAll())
	check(err)
	check(p.Run())
	fmt.Println(rows.Ints(), p.Loss())
	// Output:
	// [6 4 5 6 4 5] 12
}

// A decoder that gets the newest ids alone: the cache holds the one before them.
func ExampleCachedDelayInts() {
	s, cache := graph.New(graph.Float32, 1).Root(), fused.NewConvCache(1, 1, 2)
	ids, at := s.Ints("ids", 2, 9, graph.NoneIgnored), s.Ints("at", 1, 9, graph.NoneIgnored)
	earlier := fused.CachedDelayInts(ids, at, 9, cache)
	p, err := graph.Compile(earlier.OneHot(10).SumAll())
	check(err)
	for first := 0; first < 4; first += 2 {
		at.Ints()[0] = first
		copy(ids.Ints(), []int{first + 1, first + 2})
		check(p.Run())
		fmt.Println(earlier.Ints())
	}
	// Output:
	// [9 1]
	// [2 3]
}

// An activation of a user: x³ for every entry. Threads share the entries, because each is a part of its own.
func ExampleOp() {
	x := graph.New(graph.Float64, 1).Root().Param("x", graph.Const(2), 3, 4)
	y := x.Apply(graph.Op{Name: "cube", Shape: x.Shape(), Part: 1, Float64: graph.Pass[float64]{
		Forward: func(y []float64, x [][]float64) {
			for i, v := range x[0] {
				y[i] = v * v * v
			}
		},
		Backward: func(dx [][]float64, dy, _ []float64, x [][]float64) {
			for i, v := range x[0] {
				dx[0][i] = 3 * v * v * dy[i]
			}
		},
	}})
	p, err := graph.Compile(y.SumAll(), x)
	check(err)
	check(p.Run())
	fmt.Println(p.Loss(), p.Grad(x).Floats()[0])
	// Output:
	// 96 12
}

// A user's operation in plain Go, here a running product y_t = x_1·…·x_t with its gradient ∂x_s = Σ_{t≥s} ∂y_t·y_t/x_s.
// A generic function gives both passes for both types of numbers.
func ExampleExpr_Apply() {
	x := graph.New(graph.Float64, 1).Root().Param("x", graph.Const(2), 4)
	y := x.Apply(graph.Op{Name: "product", Shape: []int{4}, Float64: graph.Pass[float64]{
		Forward: func(y []float64, x [][]float64) {
			product := 1.0
			for t, v := range x[0] {
				product *= v
				y[t] = product
			}
		},
		Backward: func(dx [][]float64, dy, y []float64, x [][]float64) {
			sum := 0.0
			for s := len(dy) - 1; s >= 0; s-- {
				sum += dy[s] * y[s]
				dx[0][s] = sum / x[0][s]
			}
		},
	}})
	p, err := graph.Compile(y.SumAll(), x)
	check(err)
	check(p.Run())
	fmt.Println(p.Loss(), p.Grad(x).Floats())
	// Output:
	// 30 [15 14 12 8]
}

// Choices of entries: the two largest of every row, and the larger of two rows.
func ExampleExpr_TopK() {
	x := graph.New(graph.Float64, 1).Root().Value(
		"x", func(i int, _ *rand.Rand) float64 { return float64(i*i%5 - 1) }, 2, 3,
	)
	first, second := x.Rows(0, 1), x.Rows(1, 2)
	for _, y := range []graph.Expr{x, x.TopK(2), first.Where(first.Sub(second).ReLU(), second), x.CumProd(2)} {
		p, err := graph.Compile(y)
		check(err)
		check(p.Run())
		fmt.Println(p.Value().Floats())
	}
	// Output:
	// [-1 0 3 3 0 -1]
	// [0 0 3 3 0 0]
	// [3 0 3]
	// [-1 0 3 -3 0 -3]
}

// Operations along the tokens of a sequence, here with one feature.
func ExampleExpr_Scan() {
	x := graph.New(graph.Float64, 1).Root().Value("x", graph.Const(1), 4, 1)
	for _, y := range []graph.Expr{x.CumSum(4), x.CumSum(2), x.CumSum(4).Delay(1, 4), x.Scan(x.Scale(0.5), 4)} {
		p, err := graph.Compile(y)
		check(err)
		check(p.Run())
		fmt.Println(p.Value().Floats())
	}
	// Output:
	// [1 2 3 4]
	// [1 2 1 2]
	// [0 1 2 3]
	// [1 1.5 1.75 1.875]
}
