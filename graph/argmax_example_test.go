package graph_test

import (
	"fmt"

	"github.com/pedestrian-ml/pedestrian/graph"
)

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
