package gpt

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/gpt/checkpoint"
	"github.com/pedestrian-ml/pedestrian/gpt/dist"
	"github.com/pedestrian-ml/pedestrian/gpt/parts"
	"github.com/pedestrian-ml/pedestrian/gpt/train"
	"github.com/pedestrian-ml/pedestrian/graph/optim"
)

// many returns a configuration whose micro-batches eight machines can share, in parts of three.
func many() Config {
	c := eventful()
	c.GradientAccumulationSteps, c.BatchSize, c.Threads = 24, 2, 1
	return c
}

// on does some steps with a trainer on each rank, and returns the results that must be the same on all: the Progress of
// each step, the evaluations, and the fingerprint.
func on(t *testing.T, ranks, steps int, begin func(dist.Group) (*Trainer, error), then func(*Trainer) error) []string {
	t.Helper()
	all := make([][]string, ranks)
	err := dist.Run(t.Context(), ranks, func(g dist.Group) error {
		trainer, err := begin(g)
		if err != nil {
			return err
		}
		results := &all[g.Rank()]
		for range steps {
			p, err := trainer.Step()
			if err != nil {
				return err
			}
			p.Took = 0
			*results = append(*results, fmt.Sprint(p))
		}
		e, err := trainer.Evaluate(t.Context())
		full, err2 := trainer.EvaluateAll(t.Context(), nil)
		print, err3 := fingerprintOf(trainer)
		*results = append(*results, fmt.Sprint(e, full, trainer.Best), print)
		return errors.Join(err, err2, err3, then(trainer))
	})
	if err != nil {
		t.Fatalf("%d ranks: %v", ranks, err)
	}
	for rank := range ranks {
		if !slices.Equal(all[rank], all[0]) {
			t.Errorf("%d ranks: rank %d has %v, rank 0 %v", ranks, rank, all[rank], all[0])
		}
	}
	return all[0]
}

// For any number of machines, steps, losses, evaluations, weights and moments are the same bits: with every optimizer,
// with the moments divided among them, with and without a hook for gradients, in one run and when another number of
// machines resumes the checkpoint of rank 0.
func TestMachinesSameBits(t *testing.T) {
	type change struct {
		machines []int
		change   func(*Config)
	}
	changes := map[string]change{
		"divided": {[]int{2, 4, 8}, func(c *Config) { c.ShardOptimizer = true }},
		"divided, shown": {[]int{2}, func(c *Config) {
			c.ShardOptimizer, c.Hooks.Gradients = true, func(int, []train.Named) error { return nil }
		}},
		"averaged":  {[]int{2}, func(c *Config) { c.EMA, c.ShardOptimizer = 0.75, true }},
		"reference": {[]int{4}, func(c *Config) { c.Kernels = false }},
	}
	for _, o := range parts.Optimizers() {
		name, machines := string(o.Name), []int{4}
		if name == "adamw" {
			machines = []int{1, 2, 4, 8}
		} else {
			changes["divided "+name] = change{[]int{2}, func(c *Config) { c.Optimizer, c.ShardOptimizer = name, true }}
		}
		changes[name] = change{machines, func(c *Config) { c.Optimizer = name }}
	}
	for name, tc := range changes {
		c := many()
		tc.change(&c)
		alone := newTrainer(t, c)
		after := func(n int) []string {
			results := []string(nil)
			for _, p := range steps(t, alone, n) {
				results = append(results, fmt.Sprint(p))
			}
			e, err := alone.Evaluate(t.Context())
			full, err2 := alone.EvaluateAll(t.Context(), nil)
			if err := errors.Join(err, err2); err != nil {
				t.Fatal(err)
			}
			return append(results, fmt.Sprint(e, full, alone.Best), fingerprint(t, alone))
		}
		first, second := after(2), after(1)
		path := t.TempDir()
		for _, n := range tc.machines {
			dir := fmt.Sprint(path, "/", n)
			fresh := func(g dist.Group) (*Trainer, error) {
				trainer, err := NewTrainer(c, alone.Corpus, alone.Tokenizer)
				if err == nil {
					trainer.Group = g
				}
				return trainer, err
			}
			if got := on(t, n, 2, fresh, func(trainer *Trainer) error { return trainer.Save(dir) }); !slices.Equal(got, first) {
				t.Errorf("%s on %d machines: got %v, want %v", name, n, got, first)
			}
			cp, err := checkpoint.Load(dir)
			if err != nil {
				t.Fatal(err)
			}
			resumed := func(g dist.Group) (*Trainer, error) {
				c := c
				c.Hooks.Group = g
				trainer, err := Resume(c, alone.Corpus, alone.Tokenizer, cp)
				if err == nil && c.ShardOptimizer && g.Size() > 1 {
					err = divided(trainer)
				}
				return trainer, err
			}
			m := map[int]int{1: 8, 2: 4, 4: 1, 8: 2}[n]
			if got := on(t, m, 1, resumed, func(*Trainer) error { return nil }); !slices.Equal(got, second) {
				t.Errorf("%s from %d on %d machines: got %v, want %v", name, n, m, got, second)
			}
		}
	}
}

