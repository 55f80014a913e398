package gpt

import (
	"bytes"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/pedestrian-ml/pedestrian/gpt/text"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pkg/errors"
)

// watched is a part of a corpus that calls a function before each read.
type watched struct {
	text.Split
	before func()
}

func (w watched) Read(ids []int, at int) error {
	w.before()
	return w.Split.Read(ids, at)
}

// A step that fails in its second of three micro-batches leaves nothing behind, and the next one is the same as in a
// run without it: the same batches, dropout, gradients, weights and moments.
func TestFailedStepLeavesNothing(t *testing.T) {
	for _, change := range []func(*Config){
		func(*Config) {},
		func(c *Config) { c.Optimizer, c.Beta1 = "sgd", 0.9 },
		func(c *Config) { c.LoraR = 2 },
	} {
		c := eventful()
		c.GradientAccumulationSteps = 3
		change(&c)
		data, tok := corpus(t, verses, c.BlockSize)
		reads, hurt := 0, func() {}
		part := watched{data.Train(), func() {
			if reads++; reads == c.BatchSize+1 {
				hurt()
			}
		}}
		trainer, err := NewTrainer(c, text.Dataset{Training: part, Validation: data.Val(), Sum: data.SHA256()}, tok)
		if err != nil {
			t.Fatal(err)
		}
		calm := newTrainer(t, c)
		w := trainer.Model.Params()[0].Tensor()
		for range 3 {
			kept, drawn := w.Clone(), *trainer.batches
			reads, hurt = 0, func() {
				for i := range w.F32 {
					w.F32[i] = float32(math.NaN())
				}
			}
			if _, err := trainer.Step(); !errors.Is(err, graph.ErrNotFinite) || reads != 2*c.BatchSize {
				t.Fatalf("got error %v after %d reads, want one in the second micro-batch", err, reads)
			}
			copy(w.F32, kept.F32)
			hurt = func() {}
			if *trainer.batches != drawn {
				t.Error("a checkpoint would have the batches behind the failed step")
			}
			if diff := cmp.Diff(steps(t, calm, 1), steps(t, trainer, 1)); diff != "" {
				t.Errorf("the step after (-undisturbed +disturbed):\n%s", diff)
			}
			if !bytes.Equal(bits(trainer), bits(calm)) {
				t.Error("weights or moments differ from those of an undisturbed run")
			}
		}
	}
}

// An update that overflows stops the run in its step, with the parameter's name, and is not saved.
func TestOverflowingUpdateStops(t *testing.T) {
	for _, optimizer := range []string{"adamw", "sgd"} {
		c := tiny()
		c.Optimizer, c.LearningRate = optimizer, 1e42
		trainer := newTrainer(t, c)
		_, err := trainer.Step()
		if !errors.Is(err, graph.ErrNotFinite) || trainer.Done != 0 {
			t.Fatalf("%s: got error %v after %d steps", optimizer, err, trainer.Done)
		}
		mustContain(t, err, "step 1: after the update: wte.weight: entry ")
		mustContain(t, trainer.Model.WriteWeights(new(bytes.Buffer)), "wte.weight: entry ")
	}
}
