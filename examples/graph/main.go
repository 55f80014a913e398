// Graph prints the layers of a model with their shapes and parameters, as the paper's Table 2 does, and writes pictures
// of its graph in Graphviz's language.
//
//	go run ./examples/graph                                       # the table of the Shakespeare model
//	go run ./examples/graph -n_layer 12 -n_embd 768 -n_head 12    # of another
//	go run ./examples/graph -dot h.0 > block.dot                  # one block; -dot all for everything
//	go run ./examples/graph -dot h.0 -kernels=false > block.dot   # of stock operations
package main

import (
	"flag"
	"fmt"
	"os"

	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/graph"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "graph:", err)
		os.Exit(1)
	}
}

func run() error {
	c := gpt.Shakespeare()
	c.VocabSize = 65
	c.Flags(flag.CommandLine)
	dot := flag.String("dot", "", `write a picture instead: "all", or a scope such as "h.0"`)
	flag.Parse()
	g := graph.New(graph.Float32, c.Seed)
	c.Configure(g)
	if _, err := gpt.New(g, c, c.BatchSize); err != nil {
		return err
	}
	switch *dot {
	case "":
		return g.Summary(os.Stdout)
	case "all":
		return g.Dot(os.Stdout, "")
	}
	return g.Dot(os.Stdout, *dot)
}
