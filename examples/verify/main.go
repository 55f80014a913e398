// Verify computes every gradient of a model by hand, as the paper derives them, and prints the distances of five other
// ways: Gorgonia's automatic differentiation, the kernels in float64 and float32, the complex step, and the derivative
// of the forward pass in a finite field, without rounding.
//
//	go run ./examples/verify                                          # a small model with everything in it
//	go run ./examples/verify -head tied -block post -activation relu  # another model
//	go run ./examples/verify -precision bf16                          # with products in bfloat16 as well
//	go run ./examples/verify -model out -data input.txt               # the weights of a trained model
//	go run ./examples/verify -all                                     # every layer on its own
//	go run ./examples/verify -exact                                   # all formulas by hand, without rounding
//	go run ./examples/verify -hash                                    # trainings with the same hash on every machine
//	go run ./examples/verify -page equations.html                     # a page of the papers' equations
//	go run ./examples/verify -replay out                              # does a run again: equal to the last bit?
//	go run ./examples/verify -replay out -segments 3                  # only three random stretches of it
//	go run ./examples/verify -replay certificate.json -data input.txt # without its checkpoints
//	go run ./examples/verify -replay out -with other                  # compares two runs
//
// It exits with status 1 if any gradient disagrees, and prints where the first wrong Δ is, from the loss downwards; or
// if a replay is not equal, and prints the first step that differs, both numbers, and what differs of the builds.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"

	"github.com/pedestrian-ml/pedestrian/examples/internal/base"
	"github.com/pedestrian-ml/pedestrian/examples/internal/corpus"
	"github.com/pedestrian-ml/pedestrian/examples/internal/folder"
	"github.com/pedestrian-ml/pedestrian/examples/internal/program"
	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/published"
	"github.com/pedestrian-ml/pedestrian/gpt/text"
	"github.com/pedestrian-ml/pedestrian/gpt/train"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/verify"
	"github.com/pedestrian-ml/pedestrian/verify/inventory"
	"github.com/pkg/errors"
)

func main() { program.Main("verify", run) }

// errDisagree is the error of the program if any gradient disagrees.
var errDisagree = errors.New("a gradient disagrees")

// small returns the default model. All sizes differ, so that nothing transposed can pass.
func small() gpt.Config {
	c := gpt.Shakespeare()
	c.BlockSize, c.VocabSize, c.NLayer, c.NHead, c.NEmbd = 6, 11, 2, 2, 8
	c.QKSize, c.VSize, c.NInner = 3, 5, 13
	c.BatchSize, c.Bias, c.Head, c.Seed = 2, true, "linear", 1
	return c
}

// keepSizes gives the parts of a preset the sizes of small: a derivative by differences costs a forward pass for every
// parameter.
func keepSizes(c *gpt.Config) {
	s := small()
	c.BlockSize, c.VocabSize, c.NLayer, c.NHead, c.NEmbd = s.BlockSize, s.VocabSize, s.NLayer, s.NHead, s.NEmbd
	c.QKSize, c.VSize, c.NInner, c.BatchSize, c.Seed = 4, s.VSize, s.NInner, s.BatchSize, s.Seed
	c.Dropout = 0
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	c := small()
	flags := program.Flags("verify", stderr)
	var loss, saved, data, pagePath, preset string
	var asJSON, all, inField, hash bool
	var certified replay
	training := slices.DeleteFunc(train.Fields(&c.Training, &c.Run, nil, nil).Names(), func(name string) bool {
		return slices.Contains([]string{"batch_size", "seed", "memory_limit", "precision"}, name)
	})
	flags.Group("network", "the network", c.Flags, training...)
	flags.Group("checks", "what is checked, and how it is printed", func(flags *flag.FlagSet) {
		base.PresetFlag(flags, &preset)
		flags.StringVar(&loss, "loss", "mean", "mean or sum over the targets")
		flags.StringVar(&saved, "model", "", "directory of a run, or a published model, instead of random weights")
		flags.StringVar(&data, "data", "", "text for the batch of -model; by default tinyshakespeare")
		flags.BoolVar(&asJSON, "json", false, "print data instead of a table; not with -all")
		flags.BoolVar(&all, "all", false, "check every layer on its own instead of a model")
		flags.BoolVar(&inField, "exact", false,
			"compare all formulas without rounding at thousands of random points, instead of a model")
		flags.BoolVar(&hash, "hash", false,
			"train six small recipes and print the hash of all they compute, the same on every machine; no model")
		flags.StringVar(&pagePath, "page", "",
			"file for a page of the papers' equations and their tests, instead of a model")
	})
	flags.Group("replay", "a run that is done again", func(flags *flag.FlagSet) {
		flags.StringVar(&certified.path, "replay", "", "certificate.json, or the directory of a run, instead of a "+
			"model; -data is its text")
		flags.StringVar(&certified.with, "with", "", "another certificate.json, or directory, to compare with -replay")
		flags.IntVar(&certified.segments, "segments", 0,
			"do this number of random stretches between checkpoints again; 0 is the entire run")
		flags.BoolVar(&certified.commit, "other_commit", false, "replay a certificate of another commit or version")
	})
	flags.Old("checkpoint", "model")
	flags.Often("preset attention position norm block mlp activation head n_layer n_head n_embd block_size bias " +
		"batch_size " +
		"seed precision loss model data all exact hash page json replay")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if err := base.ApplyPreset(flags, preset, &c, keepSizes); err != nil {
		return err
	}
	if err := together(flags, saved != ""); err != nil {
		return err
	}
	if err := program.OneOf("-loss", loss, "mean", "sum"); err != nil {
		return err
	}
	if certified.segments < 0 {
		return errors.Errorf("-segments: got %d, want at least 0", certified.segments)
	}
	switch {
	case certified.path != "":
		certified.data, certified.run.MemoryLimit = data, c.MemoryLimit
		return certified.do(ctx, stdout, stderr)
	case pagePath != "":
		return equations(stdout, pagePath)
	case all:
		return layers(ctx, stdout, inventory.Entries())
	case hash:
		return hashed(ctx, stdout)
	case inField:
		return exact(ctx, stdout, stderr, drawnShapes(), drawsOfCase, modelsDrawn)
	}
	var m verify.Model
	var err error
	if saved != "" {
		m, err = trained(ctx, saved, data, c.BatchSize, c.Seed, stderr)
	} else {
		m, err = verify.NewModel(c, c.BatchSize, c.Seed)
	}
	if err != nil {
		return err
	}
	m.Sum = loss == "sum"
	bar := &bar{out: stderr}
	r, err := verify.CheckContext(ctx, m, bar.tell)
	bar.close()
	if err != nil {
		return err
	}
	return show(stdout, r, asJSON)
}

