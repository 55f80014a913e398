// Hash trains the model of the page that trains, and prints the hash of its losses, the norms of its gradients and its
// weights. The page shows the same hash for the same choice after the same number of steps.
//
//	go run ./examples/book/trainer/hash -steps 100
//	go run ./examples/book/trainer/hash -task sort -attention gated_deltanet -steps 100
package main

import (
	"context"
	"flag"
	"fmt"
	"io"

	"github.com/pedestrian-ml/pedestrian/examples/book/trainer/internal/session"
	"github.com/pedestrian-ml/pedestrian/examples/internal/program"
	"github.com/pedestrian-ml/pedestrian/internal/file"
	"github.com/pkg/errors"
)

func main() { program.Main("hash", run) }

func run(_ context.Context, args []string, stdout, stderr io.Writer) error {
	c, steps, data := session.Default(), 100, ""
	fs := program.Flags("hash", stderr)
	fs.Group("model", "what to train", func(fs *flag.FlagSet) {
		fs.StringVar(&c.Task, "task", c.Task, "sum, sort or text")
		fs.StringVar(&data, "data", "", "the file of task text; empty is the text that the page begins with")
		fs.StringVar(&c.Position, "position", c.Position, "encoding of positions, by name")
		fs.StringVar(&c.Norm, "norm", c.Norm, "norm, by name")
		fs.StringVar(&c.Attention, "attention", c.Attention, "attention or recurrence, by name")
		fs.Uint64Var(&c.Seed, "seed", c.Seed, "seed of the weights and of the batches")
		fs.IntVar(&steps, "steps", steps, "number of steps")
	})
	if err := fs.Parse(args); err != nil {
		return err
	}
	if steps < 1 {
		return errors.Errorf("steps: got %d, want at least 1", steps)
	}
	if data != "" && c.Task != "text" {
		return errors.Errorf("data: got a file with task %s, want it with task text", c.Task)
	}
	if data != "" {
		text, err := file.ReadText(data, session.MostBytes)
		if err != nil {
			return err
		}
		c.Text = string(text)
	}
	hash, err := session.Hash(c, steps)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(stdout, hash)
	return err
}
