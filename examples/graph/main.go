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
	err := run(os.Args[1:], os.Stdout, os.Stderr)
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
	program.Group(fs, "The network", c.Flags, training...)
	program.Group(fs, "Instead of the network's defaults", func(fs *flag.FlagSet) { base.PresetFlag(fs, &preset) })
	program.Group(fs, "The output", func(fs *flag.FlagSet) {
		fs.StringVar(&dot, "dot", "", `write a picture instead of the table: "all", or a scope such as "h.0"`)
	})
	if err := program.Parse(fs, args); err != nil {
		return err
	}
	if err := base.Preset(preset, &c); err != nil {
		return err
	}
	c.VocabSize = cmp.Or(c.VocabSize, 65)  // that of Shakespeare
	if err := fs.Parse(args); err != nil { // again, because flags override the preset
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
