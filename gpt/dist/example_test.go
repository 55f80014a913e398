package dist_test

import (
	"context"
	"fmt"

	"github.com/pedestrian-ml/pedestrian/gpt/dist"
)

// Four ranks add up their numbers.
func ExampleRun() {
	err := dist.Run(context.Background(), 4, func(g dist.Group) error {
		x := []float32{1, float32(g.Rank())}
		if err := g.Sum(x); err != nil {
			return err
		}
		if g.Rank() == 0 {
			fmt.Println(x)
		}
		return nil
	})
	fmt.Println(err)
	// Output:
	// [4 6]
	// <nil>
}
