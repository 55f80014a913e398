package lab

import (
	"cmp"
	"math"

	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pkg/errors"
)

// Budget limits all arms of a study equally. At most one of Steps, Tokens, FLOPs and Seconds is set; without one, every
// arm does its max_iters. It decides max_iters and with it the schedule: lr_decay_iters becomes max_iters, and
// warmup_iters at most a tenth of it. The number of parameters may be held equal, too.
type Budget struct {
	Steps   int
	Tokens  float64 // tokens trained on, rounded down to whole steps
	FLOPs   float64 // operations of all matrix products, by gpt.WorkPerToken, rounded down to whole steps
	Seconds float64 // time of the steps on this machine, which another run does not repeat to the bit

	// Parameters, if positive, is the number of parameters of every arm. The field that Vary names, n_inner (the
	// default) or n_embd, moves to the size whose number is nearest.
	Parameters int64
	Vary       string
}

// check returns an error unless at most one of the lengths is set.
func (b Budget) check() error {
	set := 0
	for _, v := range []float64{float64(b.Steps), b.Tokens, b.FLOPs, b.Seconds} {
		if !(v >= 0) || math.IsInf(v, 0) {
			return errors.Errorf("budget: got %v, want a finite number, at least 0", v)
		}
		if v > 0 {
			set++
		}
	}
	switch {
	case set > 1:
		return errors.Errorf("budget: got %d of steps, tokens, flops and seconds, want one", set)
	case b.Parameters < 0:
		return errors.Errorf("budget: parameters: got %d, want at least 0", b.Parameters)
	case b.Vary != "" && b.Vary != "n_inner" && b.Vary != "n_embd":
		return errors.Errorf("budget: vary: got %q, want n_inner or n_embd", b.Vary)
	}
	return nil
}

// Timed reports whether the budget is a time, so that another run does not repeat the results.
func (b Budget) Timed() bool { return b.Seconds > 0 }

// Apply returns c with the sizes and the number of steps that the budget allows. A budget of seconds leaves the number
// of steps to the trial. It is an error if c is not valid.
func (b Budget) Apply(c gpt.Config) (_ gpt.Config, err error) {
	if err := cmp.Or(b.check(), c.Validate()); err != nil {
		return c, err
	}
	if b.Parameters > 0 {
		if c, err = b.fit(c); err != nil {
			return c, err
		}
	}
	tokens := float64(c.BatchSize) * float64(c.BlockSize) * float64(c.GradientAccumulationSteps)
	switch {
	case b.Steps > 0:
		return lasting(c, float64(b.Steps))
	case b.Tokens > 0:
		return lasting(c, b.Tokens/tokens)
	case b.FLOPs > 0:
		return lasting(c, b.FLOPs/(tokens*gpt.FLOPsPerToken(c)))
	}
	return c, nil
}

// lasting returns c for the given number of steps.
func lasting(c gpt.Config, steps float64) (gpt.Config, error) {
	if steps < 1 || steps > 1<<28 {
		return c, errors.Errorf("budget: allows %.3g steps of %d × %d tokens, want 1 to 2²⁸", steps,
			c.BatchSize*c.GradientAccumulationSteps, c.BlockSize)
	}
	c.MaxIters = int(steps)
	c.LRDecayIters = c.MaxIters
	c.WarmupIters = min(c.WarmupIters, c.MaxIters/10)
	return c, nil
}

// fit returns c in the size whose number of parameters is nearest to the budget's. The number grows with the size, so
// the two sizes on either side are found by bisection.
func (b Budget) fit(c gpt.Config) (gpt.Config, error) {
	at := func(i int) gpt.Config { // the i-th allowed size
		c := c
		if b.Vary == "n_embd" {
			c.NEmbd = i * 2 * c.NHead // even heads, for rotations
		} else {
			c.NInner = i
		}
		return c
	}
	count := func(i int) int64 { n, _ := at(i).Count(); return n }
	low, high := 1, 2 // count(low) ≤ parameters < count(high)
	if n := count(low); n > b.Parameters {
		return c, errors.Errorf("budget: parameters: got %d, want at least %d with the smallest %s",
			b.Parameters, n, b.vary())
	}
	for ; count(high) <= b.Parameters; high *= 2 {
		if high > 1<<20 {
			return c, errors.Errorf("budget: parameters: got %d, but %s changes nothing in this arm",
				b.Parameters, b.vary())
		}
		low = high
	}
	for high-low > 1 {
		if middle := (low + high) / 2; count(middle) <= b.Parameters {
			low = middle
		} else {
			high = middle
		}
	}
	if count(high)-b.Parameters < b.Parameters-count(low) {
		low = high
	}
	return at(low), nil
}

func (b Budget) vary() string {
	if b.Vary == "" {
		return "n_inner"
	}
	return b.Vary
}
