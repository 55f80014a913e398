package gpt

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/pedestrian-ml/pedestrian/gpt/checkpoint"
	"github.com/pedestrian-ml/pedestrian/gpt/dist"
	"github.com/pedestrian-ml/pedestrian/gpt/parts"
	"github.com/pedestrian-ml/pedestrian/gpt/text"
	"github.com/pedestrian-ml/pedestrian/gpt/train"
	"github.com/pedestrian-ml/pedestrian/graph"
)

// parallel returns a run whose matrices are large enough to be divided among several threads.
func parallel() Config {
	c := eventful()
	c.BlockSize, c.BatchSize, c.NEmbd, c.NHead, c.QKSize, c.VSize = 24, 6, 60, 3, 0, 0
	return c
}

// everyPart returns c with each part changed in turn.
func everyPart(c Config) (list []Config) {
	vary := func(set func(*Config)) {
		v := c
		set(&v)
		if v.suit(); v.Attention != "linformer" { // which is not causal
			list = append(list, v)
		}
	}
	for _, p := range parts.Positions() {
		vary(func(c *Config) { c.Position = p.String() })
	}
	for _, a := range parts.Attentions() {
		vary(func(c *Config) {
			if c.Attention = a.String(); c.Attention == "diff" {
				c.NHead += c.NHead % 2 // to an even number
			}
		})
	}
	for _, list := range []string{"gated_deltanet,window", "mla,taylor"} {
		vary(func(c *Config) { c.NLayer, c.Attention = 3, list })
	}
	for _, n := range parts.Norms()[1:] {
		vary(func(c *Config) { c.Norm = n.String() })
	}
	for _, m := range parts.MLPs()[1:] {
		vary(func(c *Config) { c.MLP, c.Activation = m.String(), "" })
	}
	for _, b := range parts.Blocks()[1:] {
		vary(func(c *Config) { c.Block = b.String() })
	}
	vary(func(c *Config) { c.FutureTokens = 3 })
	vary(func(c *Config) { c.Parametrization, c.BaseWidth, c.BaseDepth, c.BaseHead = "mup", 6, 1, 1 })
	return list
}

// recurrent reports whether an attention is a recurrence, which has no mask.
func recurrent(attention string) bool {
	return slices.Contains(
		[]string{
			"gla", "gated_deltanet", "gated_deltanet_neg_eigval", "retnet", "deltanet", "deltanet_neg_eigval", "kda",
			"mamba2", "mingru", "rglru",
		},
		attention,
	)
}

// printHashes trains the kinds of models with numbers of threads. Its argument is separated by spaces: of how many
// kinds it trains one, and the numbers. It prints a line for each model, with a hash of the weights and losses for each
// number.
func printHashes(argument string) error {
	of, numbers, _ := strings.Cut(argument, " ")
	every, err := strconv.Atoi(of)
	if err != nil {
		return err
	}
	c := parallel()
	c.NLayer, c.VocabSize = 1, 41
	rounded := c
	rounded.Precision = "bf16"
	for i, c := range append(everyPart(c), rounded) {
		if i%every > 0 {
			continue
		}
		fmt.Print(c.Attention, c.Position, c.Norm, c.MLP, c.Block, c.FutureTokens, c.Parametrization, c.Precision)
		for _, number := range strings.Fields(numbers) {
			threads, err := strconv.Atoi(number)
			if err != nil {
				return err
			}
			h := sha256.New()
			c.Threads = threads
			if err := hash(h, c); err != nil {
				return err
			}
			fmt.Printf(" %x", h.Sum(nil)[:8])
		}
		fmt.Println()
	}
	return nil
}

// hash trains for some steps.
func hash(h io.Writer, c Config) error {
	tok, err := text.NewCharacters(verses)
	if err != nil {
		return err
	}
	data, err := text.NewCorpus(verses, tok, c.BlockSize)
	if err != nil {
		return err
	}
	trainer, err := NewTrainer(c, data, tok)
	if err != nil {
		return err
	}
	for range 2 {
		p, err := trainer.Step()
		if err != nil {
			return err
		}
		fmt.Fprint(h, p.Loss, p.Norm)
	}
	for _, write := range []func(io.Writer) error{trainer.Model.WriteWeights, writeMoments(trainer)} {
		if err := write(h); err != nil {
			return err
		}
	}
	return nil
}

