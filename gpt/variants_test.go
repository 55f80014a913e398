package gpt

import (
	"fmt"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/pedestrian-ml/pedestrian/gpt/parts"
	"github.com/pedestrian-ml/pedestrian/gpt/text"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/nn/causal"
)

// Every kind of model trains, saves, resumes bit for bit, computes the same with recomputed activations, has a form in
// Hugging Face's keys, and can be fine-tuned and merged.
func TestEveryPartLives(t *testing.T) {
	c := tiny()
	c.QKSize, c.Bias, c.Dropout = 4, true, 0.1
	for i, c := range everyPart(c) {
		c.Seed = uint64(i)
		t.Run(fmt.Sprintf("%s %s %s %s %s", c.Position, c.Attention, c.Norm, c.Block, c.MLP), func(t *testing.T) {
			uninterrupted := newTrainer(t, c)
			steps(t, uninterrupted, 2)
			cp := saved(t, 2, files(t, uninterrupted))

			again := c
			again.Recompute = true
			second, err := Resume(again, uninterrupted.Corpus, uninterrupted.Tokenizer, cp)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(steps(t, uninterrupted, 2), steps(t, second, 2)); diff != "" {
				t.Errorf("resumed, computing again (-uninterrupted +resumed):\n%s", diff)
			}
			if fingerprint(t, uninterrupted) != fingerprint(t, second) {
				t.Error("resumed, computing again: other weights")
			}

			c.VocabSize = uninterrupted.Config().VocabSize
			hf, err := c.HuggingFace()
			if err != nil {
				t.Fatal(err)
			}
			read, err := FromHuggingFace(hf)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(networkOf(c), networkOf(read)); diff != "" {
				t.Errorf("Hugging Face's keys: -want +got:\n%s", diff)
			}
			tuneAndMerge(t, c, uninterrupted)
		})
	}
}

// networkOf returns the network's part of c, resolved.
func networkOf(c Config) map[string]string {
	c = c.Resolved()
	fields := map[string]string{}
	for _, f := range c.networkFields() {
		fields[f.Name] = f.String()
	}
	return fields
}

