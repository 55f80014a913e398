// Verify works out every gradient of a model by hand, as the paper derives them, and prints how far four witnesses are
// from it: Gorgonia's automatic differentiation, the kernels in float64 and float32, and the complex step.
//
//	go run ./examples/verify                                          # a small model with everything in it
//	go run ./examples/verify -tie=false -block post -activation relu  # another
//	go run ./examples/verify -checkpoint out -data input.txt          # the weights of a trained model
//
// It exits with status 1 if any gradient disagrees, and says where the first wrong Δ is, from the loss downwards.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"

	"github.com/pkg/errors"
	"github.com/pedestrian-ml/pedestrian/examples/internal/corpus"
	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/checkpoint"
	"github.com/pedestrian-ml/pedestrian/gpt/text"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/verify"
)

func main() {
	ok, err := run()
	if err != nil {
		fmt.Fprintln(os.Stderr, "verify:", err)
	}
	if !ok {
		os.Exit(1)
	}
}

// small is the default: all sizes differ, so that nothing transposed can pass.
func small() gpt.Config {
	c := gpt.Shakespeare()
	c.BlockSize, c.VocabSize, c.NLayer, c.NHead, c.NEmbd = 6, 11, 2, 2, 8
	c.QKSize, c.VSize, c.NInner = 3, 5, 13
	c.BatchSize, c.Bias, c.Tie, c.Seed = 2, true, false, 1
	return c
}

func run() (ok bool, err error) {
	c := small()
	c.Flags(flag.CommandLine)
	var (
		loss   = flag.String("loss", "mean", "mean or sum over the targets")
		saved  = flag.String("checkpoint", "", "directory of a trained model, instead of random weights")
		data   = flag.String("data", "", "text for the checkpoint's batch; by default tinyshakespeare")
		asJSON = flag.Bool("json", false, "print data instead of a table")
	)
	flag.Parse()
	if *loss != "mean" && *loss != "sum" {
		return false, errors.Errorf("-loss: got %q, want mean or sum", *loss)
	}
	var m verify.Model
	if *saved != "" {
		m, err = trained(*saved, *data, c.BatchSize, c.Seed)
	} else {
		m, err = verify.NewModel(c, c.BatchSize, c.Seed)
	}
	if err != nil {
		return false, err
	}
	if *loss == "sum" {
		m.Reduction = verify.Sum
	}
	r, err := verify.Check(m)
	if err != nil {
		return false, err
	}
	if *asJSON {
		e := json.NewEncoder(os.Stdout)
		e.SetIndent("", "  ")
		return r.OK(), e.Encode(r)
	}
	_, err = r.WriteTo(os.Stdout)
	return r.OK(), err
}

// trained is the model of the newest checkpoint with a random batch of the text.
func trained(dir, data string, batch int, seed uint64) (m verify.Model, err error) {
	cp, err := checkpoint.Load(dir)
	if err != nil {
		return m, err
	}
	model, tok, err := gpt.LoadModel(graph.New(graph.Float32, 1), cp)
	if err != nil {
		return m, err
	}
	if tok == nil {
		return m, errors.Errorf("checkpoint %s: no tokenizer.json", cp.Path)
	}
	source, err := corpus.Open(context.Background(), data, os.Stderr)
	if err != nil {
		return m, err
	}
	ids, err := tok.Encode(source.Text)
	if err != nil {
		return m, errors.Wrap(err, source.Name)
	}
	n := batch * model.Config.BlockSize
	m = verify.Model{Config: model.Config, Parameters: verify.Parameters[float64]{}, Tokens: make([]int, n), Targets: make([]int, n), Seed: seed}
	for _, p := range model.Params() {
		m.Parameters[p.Name()] = verify.FromTensor(p.Tensor())
	}
	return m, text.Split(ids).Sample(rand.New(rand.NewPCG(seed, 1)), m.Tokens, m.Targets, model.Config.BlockSize)
}