// The same seed gives the same bits in every process, for any number of processors and threads, with AVX2 as with
// AVX-512, and in plain Go, which takes ten times as long and by day trains one of nine models.
func TestDeterminism(t *testing.T) {
	type run struct {
		setting, threads string // in one process each number, in each process another
		every            int    // one of how many models it trains
	}
	const plain = "GODEBUG=cpu.avx512f=off,cpu.avx2=off"
	runs := []run{{"GOMAXPROCS=2", "1 8", 1}, {"GODEBUG=cpu.avx512f=off", "0", 1}, {plain, "2", 9}}
	switch {
	case os.Getenv("NIGHTLY") != "":
		runs = append(runs, run{"GOMAXPROCS=1", "8", 1}, run{"GOMAXPROCS=2", "2", 1}, run{"GOMAXPROCS=8", "2", 1})
		runs = append(runs, run{plain, "2", 1})
	case testing.Short():
		runs = runs[:1]
	}
	var want []string
	for _, run := range runs {
		cmd, out, complaint := program(t, "hashes", fmt.Sprint(run.every, " ", run.threads), "", run.setting)
		var b bytes.Buffer
		if _, err := io.Copy(&b, out); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Wait(); err != nil {
			t.Fatal(err, complaint)
		}
		lines := strings.Split(strings.TrimSpace(b.String()), "\n")
		if got := len(lines); len(want) > 0 && got != (len(want)+run.every-1)/run.every {
			t.Errorf("%s: got %d models, want one of %d of %d", run.setting, got, run.every, len(want))
		}
		for i, line := range lines {
			i *= run.every
			fields := strings.Fields(line)
			hashes := fields[len(fields)-len(strings.Fields(run.threads)):]
			if i == len(want) {
				want = append(want, hashes[0])
			}
			for _, hash := range hashes {
				if hash != want[i] {
					t.Errorf("%s, %s threads: %s, want %s", run.setting, run.threads, line, want[i])
				}
			}
		}
	}
	if len(want) < 50 {
		t.Errorf("got %d models, want one for every part", len(want))
	}
}

// Another seed is another run.
func TestSeedMatters(t *testing.T) {
	a, b := tiny(), tiny()
	b.Seed++
	x, y := newTrainer(t, a), newTrainer(t, b)
	if fingerprint(t, x) == fingerprint(t, y) {
		t.Error("two seeds give the same first weights")
	}
	if steps(t, x, 1)[0].Loss == steps(t, y, 1)[0].Loss {
		t.Error("two seeds give the same first loss")
	}
}

// TestRecompute: dropping the blocks' activations changes no bit of the training and needs less memory.
func TestRecompute(t *testing.T) {
	for _, block := range []string{"pre", "post"} {
		train := func(recompute bool) (losses []float64, weights [][]float64, bytes int) {
			c := tiny()
			c.NLayer, c.Block, c.Dropout, c.Bias, c.Recompute = 4, block, 0.2, true, recompute
			c.BatchSize = 40 // so that activations outweigh gradients
			tr := newTrainer(t, c)
			for range 5 {
				p, err := tr.Step()
				if err != nil {
					t.Fatal(err)
				}
				losses = append(losses, p.Loss, p.Norm)
			}
			for _, p := range tr.Model.Params() {
				weights = append(weights, p.Tensor().Floats())
			}
			return losses, weights, tr.Model.Graph.Bytes()
		}
		losses, weights, kept := train(false)
		losses2, weights2, bytes2 := train(true)
		if d := cmp.Diff(losses, losses2); d != "" {
			t.Errorf("%s: losses and norms: %s", block, d)
		}
		if d := cmp.Diff(weights, weights2); d != "" {
			t.Errorf("%s: weights differ", block)
		}
		if !(float64(bytes2) < 0.7*float64(kept)) {
			t.Errorf("%s: %d bytes with recomputation, %d without", block, bytes2, kept)
		}
	}
}

// gradients returns the gradients of what a complete model minimises at random parameters and tokens, while training.
func gradients(t *testing.T, g *graph.Graph, c Config, kernels bool) (loss float64, grads map[string][]float64) {
	t.Helper()
	g.Kernels = kernels
	m, err := New(g, c, 2)
	if err != nil {
		t.Fatal(err)
	}
	p, err := graph.Compile(m.Objective, m.Params()...)
	if err != nil {
		t.Fatal(err)
	}
	scramble(m.Params(), 4)
	rng := rand.New(rand.NewPCG(5, 5))
	for i := range m.Tokens.Ints() {
		// some of them ignored
		m.Tokens.Ints()[i], m.Targets.Ints()[i] = rng.IntN(c.VocabSize), rng.IntN(c.VocabSize+1)-1
	}
	g.SetStep(6)
	if err := p.Run(); err != nil {
		t.Fatal(err)
	}
	grads = map[string][]float64{}
	for _, x := range m.Params() {
		grads[x.Name()] = p.Grad(x).Floats()
	}
	return p.Loss(), grads
}

