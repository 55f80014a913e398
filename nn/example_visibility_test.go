package nn_test

import (
	"fmt"

	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/nn"
)

// blocks lets tokens attend within groups of Size, such as the rows of a picture.
type blocks struct{ Size int }

// Visible is ⌊i/Size⌋ = ⌊j/Size⌋.
func (v blocks) Visible(_, i, j int) bool { return i/v.Size == j/v.Size }

// Check refuses a size that does not divide the context.
func (v blocks) Check(d nn.Dims) error {
	if v.Size < 1 || d.Context%v.Size != 0 {
		return fmt.Errorf("groups of %d do not divide %d tokens", v.Size, d.Context)
	}
	return nil
}

// A Visibility of one's own may refuse sizes, wherever in an All it stands.
func ExampleChecker() {
	see := nn.All{nn.Causal{}, nn.All{blocks{3}}}
	picture(nn.Dims{Batch: 1, Context: 6}, see)
	g := graph.New(graph.Float32, 1)
	nn.NewMask(g.Root().Sub("h.0"), nn.Dims{Batch: 1, Context: 7}, see)
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
