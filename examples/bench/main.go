// Bench times training steps, or the decoding of single tokens, and prints one line of JSON.
//
//	go run ./examples/bench                       # Shakespeare: 4 layers, 4 heads, 128, context 64, batch 12
//	go run ./examples/bench -shape gpt2 -steps 10 # 12 layers, 12 heads, 768, context 256, batch 1, vocabulary 50257
//	go run ./examples/bench -threads 1,2,4        # the gain of more threads, as a table
//	go run ./examples/bench -arms "qk_norm=head; optimizer=muon" # the cost of each part as a ratio
//	go run ./examples/bench -compare 3            # all shapes and PyTorch, if it is installed, three times in turn
//	go run ./examples/bench -compare 3 -llama DIR # beside llama.cpp, which npm has installed in DIR: node-llama-cpp
//	go run ./examples/bench -compare 3 -gomlx examples/bench/gomlx # beside GoMLX's back end in Go
//	go run ./examples/bench -shape decode         # one token at a time through the KV cache; decode-baby, decode-gpt2
//	go run ./examples/bench -shape decode-gpt2 -weights int8 # with weights in fewer bits, or bf16
//
// peak_gflops is the rate of fused multiply-adds and pingpong_ns the round trip of a cache line between two threads,
// both measured in the same run: on a virtual machine the second varies, and with it the gain of two threads.
package main

import (
	"cmp"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/pedestrian-ml/pedestrian/examples/internal/base"
	"github.com/pedestrian-ml/pedestrian/examples/internal/program"
	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/graph/stored"
	"github.com/pedestrian-ml/pedestrian/internal/spelling"
	"github.com/pkg/errors"
)