// A model with kernels computes the same as one of stock operations: the loss and the gradient of every parameter,
// adapted or frozen. By day a quarter of the variants is computed in either type, and half of the attentions have
// adapters.
func TestKernelsAgainstStockOperations(t *testing.T) {
	types := []struct {
		empty     func() *graph.Graph
		tolerance float64
		worst     float64
	}{
		{empty: func() *graph.Graph { return graph.New(graph.Float64, 3) }, tolerance: 1e-12},
		{empty: func() *graph.Graph { return graph.New(graph.Float32, 3) }, tolerance: 1e-3},
	}
	variants := variants()
	for name, c := range variants {
		for i := range types {
			_, twin := variants["adapters, "+name]
			base, adapted := strings.CutPrefix(name, "adapters, attention ")
			if os.Getenv("NIGHTLY") == "" && (quarter(base) > 1 ||
				(i == 0) != half(name) || twin && half(name) || adapted && !half(base)) {
				continue
			}
			empty, tolerance, worst := types[i].empty, types[i].tolerance, &types[i].worst
			t.Run(fmt.Sprintf("%s, to %.0e", name, tolerance), func(t *testing.T) {
				a, fast := gradients(t, empty(), c, true)
				b, spelled := gradients(t, empty(), c, false)
				d := relative([]float64{a}, []float64{b}, 0)
				if !(d <= tolerance) {
					t.Errorf("loss: %v with kernels, %v spelled", a, b)
				}
				if len(fast) != len(spelled) {
					t.Fatalf("%d parameters with kernels, %d spelled", len(fast), len(spelled))
				}
				var top float64
				for _, g := range spelled {
					top = max(top, largest(g))
				}
				for p, g := range spelled {
					d = relative(fast[p], g, top)
					if !(d <= tolerance) {
						t.Errorf("gradient of %s: off by %.2g, want at most %.0e", p, d, tolerance)
					}
					*worst = max(*worst, d)
				}
			})
		}
	}
	t.Logf("largest differences: float64 %.2g, float32 %.2g", types[0].worst, types[1].worst)
}

// A model of stock operations trains like the model with kernels.
func TestTrainerOfStockOperations(t *testing.T) {
	c := eventful()
	fast := newTrainer(t, c)
	c.Kernels = false
	spelled := newTrainer(t, c)
	want := steps(t, fast, 3)
	for i, p := range steps(t, spelled, 3) {
		if d := relative([]float64{p.Loss, p.Norm}, []float64{want[i].Loss, want[i].Norm}, 0); !(d <= 1e-4) {
			t.Errorf(
				"step %d: loss %v and norm %v spelled, %v and %v with kernels", p.Step, p.Loss, p.Norm, want[i].Loss,
				want[i].Norm,
			)
		}
	}
}

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
		"experts": {[]int{2, 4}, func(c *Config) {
			c.MLP, c.Experts.NumExperts, c.Experts.RouterAuxLossCoef, c.ShardOptimizer = "moe", 3, 0.5, true
			c.Experts.RouterBiasUpdateRate = 0.01
		}},
		"carry": {[]int{2, 8}, func(c *Config) {
			*c = carrying(*c, "gated_deltanet,mingru")
			c.NLayer, c.BatchSize = 2, 1
			c.ShardOptimizer = true
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
		if testing.Short() && strings.HasPrefix(name, "divided ") {
			continue
		}
		c := many()
		c.NLayer = 1
		tc.change(&c)
		// they divide entire matrices, of which one block has few
		if slices.Contains([]string{"muon", "soap"}, c.Optimizer) {
			c.NLayer = 2
		}
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
			if got := on(
				t, n, 2, fresh, func(trainer *Trainer) error { return trainer.Save(dir) },
			); !slices.Equal(got, first) {
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

// divided returns an error unless a trainer has a part of its moments, but not all. Entire matrices, as Muon needs
// them, divide less evenly than pieces.
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
	if n := trainer.Group.Size(); has*n < all/3 || has*n > 2*all {
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
		mustContain(
			t, together(4, func(int) Config { c := many(); c.GradientAccumulationSteps = micro; return c }, same), want,
		)
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
}
