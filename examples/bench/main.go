// Bench times training steps, or the decoding of single tokens, and prints one line of JSON.
//
//	go run ./examples/bench                       # the Shakespeare recipe: 4 layers, 4 heads, 128, context 64, batch 12
//	go run ./examples/bench -shape gpt2 -steps 10 # 12 layers, 12 heads, 768, context 256, batch 1, vocabulary 50257
//	go run ./examples/bench -threads 1,2,4        # what more threads gain, as a table
//	go run ./examples/bench -compare 3            # all shapes, beside PyTorch if it is installed, three times in turn
//	go run ./examples/bench -shape decode         # one token at a time through the KV cache; decode-baby, decode-gpt2
//	go run ./examples/bench -shape decode-gpt2 -weights int8 # with weights in fewer bits, or bf16
//
// peak_gflops is the rate of fused multiply-adds and pingpong_ns the round trip of a cache line between two threads,
// both measured in the same run: on a virtual machine the second varies, and with it what two threads gain.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pkg/errors"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// shapes returns the models to time.
func shapes() map[string]gpt.Config {
	char := gpt.Shakespeare()
	char.VocabSize = 65
	baby := gpt.Baby()
	baby.VocabSize, baby.BatchSize, baby.Dropout = 65, 8, 0
	gpt2 := baby
	gpt2.NLayer, gpt2.NHead, gpt2.NEmbd, gpt2.BatchSize, gpt2.VocabSize = 12, 12, 768, 1, 50257
	return map[string]gpt.Config{"char": char, "baby": baby, "gpt2": gpt2}
}

// known returns their names.
func known() string { return strings.Join(slices.Sorted(maps.Keys(shapes())), ", ") }

func run() error {
	shape := flag.String("shape", "char", known()+"; decode, decode-baby, decode-gpt2")
	threads := flag.String("threads", "0", "threads of the kernels; 0 is one per processor; of several, 1,2,4, a table")
	steps := flag.Int("steps", 100, "steps to time, after a warm-up; for decoding, tokens")
	context := flag.Int("block_size", 0, "context length, at the same number of tokens in a batch; 0 is the shape's")
	rounds := flag.Int("compare", 0,
		"how often to time every shape, in turn with PyTorch if it is installed, and print a table")
	quick := flag.Bool("quick", false, "with -compare: a step or two of each shape, to see that it works")
	python := flag.String("python", "", "with -compare: an interpreter of Python that has PyTorch, of any version")
	precision := flag.String("precision", "float32",
		"of products while training; with -compare, bf16 is compared with the faster of PyTorch's float32 and its bf16 autocast")
	recompute := flag.Bool("recompute", false, "compute a block's activations again in the backward pass")
	weights := flag.String("weights", "", "keep the weights of decoding in fewer bits: bf16 or int8")
	kernels := flag.Bool("kernels", true, "use kernels; false builds the reference from stock operations")
	flag.Parse()
	if *rounds > 0 {
		return comparison{*rounds, *quick, *python, *precision}.print(os.Stdout)
	}
	counts, err := threadCounts(*threads)
	if err != nil {
		return err
	}
	if len(counts) > 1 {
		return curve(os.Stdout, os.Args[1:], counts)
	}
	c, decode, err := settings(*shape, *steps, *precision, graph.Packing(*weights))
	if err != nil {
		return err
	}
	c.Threads, c.Kernels, c.Recompute, c.Precision = counts[0], *kernels, *recompute, *precision
	if !c.Kernels {
		graph.UseBLAS(c.Threads)
	}
	if *context > 0 {
		c.BatchSize = max(1, c.BatchSize*c.BlockSize / *context)
		c.BlockSize = *context
	}
	var line any
	if decode {
		line, err = decoding(*shape, c, *steps, graph.Packing(*weights))
	} else {
		line, err = training(*shape, c, *steps)
	}
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(line)
}

// settings returns the model of a shape, and whether it decodes, if what is asked for fits together.
func settings(shape string, steps int, precision string, weights graph.Packing) (c gpt.Config, decode bool, err error) {
	name, decode := strings.CutPrefix(shape, "decode")
	if name = strings.TrimPrefix(name, "-"); name == "" {
		name = "char"
	}
	c, ok := shapes()[name]
	switch {
	case !ok:
		err = errors.Errorf("-shape: got %q, want one of %s, or decode", shape, known())
	case steps < 1:
		err = errors.Errorf("-steps: got %d, want 1 or more", steps)
	case weights != "" && weights.Validate() != nil:
		err = errors.Wrap(weights.Validate(), "-weights")
	case weights != "" && !decode:
		err = errors.Errorf("-weights: got %q with -shape %s, want a shape of decoding", weights, shape)
	case decode && precision != "float32":
		err = errors.Errorf("-precision: got %q with -shape %s, want float32: what decodes has fewer bits by -weights bf16 or int8",
			precision, shape)
	}
	return c, decode, err
}
