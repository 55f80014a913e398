package gpt

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/pedestrian-ml/pedestrian/graph"
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
