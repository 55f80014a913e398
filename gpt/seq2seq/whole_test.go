package seq2seq

import (
	"bytes"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/gpt/train"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pkg/errors"
)

// numbers returns every number that a step may change.
func numbers(tr *Trainer) (all []float32) {
	for _, p := range tr.Model.Params() {
		all = append(all, p.Tensor().F32...)
	}
	for _, m := range tr.Moments() {
		all = append(all, m.F32...)
	}
	return append(all, float32(tr.Done))
}

// watched is a list of pairs that calls a function before a pair is read.
type watched struct {
	backwards
	before func()
}

func (w *watched) Pair(i int) (Pair, error) {
	w.before()
	return w.backwards.Pair(i)
}

// A step that fails in its second micro-batch of three changes nothing, and the next one equals that of a run without
// the failure: the same pairs, dropout, gradients, weights and moments.
func TestFailedStepLeavesNothing(t *testing.T) {
	for _, optimizer := range []string{"adamw", "sgd"} {
		c := small()
		c.GradientAccumulationSteps, c.Dropout, c.Optimizer = 3, 0.2, optimizer
		pairs := &watched{before: func() {}}
		tr, err := NewTrainer(c, pairs)
		if err != nil {
			t.Fatal(err)
		}
		calm := newTrainer(t, c)
		w := tr.Model.Params()[0].Tensor()
		for range 3 {
			kept, reads := w.Clone(), 0
			pairs.before = func() {
				if reads++; reads == c.BatchSize+1 {
					for i := range w.F32 {
						w.F32[i] = float32(math.NaN())
					}
				}
			}
			if _, err := tr.Step(); !errors.Is(err, graph.ErrNotFinite) || reads != 2*c.BatchSize {
				t.Fatalf("%s: got error %v after %d pairs, want one in the second micro-batch", optimizer, err, reads)
			}
			copy(w.F32, kept.F32)
			pairs.before = func() {}
			want, got := steps(t, calm, 1), steps(t, tr, 1)
			if got[0] != want[0] {
				t.Errorf("%s: the next step has the loss %v, without the failure %v", optimizer, got, want)
			}
			want32 := numbers(calm)
			for i, x := range numbers(tr) {
				if x != want32[i] {
					t.Fatalf("%s: number %d is %v, without the failure %v", optimizer, i, x, want32[i])
				}
			}
		}
	}
}

// An update that overflows stops the run in that step, names the tensor, and is not saved.
func TestOverflowingUpdateStops(t *testing.T) {
	for _, optimizer := range []string{"adamw", "sgd"} {
		c := small()
		c.Optimizer, c.LearningRate = optimizer, 1e42
		tr := newTrainer(t, c)
		_, err := tr.Step()
		const want = "encoder.wte.weight: entry "
		if !errors.Is(err, graph.ErrNotFinite) || !strings.Contains(err.Error(), "step 1: after the update: "+want) ||
			tr.Done != 0 {
			t.Errorf("%s: got error %v after %d steps", optimizer, err, tr.Done)
		}
		for _, f := range filesOf(t, tr, abc(t), abc(t))[:1] {
			if err := f.Write(new(bytes.Buffer)); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: wrote %s: error %v", optimizer, f.Name, err)
			}
		}
	}
}

// failing is a list of pairs whose reads fail from a number on.
type failing struct {
	backwards
	reads, from int
}

func (f *failing) Pair(i int) (Pair, error) {
	if f.reads++; f.reads > f.from {
		return Pair{}, errors.New("pages torn out")
	}
	return f.backwards.Pair(i)
}

// A pair that cannot be read is an error of the new Trainer, of the step and of the evaluation that need it.
func TestUnreadablePairs(t *testing.T) {
	pairs := &failing{from: 7}
	_, err := NewTrainer(small(), pairs)
	mustSay(t, err, "trainer: pair 7: pages torn out")
	pairs = &failing{from: pairs.Len()}
	tr, err := NewTrainer(small(), pairs)
	if err != nil {
		t.Fatal(err)
	}
	_, err = tr.Step()
	mustSay(t, err, "pages torn out")
	_, err = tr.Evaluate(t.Context(), pairs)
	mustSay(t, err, "pages torn out")
	v := abc(t)
	cp := saved(t, tr, v, "", nil)
	_, err = Resume(small(), &failing{}, v, v, cp)
	mustSay(t, err, "trainer: pair 0: pages torn out")
}

// The scopes of the blocks contain parameters, and all parameters of blocks.
func TestBlocks(t *testing.T) {
	tr := newTrainer(t, small())
	places := small().blocks()
	if len(places) != 2*small().NLayer {
		t.Errorf("got %v, want %d places on either side", places, small().NLayer)
	}
	for _, p := range tr.Model.Params() {
		in := slices.ContainsFunc(places, func(place string) bool { return strings.HasPrefix(p.Name(), place+".") })
		if in != strings.Contains(p.Name(), ".h.") {
			t.Errorf("%s is in one of %v: %t", p.Name(), places, in)
		}
	}
}

// A saved size of 0 stands for its default, for the check of a checkpoint too.
func TestFitsResolves(t *testing.T) {
	cp := saved(t, newTrainer(t, small()), abc(t), train.StateFile, func(b []byte) []byte {
		for _, size := range []string{"qk_size", "v_size", "n_inner"} {
			b = regexp.MustCompile(`"`+size+`": *\d+`).ReplaceAll(b, []byte(`"`+size+`": 0`))
		}
		return b
	})
	check(t, Fits()(cp))
}
