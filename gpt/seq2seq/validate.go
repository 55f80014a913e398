package seq2seq

import (
	"math"

	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pkg/errors"
)

// maxSize bounds every size, so that the product of two fits in 64 bits.
const maxSize = 1 << 28

// Validate returns the first thing wrong with c, naming the field, what it got and what it wants.
func (c Config) Validate() error {
	if err := c.ValidateModel(); err != nil {
		return err
	}
	for _, f := range []struct {
		name    string
		got, lo int
	}{
		{"batch_size", c.BatchSize, 1}, {"max_iters", c.MaxIters, 0}, {"warmup_iters", c.WarmupIters, 0}, {"threads", c.Threads, 0},
	} {
		if f.got < f.lo || f.got > maxSize {
			return errors.Errorf("%s: got %d, want a whole number, %d to %d", f.name, f.got, f.lo, maxSize)
		}
	}
	for _, f := range []struct {
		name    string
		got, hi float64
	}{
		{"learning_rate", c.LearningRate, math.MaxFloat64}, {"min_lr", c.MinLR, c.LearningRate},
		{"weight_decay", c.WeightDecay, math.MaxFloat64}, {"grad_clip", c.GradClip, math.MaxFloat64},
	} {
		if !(0 <= f.got && f.got <= f.hi) {
			return errors.Errorf("%s: got %v, want a number, 0 to %v", f.name, f.got, f.hi)
		}
	}
	if err := firstError(fraction("beta1", c.Beta1), fraction("beta2", c.Beta2)); err != nil {
		return err
	}
	return c.checkTraining()
}

// fraction: at 1 nothing would be left of what is dropped, or new to a mean.
func fraction(field string, x float64) error {
	if !(0 <= x && x < 1) {
		return errors.Errorf("%s: got %v, want a number, 0 ≤ x < 1", field, x)
	}
	return nil
}

// ValidateModel is Validate without the training.
func (c Config) ValidateModel() error {
	given := c
	c = c.Resolved()
	for _, f := range []struct {
		name string
		got  int
	}{
		{"source_size", c.SourceSize}, {"target_size", c.TargetSize}, {"source_vocab", c.SourceVocab}, {"target_vocab", c.TargetVocab},
		{"n_layer", c.NLayer}, {"n_head", c.NHead}, {"n_embd", c.NEmbd}, {"n_inner", c.NInner},
	} {
		if f.got < 1 || f.got > maxSize {
			return errors.Errorf("%s: got %d, want a whole number, 1 to %d", f.name, f.got, maxSize)
		}
	}
	if c.NEmbd%c.NHead != 0 && (given.QKSize == 0 || given.VSize == 0) {
		return errors.Errorf("n_head: %d heads do not divide n_embd %d; set both qk_size and v_size to do without", c.NHead, c.NEmbd)
	}
	if min(c.QKSize, c.VSize) < 1 || max(c.QKSize, c.VSize) > maxSize {
		return errors.Errorf("qk_size and v_size: got %d and %d, want whole numbers, 1 to %d", c.QKSize, c.VSize, maxSize)
	}
	if err := fraction("dropout", c.Dropout); err != nil {
		return err
	}
	if !(0 < c.Eps && c.Eps < 1) {
		return errors.Errorf("eps: got %v, want a number, 0 < x < 1", c.Eps)
	}
	if err := firstError(
		isKnown("activation", activations(), c.Activation), isKnown("norm", norms(), c.Norm),
		isKnown("block", blocks(), c.Block), isKnown("position", positions(), c.Position),
		isKnown("attention", attentions(), c.Attention),
	); err != nil {
		return err
	}
	if position, _ := find(positions(), c.Position); position.Check != nil {
		if err := position.Check(c.site(graph.Scope{}, 1, c.TargetSize).Dims); err != nil {
			return err
		}
	}
	if attention, _ := find(attentions(), c.Attention); attention.check != nil {
		if err := attention.check(c); err != nil {
			return err
		}
	}
	return c.checkParameters(1)
}

func isKnown[T any](field string, list []variant[T], name string) error {
	if _, ok := find(list, name); !ok {
		return errors.Errorf("%s: got %q, want one of %s", field, name, known(list))
	}
	return nil
}

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
