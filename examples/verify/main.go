// Verify computes every gradient of a model by hand, as the paper derives them, and prints how far four other ways are
// from it: Gorgonia's automatic differentiation, the kernels in float64 and float32, and the complex step.
//
//	go run ./examples/verify                                          # a small model with everything in it
//	go run ./examples/verify -head tied -block post -activation relu  # another
//	go run ./examples/verify -checkpoint out -data input.txt          # the weights of a trained model
//	go run ./examples/verify -all                                     # every layer on its own
//
// It exits with status 1 if any gradient disagrees, and says where the first wrong Δ is, from the loss downwards.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"

	"github.com/pedestrian-ml/pedestrian/examples/internal/base"
	"github.com/pedestrian-ml/pedestrian/examples/internal/corpus"
	"github.com/pedestrian-ml/pedestrian/examples/internal/program"
	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/text"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/verify"
	"github.com/pedestrian-ml/pedestrian/verify/inventory"
	"github.com/pkg/errors"
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

// small is the default: all sizes differ, so that nothing transposed can pass.
func small() gpt.Config {
	c := gpt.Shakespeare()
	c.BlockSize, c.VocabSize, c.NLayer, c.NHead, c.NEmbd = 6, 11, 2, 2, 8
	c.QKSize, c.VSize, c.NInner = 3, 5, 13
	c.BatchSize, c.Bias, c.Head, c.Seed = 2, true, "linear", 1
	return c
}

// run is the program; the status is 0 if every gradient agrees.
func run(args []string, stdout, stderr io.Writer) (status int) {
	ok, err := check(args, stdout, stderr)
	if err != nil && err != flag.ErrHelp {
		fmt.Fprintln(stderr, "verify:", err)
	}
	if !ok {
		return 1
	}
	return 0
}

func check(args []string, stdout, stderr io.Writer) (ok bool, err error) {
	c := small()
	flags := program.Flags("verify", stderr)
	c.Flags(flags)
	var (
		loss   = flags.String("loss", "mean", "mean or sum over the targets")
		saved  = flags.String("checkpoint", "", "directory of a trained model, instead of random weights")
		data   = flags.String("data", "", "text for the checkpoint's batch; by default tinyshakespeare")
		asJSON = flags.Bool("json", false, "print data instead of a table; not with -all")
		all    = flags.Bool("all", false, "check every layer on its own instead of a model")
	)
	if err := program.Parse(flags, args); err != nil {
		return err == flag.ErrHelp, err
	}
	if err := together(flags, *all, *saved != ""); err != nil {
		return false, err
	}
	known := *loss == "mean" || *loss == "sum"
	if err := program.Want(known, "-loss", strconv.Quote(*loss), "mean or sum"); err != nil {
		return false, err
	}
	if *all {
		return layers(stdout, inventory.Entries())
	}
	var m verify.Model
	if *saved != "" {
		m, err = trained(*saved, *data, c.BatchSize, c.Seed, stderr)
	} else {
		m, err = verify.NewModel(c, c.BatchSize, c.Seed)
	}
	if err != nil {
		return false, err
	}
	m.Sum = *loss == "sum"
	r, err := verify.Check(m)
	if err != nil {
		return false, err
	}
	return show(stdout, r, *asJSON)
}

// together refuses the flags that would have no effect.
func together(flags *flag.FlagSet, all, saved bool) (err error) {
	flags.Visit(func(f *flag.Flag) {
		switch {
		case err != nil:
		case all && f.Name != "all":
			err = errors.Errorf("-%s: -all checks every layer on its own, prints a table, and takes no other flag",
				f.Name)
		case saved && !slices.Contains([]string{"checkpoint", "data", "loss", "json", "batch_size", "seed"}, f.Name):
			err = errors.Errorf("-%s: the network is that of -checkpoint; give one of the two", f.Name)
		case !saved && f.Name == "data":
			err = errors.New("-data: without -checkpoint the batch is random; give both")
		}
	})
	return err
}

func show(w io.Writer, r *verify.Report, asJSON bool) (ok bool, err error) {
	if asJSON {
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		return r.OK(), e.Encode(r)
	}
	_, err = r.WriteTo(w)
	return r.OK(), err
}

// trained is the model of the newest checkpoint with a random batch of the text.
func trained(dir, data string, batch int, seed uint64, stderr io.Writer) (m verify.Model, err error) {
	cp, err := base.Load(dir, stderr)
	if err != nil {
		return m, err
	}
	defer cp.Close()
	model, tok, err := base.Open(graph.New(graph.Float32, 1), cp)
	if err != nil {
		return m, err
	}
	source, err := corpus.Open(context.Background(), data, stderr)
	if err != nil {
		return m, err
	}
	ids, err := tok.Encode(source.Text)
	if err != nil {
		return m, errors.Wrap(err, source.Name)
	}
	n := batch * model.Config.BlockSize
	m = verify.Model{Config: model.Config, Parameters: verify.ParametersOf(model.Params()), Seed: seed}
	m.Tokens, m.Targets = make([]int, n), make([]int, n)
	return m, text.Sample(text.Tokens(ids), rand.New(rand.NewPCG(seed, 1)), m.Tokens, m.Targets, model.Config.BlockSize)
}
