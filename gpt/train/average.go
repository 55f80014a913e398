package train

import (
	"context"
	"iter"

	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pkg/errors"
)

// averagesOf returns zeros for the averages of the trained parameters, or nil without any.
func (c *Core) averagesOf() (list []Named) {
	if c.training.EMA == 0 && c.averaging == nil {
		return nil
	}
	for _, p := range c.params {
		w := p.Tensor()
		average := graph.Tensor{Shape: w.Shape, F32: make([]float32, w.Len())}
		list = append(list, Named{Name: p.Name(), Tensor: average})
	}
	return list
}

// Averages returns the exponential moving average w̄ of every trained parameter, under its name. For β = EMA it is w
// before the first step, and after every step
//
//	w̄ ← βw̄ + (1−β)w = w̄ + (1−β)(w − w̄)
//
// in float32. All machines of a Group keep all of it. Averages returns nil if β is 0.
//
// With an optimizer that is an optim.Averaging, the weights between two steps are the averages, and Averages returns
// those at which the next gradient is taken. So evaluations, samples and saved models have the averages. A goroutine
// that reads the weights during a Step gets the weights of its gradient.
func (c *Core) Averages() []Named {
	if c == nil {
		return nil
	}
	if c.Done == 0 {
		for i, a := range c.averages {
			copy(a.F32, c.params[i].Tensor().F32)
		}
	}
	return c.averages
}

// Averaged builds a network on a graph of its own whose trained weights are the averages of EMA. build declares it, and
// returns its parameters, which have the names of those that c trains. It is an error if EMA is 0.
func (c *Core) Averaged(build func(g *graph.Graph) (params []graph.Expr, err error)) error {
	if err := c.begin(); err != nil {
		return err
	}
	defer c.busy.Unlock()
	switch {
	case build == nil:
		return errors.New("averaged: the function that builds the network is nil")
	case c.training.EMA == 0:
		return errors.New("averaged: ema: got 0, which keeps no averages, want a decay such as 0.999")
	}
	_, err := graph.Build(graph.Float32, c.training.Seed, func(g *graph.Graph) error {
		Configure(g, c.training, c.limits)
		g.SetBlank(func(string) bool { return true })
		defer g.SetBlank(nil)
		params, err := build(g)
		if err != nil {
			return err
		}
		return Overlay(params, c.graph.Params(), c.Averages())
	})
	return errors.WithMessage(err, "averaged")
}

// Overlay gives the parameters to of one model the values of another model's, from, which have the same names, but
// takes the tensors of list, such as Averages, where it has the name.
func Overlay(to, from []graph.Expr, list []Named) error {
	if got, want := len(to), len(from); got != want {
		return errors.Errorf("overlay: got %d parameters, want the %d of the other model", got, want)
	}
	values := map[string]graph.Tensor{}
	for _, p := range from {
		values[p.Name()] = p.Tensor()
	}
	for _, n := range list {
		values[n.Name] = n.Tensor
	}
	for _, p := range to {
		value, ok := values[p.Name()]
		if !ok {
			return errors.Errorf("overlay: got a parameter %q, which the other model lacks", p.Name())
		}
		if err := p.Tensor().Copy(value); err != nil {
			return errors.WithMessagef(err, "overlay: %s", p.Name())
		}
	}
	return nil
}

// eachAverage calls f with pieces of every parameter and of its average, several at a time.
func (c *Core) eachAverage(f func(w, average []float32)) {
	const piece = 1 << 14
	for i, a := range c.averages {
		w := c.params[i].Tensor().F32
		c.graph.Pool().Range(len(w), piece, func(from, to int) { f(w[from:to], a.F32[from:to]) })
	}
}

// average moves the averages towards the weights.
func (c *Core) average() {
	if c.averages == nil {
		return
	}
	share := float32(1 - c.training.EMA)
	if c.averaging != nil {
		share = float32(c.averaging.Share(c.optimizer.Steps))
	}
	c.eachAverage(func(w, average []float32) {
		for i, x := range w {
			average[i] += float32(share * (x - average[i]))
		}
	})
}

// exchange swaps the weights and their averages.
func (c *Core) exchange() {
	c.graph.Exclusive(func() {
		c.eachAverage(func(w, average []float32) {
			for i := range w {
				w[i], average[i] = average[i], w[i]
			}
		})
	})
}

// atGradients exchanges the weights of an optim.Averaging for those at which it takes gradients. The function that it
// returns exchanges them again.
func (c *Core) atGradients() (restore func()) {
	if c.averaging == nil {
		return func() {}
	}
	c.Averages() // before the first step they are the weights
	c.exchange()
	return c.exchange
}

// AveragedLosses is Losses with the averages in place of the weights. Until it returns, programs in other goroutines
// compute with the averages too. It is an error if EMA is 0.
func (c *Core) AveragedLosses(
	ctx context.Context, batches iter.Seq2[float64, error], use func(losses []float64, mean float64),
) error {
	if c != nil && c.training.EMA == 0 {
		return errors.New("evaluate: ema: got 0, which keeps no averages, want a decay such as 0.999")
	}
	return c.evaluate(ctx, batches, use, func() (restore func()) {
		c.Averages()
		c.exchange()
		return c.exchange
	})
}
