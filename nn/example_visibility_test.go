package nn_test

import (
	"fmt"

	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/nn"
)

// blocks lets tokens attend within groups of Size, such as the rows of an image.
type blocks struct{ Size int }

// Visible reports whether ⌊i/Size⌋ = ⌊j/Size⌋.
func (v blocks) Visible(_, i, j int) bool { return i/v.Size == j/v.Size }

// Check returns an error for a size that does not divide the context.
func (v blocks) Check(d nn.Dims) error {
	if v.Size < 1 || d.Context%v.Size != 0 {
		return fmt.Errorf("groups of %d do not divide %d tokens", v.Size, d.Context)
	}
	return nil
}

// A user-defined Visibility may refuse sizes, even inside a nested All.
func ExampleChecker() {
	rule := nn.All{nn.Causal{}, nn.All{blocks{3}}}
	picture(nn.Dims{Batch: 1, Context: 6}, rule)
	g := graph.New(graph.Float32, 1)
	nn.NewMask(g.Root().Sub("h.0"), nn.Dims{Batch: 1, Context: 7}, rule)
	fmt.Println(g.Err())
	// Output:
	//  x · · · · ·
	//  x x · · · ·
	//  x x x · · ·
	//  · · · x · ·
	//  · · · x x ·
	//  · · · x x x
	// h.0.mask: groups of 3 do not divide 7 tokens
}