// divided returns an error unless a trainer has a part of its moments, but not all.
func divided(trainer *Trainer) error {
	has, all := 0, 0
	for _, m := range trainer.Moments() {
		if strings.HasPrefix(m.Name, "e.") { // averages are not divided
			continue
		}
		has += m.Len()
		size := 1
		for _, n := range m.Shape {
			size *= n
		}
		all += size
	}
	if n := trainer.Group.Size(); has*n < all/2 || has*n > 2*all {
		return fmt.Errorf("%d of %d numbers on each of %d machines", has, all, n)
	}
	return nil
}

// Machines that cannot share the micro-batches, or that do not train the same, are refused with the difference.
func TestMachinesRefused(t *testing.T) {
	together := func(n int, c func(rank int) Config, change func(*Trainer, int)) error {
		var list []*Trainer
		for rank := range n {
			list = append(list, newTrainer(t, c(rank)))
			change(list[rank], rank)
		}
		return dist.Run(t.Context(), n, func(g dist.Group) error {
			list[g.Rank()].Group = g
			_, err := list[g.Rank()].Step()
			return err
		})
	}
	same := func(*Trainer, int) {}
	for micro, want := range map[int]string{
		1: "got 1 for 4 ranks, want a multiple of 4 such as 4, or at most 1 ranks",
		6: "gradient_accumulation_steps: got 6 for 4 ranks, want a multiple of 4 such as 8, or at most 2 ranks",
	} {
		mustContain(t, together(4, func(int) Config { c := many(); c.GradientAccumulationSteps = micro; return c }, same), want)
	}
	mustContain(t, together(2, func(rank int) Config { c := many(); c.WeightDecay = float64(rank); return c }, same),
		"rank 1: step 1: got weight_decay 1, rank 0 has weight_decay 0")
	mustContain(t, together(2, func(rank int) Config { c := many(); c.NLayer = 1 + rank; return c }, same),
		"rank 1: step 1: got n_layer 2, rank 0 has n_layer 1")
	mustContain(t, together(2, func(rank int) Config { c := many(); c.Dropout = float64(rank) / 4; return c }, same),
		"rank 1: step 1: got dropout 0.25, rank 0 has dropout 0") // which changes no tensor
	mustContain(t, together(2, func(int) Config { return many() }, func(trainer *Trainer, rank int) {
		if rank == 1 {
			trainer.Corpus, _ = corpus(t, verses[1:], many().BlockSize)
		}
	}), "rank 1: step 1: got corpus_sha256 ", "rank 0 has corpus_sha256 ")
	mustContain(t, together(2, func(int) Config { return many() }, func(trainer *Trainer, rank int) {
		if rank == 1 {
			trainer.batches.Uint64() // as of a checkpoint of another run
		}
	}), "rank 1: step 1: got batches ", "rank 0 has batches ")
	mustContain(t, together(4, func(int) Config { return many() }, func(trainer *Trainer, rank int) {
		if rank == 2 {
			trainer.Model.Params()[3].Tensor().Set(1, 0.5)
		}
	}), "rank 2: step 1: got h.0.", "rank 0 has h.0.")
	mustContain(t, together(2, func(int) Config { return many() }, func(trainer *Trainer, rank int) {
		if rank == 1 {
			trainer.Corpus = nil // a panic of its own
		}
	}), "rank 1: ")
	mustContain(t, together(2, func(int) Config {
		c := many()
		c.Optimizer, c.ShardOptimizer = "entire", true
		c.Parts.Optimizers = []parts.Optimizer{{Name: "entire", New: func(train.Training) optim.Rule { return entire{} }}}
		return c
	}, same), "step 1: shard_optimizer: entire: updates entire parameters, so no machine can update a part")
}

// entire is a rule that needs entire parameters.
type entire struct{ optim.SGD }

func (entire) State() (optim.State, error) { return optim.State{Name: "entire", Whole: true}, nil }
