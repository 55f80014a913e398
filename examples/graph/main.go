// Graph prints the layers of a model with their shapes and parameters, as the paper's Table 2 does, and writes pictures
// of its graph in Graphviz's language.
//
//	go run ./examples/graph                                       # the table of the Shakespeare model
//	go run ./examples/graph -preset gpt2                          # the table of another model
//	go run ./examples/graph -dot h.0 > block.dot                  # one block; -dot all for everything
//	go run ./examples/graph -dot h.0 -kernels=false > block.dot   # the same with stock operations
package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/pedestrian-ml/pedestrian/examples/internal/base"
	"github.com/pedestrian-ml/pedestrian/examples/internal/program"
	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/train"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pkg/errors"
)

func main() {
	observed := program.Observed("graph", func(_ context.Context, args []string, stdout, stderr io.Writer) error {
		return run(args, stdout, stderr)
	})
	err := observed(context.Background(), os.Args[1:], os.Stdout, os.Stderr)
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "graph:", err)
		os.Exit(1)
	}
}

func run(args []string, stdout, stderr io.Writer) error {
	c, dot, preset := gpt.Shakespeare(), "", ""
	c.VocabSize = 65
	fs := program.Flags("graph", stderr)
	training := slices.DeleteFunc(train.Fields(&c.Training, &c.Run, nil, nil).Names(), func(name string) bool {
		return slices.Contains([]string{"batch_size", "kernels", "memory_limit"}, name)
	})
	fs.Group("network", "the network", c.Flags, training...)
	fs.Group("network", "instead of the network's defaults", func(fs *flag.FlagSet) { base.PresetFlag(fs, &preset) })
	fs.Group("output", "the output", func(fs *flag.FlagSet) {
		fs.StringVar(&dot, "dot", "", `write a picture instead of the table: "all", or a scope such as "h.0"`)
	})
	fs.Often("preset n_layer n_head n_embd block_size vocab_size n_inner bias attention position norm block mlp " +
		"activation " +
		"head batch_size kernels dot")
	if err := fs.Parse(args); err != nil {
		return err
	}
	characters := func(c *gpt.Config) { c.VocabSize = cmp.Or(c.VocabSize, 65) } // of Shakespeare
	if err := base.ApplyPreset(fs, preset, &c, characters); err != nil {
		return err
	}
	g := graph.New(graph.Float32, c.Seed)
	c.Configure(g)
	if _, err := gpt.New(g, c, c.BatchSize); err != nil {
		return err
	}
	switch dot {
	case "":
		return g.Summary(stdout)
	case "all":
		return g.Dot(stdout, "")
	}
	return g.Dot(stdout, dot)
}