// tuneAndMerge checks that fine-tuning starts at the base's loss for any seed, and that the merged and saved model
// computes the same as the fine-tuned one.
func tuneAndMerge(t *testing.T, c Config, base *Trainer) {
	t.Helper()
	loss := func(trainer *Trainer) float64 {
		l, err := trainer.EvaluateAll(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	c.LoraR, c.Seed, c.Dropout = 2, c.Seed+100, 0
	tuned, err := FineTune(c, base.Corpus, base.Tokenizer, saved(t, base.Done, files(t, base)))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := loss(tuned), loss(base); got != want {
		t.Errorf("fine-tuning starts at %v, the base is at %v", got, want)
	}
	steps(t, tuned, 2)
	after := loss(tuned)
	tuned.Model.Merge()
	plain, err := tuned.Model.Plain(c.BatchSize)
	if err != nil {
		t.Fatal(err)
	}
	list, err := plain.Files(nil)
	if err != nil {
		t.Fatal(err)
	}
	loaded, err := LoadModel(graph.New(graph.Float32, 9), saved(t, 1, list))
	if err != nil {
		t.Fatal(err)
	}
	sameWeights(t, loaded, plain)
	c.Adapters = Adapters{}
	merged, err := FineTune(c, base.Corpus, base.Tokenizer, saved(t, 1, list))
	if err != nil {
		t.Fatal(err)
	}
	if d := loss(merged) - after; !(d < 1e-5 && d > -1e-5) {
		t.Errorf("merged: the loss is %v off", d)
	}
}

// A user-defined activation and head have their names in Hugging Face's keys.
func TestOwnPartsInHuggingFace(t *testing.T) {
	c := ours()
	hf, err := c.HuggingFace()
	if err != nil {
		t.Fatal(err)
	}
	read, err := FromHuggingFace(hf, c.Parts)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(networkOf(c), networkOf(read)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if _, err := FromHuggingFace(hf); err == nil {
		t.Error("without the parts: got no error")
	}
}

// Adapters of a checkpoint must be merged first, and its vocabulary must be used.
func TestFineTuneOnAdapters(t *testing.T) {
	_, tuned := fineTuned(t)
	c := tiny()
	c.LoraR = 2
	_, err := FineTune(c, tuned.Corpus, tuned.Tokenizer, saved(t, 0, files(t, tuned)))
	mustContain(t, err, "lora_r: got 2 as saved, want 0: merge its adapters first")
}

// An attention that is linear in the context has no memory that grows with its square, and neither has a model without
// attention.
func TestNoUnusedMask(t *testing.T) {
	for name, want := range map[string]bool{"causal": true, "window": false, "linear": false, "taylor": false, "mla": true} {
		c := odd()
		c.Attention = name
		c.suit()
		if _, got := model64(t, c, true, 1).Graph.Leaf("mask"); got != want {
			t.Errorf("%s: the model has the causal mask: %t, want %t", name, got, want)
		}
	}
	c := odd()
	c.Block = "elman"
	if _, ok := model64(t, c, true, 1).Graph.Leaf("mask"); ok {
		t.Error("elman: the model has a mask")
	}
}

// permitted returns all valid combinations of parts, as the index of each part in its list.
func permitted() (list [][8]int, build func([8]int) Config) {
	positions, attentions, norms, blocks := parts.Positions(), parts.Attentions(), parts.Norms(), parts.Blocks()
	activations, mlps, heads := parts.Activations(), parts.MLPs(), parts.Heads()
	build = func(at [8]int) Config {
		c := odd()
		c.QKSize, c.Attention = 4, attentions[at[1]].String()
		for name, n := range map[string]int{"window": 3, "dilation": 2, "global_tokens": 1, "random_keys": 1, "n_kv_head": 1} {
			c.Options.Offer(name, n)
		}
		c.Position, c.Norm, c.Block = positions[at[0]].String(), norms[at[2]].String(), blocks[at[3]].String()
		c.Activation, c.Head, c.Bias = activations[at[4]].String(), heads[at[5]].String(), at[6] == 1
		c.MLP = mlps[at[7]].String()
		return c
	}
	sizes := [8]int{len(positions), len(attentions), len(norms), len(blocks), len(activations), len(heads), 2, len(mlps)}
	total := 1
	for _, n := range sizes {
		total *= n
	}
	for n := range total {
		var at [8]int
		rest := n
		for k, size := range sizes {
			at[k], rest = rest%size, rest/size
		}
		c := build(at)
		if c.planned().design.Validate(c.BlockSize) == nil && c.Attention != "linformer" {
			list = append(list, at)
		}
	}
	return list, build
}

// covering returns a part of list, drawn by seed, that contains every pair of parts that can be combined.
func covering(list [][8]int, seed uint64) (sample [][8]int) {
	rng := rand.New(rand.NewPCG(seed, 17))
	rng.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	seen := map[[4]int]bool{}
	missing := func(at [8]int) (pairs [][4]int) {
		for i := range at {
			for j := range i {
				if p := [4]int{i, at[i], j, at[j]}; !seen[p] {
					pairs = append(pairs, p)
				}
			}
		}
		return pairs
	}
	for least := 28; least > 0; least-- { // those with the most new pairs first
		for _, at := range list {
			if pairs := missing(at); len(pairs) >= least {
				sample = append(sample, at)
				for _, p := range pairs {
					seen[p] = true
				}
			}
		}
	}
	return sample
}

// In every combination of parts, the number of parameters is the counted one, no token sees a later one or another
// text, and the decoder computes, token by token, the same as a forward pass over the window.
func TestCombinations(t *testing.T) {
	list, build := permitted()
	if os.Getenv("NIGHTLY") == "" {
		list = covering(list, 1)
	}
	if testing.Short() {
		list = list[:len(list)/4]
	}
	t.Logf("%d combinations", len(list))
	for i, at := range list {
		c := build(at)
		name := fmt.Sprint(c.Position, " ", c.Attention, " ", c.Norm, " ", c.Block, " ", c.Activation, " ", c.MLP, " ", c.Head, " ", c.Bias)
		m := model64(t, c, true, 1)
		built := int64(0)
		for _, p := range m.Params() {
			built += int64(p.Tensor().Len())
		}
		if got, _ := c.Count(); got != built {
			t.Errorf("%s: counted %d parameters, %d are built", name, got, built)
		}
		g := graph.New(graph.Float32, 3)
		g.Kernels = i%2 == 0
		ahead := m.plan.causalModel(g, 2)
		causal.Perturb(g)
		if err := causal.Check(ahead); err != nil {
			t.Errorf("%s: kernels %t: %v", name, g.Kernels, err)
		}
		d := newDecoderOf(t, m)
		tokens := make([]int, 1+i%c.BlockSize)
		for j := range tokens {
			tokens[j] = (i*5 + j*3) % c.VocabSize
		}
		var got []float64
		for _, id := range tokens {
			got = feed(t, d, id)
		}
		want := newFull(t, m).last(t, tokens)
		if d := relative(got, want, 0); !(d < 1e-9) {
			t.Errorf("%s: after %d tokens the decoder is %v off a forward pass", name, len(tokens), d)
		}
	}
}

// Batches for training come from the training split, and those of an evaluation from its split. With splits that have
// no token in common, training learns only one of them.
func TestSplitsAreKeptApart(t *testing.T) {
	of := func(ids ...int) (out text.Tokens) {
		for range 40 {
			out = append(out, ids...)
		}
		return out
	}
	c := tiny()
	c.Head = "linear" // a tied one learns to repeat what it sees, whatever it is
	tok, err := text.NewCharacters("abcd")
	if err != nil {
		t.Fatal(err)
	}
	trainer, err := NewTrainer(c, text.Dataset{Training: of(0, 1), Validation: of(2, 3), Sum: "x"}, tok)
	if err != nil {
		t.Fatal(err)
	}
	for range 20 {
		if _, err := trainer.Step(); err != nil {
			t.Fatal(err)
		}
		for _, list := range [][]int{trainer.Model.Tokens.Ints(), trainer.Model.Targets.Ints()} {
			for _, id := range list {
				if id > 1 {
					t.Fatalf("trained on the tokens %v, of which those of 2 and 3 are to validate on", list)
				}
			}
		}
	}
	e, err := trainer.Evaluate(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	all, err := trainer.EvaluateAll(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if !(e.Train < 1 && e.Val > 1.5 && all > 1.5) {
		t.Errorf("losses %+v and %v over all of the validation split, want below 1 where trained and above 1.5 where not", e, all)
	}
	if trainer.Best != e.Val {
		t.Errorf("the best validation loss is %v, want %v", trainer.Best, e.Val)
	}
}