func main() {
	observed := program.Observed("bench", func(_ context.Context, args []string, stdout, stderr io.Writer) error {
		return run(args, stdout, stderr)
	})
	err := observed(context.Background(), os.Args[1:], os.Stdout, os.Stderr)
	if err != nil && !errors.Is(err, flag.ErrHelp) {
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

// known returns the names of the shapes.
func known() string { return strings.Join(slices.Sorted(maps.Keys(shapes())), ", ") }

// options holds the values of the flags.
type options struct {
	shape, preset, threads, arms, baseline string
	steps, blockSize                       int
	comparison
	recompute, kernels bool
	weights            stored.Packing // empty means float32
}

// parse reads the flags, and refuses those that the run would ignore.
func parse(args []string, stderr io.Writer) (o options, err error) {
	fs := program.Flags("bench", stderr)
	fs.Group("shape", "one run", func(fs *flag.FlagSet) {
		fs.StringVar(&o.shape, "shape", "char", known()+"; decode, decode-baby, decode-gpt2, or with "+
			"the name of another preset; or a file that ends in .gguf, to read a prompt and write")
		base.PresetFlag(fs, &o.preset)
		fs.StringVar(&o.threads, "threads", "0",
			"threads of the kernels; 0 means one per processor; several, such as 1,2,4, print a table")
		fs.IntVar(&o.steps, "steps", 100, "steps to time, after a warm-up; for decoding, tokens")
		fs.StringVar(&o.arms, "arms", "", `variants to time in turn with the shape, such as `+
			`"qk_norm=head; attention=gqa,n_kv_head=1", for a table of ratios`)
		fs.StringVar(&o.baseline, "baseline", "",
			"-arms: changes of the shape with which the variants are compared, such as mlp=swiglu,n_inner=344")
		fs.IntVar(&o.blockSize, "block_size", 0,
			"context length, at the same number of tokens in a batch; 0 means the shape's")
		fs.StringVar(&o.precision, "precision", "float32", "precision of products while training; "+
			"with -compare, bf16 is compared with the faster of PyTorch's float32 and its bf16 autocast")
		fs.BoolVar(&o.recompute, "recompute", false, "compute a block's activations again in the backward pass")
		fs.StringVar((*string)(&o.weights), "weights", "",
			"keep the weights of decoding in fewer bits: bf16, int8 or int4")
		fs.BoolVar(&o.kernels, "kernels", true, "use kernels; false builds the reference from stock operations")
	})
	fs.Group("comparison", "all shapes and PyTorch", func(fs *flag.FlagSet) {
		fs.IntVar(&o.rounds, "compare", 0,
			"times to run every shape, in turn with PyTorch if it is installed, for a table")
		fs.BoolVar(&o.quick, "quick", false, "a step or two of each shape, as a trial")
		fs.StringVar(&o.python, "python", "", "a Python interpreter with PyTorch, of any version")
		fs.StringVar(&o.llama, "llama", "", "a folder in which npm has installed node-llama-cpp: compares with "+
			"llama.cpp instead, on models of the sizes of GPT-2 and SmolLM2-135M in F32, BF16, Q8_0 and Q4_0")
		fs.StringVar(&o.gomlx, "gomlx", "", "the folder examples/bench/gomlx: builds its program and compares with "+
			"GoMLX's back end in Go instead")
	})
	if err := fs.Parse(args); err != nil {
		return o, err
	}
	if o.baseline != "" && o.arms == "" {
		return o, errors.Errorf("-baseline: got %q without -arms; give both", o.baseline)
	}
	for _, name := range slices.Sorted(maps.Keys(fs.Given())) {
		switch ofCompare := slices.Contains([]string{"quick", "python", "llama", "gomlx"}, name); {
		case o.rounds == 0 && ofCompare:
			return o, errors.Errorf("-%s: read by -compare alone; give both", name)
		case o.rounds > 0 && !ofCompare && name != "compare" && name != "precision":
			return o, errors.Errorf("-%s: not read by -compare, which times every shape; give one of the two", name)
		}
	}
	if o.gomlx != "" && (o.llama != "" || o.python != "") {
		return o, errors.New("-gomlx: compares with GoMLX alone; give no -llama and no -python")
	}
	return o, nil
}

func run(args []string, stdout, stderr io.Writer) error {
	o, err := parse(args, stderr)
	if err != nil {
		return err
	}
	if o.rounds > 0 {
		return o.print(stdout)
	}
	counts, err := threadCounts(o.threads)
	if err != nil {
		return err
	}
	if strings.HasSuffix(o.shape, ".gguf") {
		return o.file(stdout, counts)
	}
	c, decode, err := o.settings()
	switch {
	case err != nil:
		return err
	case decode && len(counts) > 1:
		return errors.Errorf("-threads: got %s with -shape %s, want one number: the table is of training steps",
			o.threads, o.shape)
	case o.arms != "" && len(counts) > 1:
		return errors.Errorf("-arms: got %q with -threads %s, want one number", o.arms, o.threads)
	case len(counts) > 1:
		return curve(stdout, args, counts)
	}
	c.Threads, c.Kernels, c.Recompute, c.Precision = counts[0], o.kernels, o.recompute, o.precision
	if !c.Kernels {
		graph.UseBLAS(c.Threads)
	}
	if o.blockSize > 0 {
		c.BatchSize = max(1, c.BatchSize*c.BlockSize/o.blockSize)
		c.BlockSize = o.blockSize
	}
	if o.arms != "" {
		return o.ratios(stdout, c, decode)
	}
	var line any
	name := o.shape
	if o.preset != "" {
		name = "preset " + o.preset
	}
	if decode {
		line, err = decoding(name, c, o.steps, o.weights)
	} else {
		line, err = training(name, c, o.steps)
	}
	if err != nil {
		return err
	}
	return json.NewEncoder(stdout).Encode(line)
}

// file times a GGUF file.
func (o options) file(stdout io.Writer, counts []int) error {
	switch {
	case len(counts) > 1 || o.steps < 1 || o.steps >= promptTokens:
		return errors.Errorf("-shape %s: got -threads %s and -steps %d, want one number of threads and 1 to %d tokens",
			o.shape, o.threads, o.steps, promptTokens-1)
	case o.arms != "" || o.recompute || o.blockSize != 0 || o.weights != "" || !o.kernels || o.precision != "float32":
		return errors.Errorf("-shape %s: a file is read as it is, want no flags but -threads and -steps", o.shape)
	}
	line, err := reading(o.shape, counts[0], o.steps)
	if err != nil {
		return err
	}
	return json.NewEncoder(stdout).Encode(line)
}

// settings returns the model of the shape, and whether it decodes. Settings that contradict each other are an error.
func (o options) settings() (c gpt.Config, decode bool, err error) {
	name, decode := strings.CutPrefix(o.shape, "decode")
	if name = strings.TrimPrefix(name, "-"); name == "" {
		name = "char"
	}
	c, ok := shapes()[name]
	if name = cmp.Or(o.preset, name); o.preset != "" {
		if _, err := gpt.PresetOf(name); err != nil {
			return c, decode, err
		}
		ok = false
	}
	if preset, err := gpt.PresetOf(name); !ok && err == nil && preset.Config.NEmbd > 0 {
		c, ok = preset.Config, true
		c.VocabSize, c.GradientAccumulationSteps = cmp.Or(c.VocabSize, 65), 1
	}
	switch {
	case !ok:
		names := append(slices.Collect(maps.Keys(shapes())), "decode")
		for _, p := range gpt.Presets() {
			names = append(names, p.Name)
		}
		err = errors.Errorf("-shape: got %q, want one of %s, a preset such as modern, or decode%s",
			o.shape, known(), spelling.Hint(o.shape, slices.Sorted(slices.Values(names))))
	case o.steps < 1:
		err = errors.Errorf("-steps: got %d, want 1 or more", o.steps)
	case o.weights != "" && o.weights.Validate() != nil:
		err = errors.Wrap(o.weights.Validate(), "-weights")
	case o.weights != "" && !decode:
		err = errors.Errorf("-weights: got %q with -shape %s, want a shape for decoding", o.weights, o.shape)
	case o.recompute && decode:
		err = errors.Errorf(
			"-recompute: got true with -shape %s, want a shape of training: decoding has no backward pass", o.shape)
	case decode && o.precision != "float32":
		err = errors.Errorf("-precision: got %q with -shape %s, want float32: "+
			"for decoding with fewer bits use -weights bf16, int8 or int4", o.precision, o.shape)
	}
	return c, decode, err
}