// bar shows the progress of the check, from its first derivative on.
type bar struct {
	out io.Writer
	*program.Bar
}

func (b *bar) tell(_, total int) {
	if b.Bar == nil {
		b.Bar = program.NewBar(b.out, "verifying", 0, total)
	}
	b.Add(1, "one derivative at a time")
}

func (b *bar) close() {
	if b.Bar != nil {
		b.Close()
	}
}

// together returns an error for flags that would have no effect.
func together(flags *program.FlagSet, saved bool) (err error) {
	alone, does, replayed := "", "", false // a flag that takes no other
	flags.Visit(func(f *flag.Flag) {
		switch {
		case f.Value.String() == "true" && (f.Name == "all" || f.Name == "exact"):
			alone, does = f.Name, "checks every layer on its own, prints a table, and"
		case f.Name == "page":
			alone, does = f.Name, "writes a page about the papers and"
		case f.Name == "replay":
			replayed = true
		}
	})
	other := []string{"with", "segments", "other_commit"}
	flags.Visit(func(f *flag.Flag) {
		switch {
		case err != nil:
		case alone != "" && f.Name != alone:
			err = errors.Errorf("-%s: -%s %s takes no other flag", f.Name, alone, does)
		case replayed && !slices.Contains(append(other, "replay", "data", "memory_limit"), f.Name):
			err = errors.Errorf("-%s: -replay does a run again with its own settings; give one of the two", f.Name)
		case replayed:
		case slices.Contains(other, f.Name):
			err = errors.Errorf("-%s: without -replay it has no effect; give both", f.Name)
		case saved && !slices.Contains([]string{"model", "data", "loss", "json", "batch_size", "seed"}, f.Name):
			err = errors.Errorf("-%s: -model has the network; give one of the two", f.Name)
		case !saved && f.Name == "data":
			err = errors.New("-data: without -model the batch is random; give both")
		}
	})
	return err
}

func show(w io.Writer, r *verify.Report, asJSON bool) (err error) {
	if asJSON {
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		err = e.Encode(r)
	} else {
		_, err = r.WriteTo(w)
	}
	if err == nil && !r.OK() {
		err = errDisagree
	}
	return err
}

// trained returns the model of the newest checkpoint with a random batch of the text.
func trained(
	ctx context.Context, dir, data string, batch int, seed uint64, stderr io.Writer,
) (m verify.Model, err error) {
	cp, err := folder.Kind("./examples/tinyshakespeare").Load(dir, stderr)
	if err != nil {
		return m, err
	}
	defer cp.Close()
	files, err := published.SourceOf(cp)
	if err != nil {
		return m, err
	}
	model, tok, err := base.Open(graph.New(graph.Float32, 1), files)
	if err != nil {
		return m, err
	}
	source, err := corpus.Open(ctx, data, stderr)
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
	fmt.Fprintf(stderr, "%s: %s parameters, %d sequences of %d tokens\n",
		cp.Path, program.Thousands(m.Count()), batch, model.Config.BlockSize)
	return m, text.Sample(text.Tokens(ids), rand.New(rand.NewPCG(seed, 1)), m.Tokens, m.Targets, model.Config.BlockSize)
}
