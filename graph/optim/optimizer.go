package optim

import (
	"math"
	"sync/atomic"

	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
	"github.com/pedestrian-ml/pedestrian/graph/optim/reduce"
	"github.com/pkg/errors"
)

// Optimizer updates parameters by a Rule, with the mean of the accumulated gradients. Its state can be read and set, so
// that a resumed run is bit-identical. Use New: a literal has no parameters, and Update returns an error.
type Optimizer struct {
	Clip  float64 // gradients are scaled down to this norm over all parameters; 0 means no limit
	Decay float64 // λ, which acts on matrices; gains and biases have none
	Steps int     // updates done

	// Rates, which is optional, holds a factor on the learning rate for each parameter, above 0. The decay of a matrix
	// is that at the rate without the factor.
	Rates []float64

	*reduce.Gradients
	rule   Rule
	name   string // the rule's, for errors
	params []graph.Expr
	states []State          // of the rule of each parameter
	names  [][]string       // of the tensors that are kept for each parameter
	kept   [][]graph.Tensor // these tensors: its moments, then the further ones
	work   []workspace      // of every thread
}

// New returns an optimizer for parameters of one graph, without decay and clipping.
func New(params []graph.Expr, rule Rule) (*Optimizer, error) {
	if rule == nil {
		return nil, errors.New("optimizer: got no rule (nil), want one such as AdamW")
	}
	all, err := rule.State()
	if err != nil {
		return nil, errors.WithMessage(err, all.Name)
	}
	g, err := reduce.New(all.Name, params)
	if err != nil {
		return nil, err
	}
	o := &Optimizer{Gradients: g, rule: rule, name: all.Name, params: params}
	for i, p := range params {
		if err := o.keep(i, p); err != nil {
			return nil, errors.WithMessage(err, all.Name)
		}
	}
	return o, nil
}

// keep makes the tensors that the rule keeps for parameter i.
func (o *Optimizer) keep(i int, p graph.Expr) error {
	state, err := StateOf(o.rule, p.Name(), p.Tensor().Shape)
	if err != nil {
		return err
	}
	list, err := state.Kept(p.Tensor().Shape, p.PackedColumns())
	if err != nil {
		return errors.WithMessage(err, p.Name())
	}
	names, tensors := make([]string, len(list)), make([]graph.Tensor, len(list))
	for at, k := range list {
		names[at], tensors[at] = k.Name, o.Zeros(i, k.Shape...)
	}
	o.states, o.names, o.kept = append(o.states, state), append(o.names, names), append(o.kept, tensors)
	if state.Whole {
		o.Entire(i, state.matrix)
	}
	return nil
}

var errNoParams = errors.New("an optimizer with no parameters: create it with New")

// Update does one step at the learning rate lr with the mean of the gradients of p's last run and the accumulated ones.
// The last micro-batch is not accumulated, so a step of one micro-batch copies nothing. Update returns the norm of the
// mean gradient over all parameters before clipping. If that is not finite, parameters and state do not change, the
// accumulated gradients are discarded, and the error, graph.ErrNotFinite, names the first tensor with such an entry. An
// update that overflows returns the same error, but the overwritten numbers are lost.
func (o *Optimizer) Update(p *graph.Program, lr float64) (norm float64, err error) {
	if o == nil || o.Gradients == nil {
		return math.NaN(), errNoParams
	}
	if err := check(notNegative("learning rate", lr), notNegative("steps", float64(o.Steps)),
		notNegative("decay", o.Decay), notNegative("clip", o.Clip)); err != nil {
		return math.NaN(), errors.WithMessage(err, o.name)
	}
	if err := o.checkRates(); err != nil {
		return math.NaN(), errors.WithMessage(err, o.name)
	}
	pool := o.params[0].Graph().Pool()
	if len(o.work) < pool.Threads() {
		o.work = make([]workspace, pool.Threads())
	}
	norm, err = o.Apply(p, o.Clip, func(thread, i int, w, g graph.Tensor, scale float64) (finite bool) {
		s := Step{T: o.Steps + 1, Rate: lr, work: &o.work[thread]}
		s.Name, s.Scale, s.W, s.G = o.params[i].Name(), scale, w, g
		s.M, s.V, s.Further = o.states[i].divide(o.kept[i])
		if len(w.Shape) > 1 {
			s.Decay = o.Decay
		}
		if o.Rates != nil {
			s.Rate, s.Decay = s.Rate*o.Rates[i], s.Decay/o.Rates[i]
		}
		s.Columns = o.params[i].PackedColumns()
		return o.step(pool, s, o.states[i])
	})
	if err == nil && norm > 1e18 { // below that the squares are finite
		err = o.finite()
	}
	if err == nil {
		o.Steps++
	}
	return norm, err
}

// checkRates returns an error unless every parameter has a factor, or none.
func (o *Optimizer) checkRates() error {
	if o.Rates != nil && len(o.Rates) != len(o.params) {
		return errors.Errorf("rates: got %d, want one for each of %d parameters", len(o.Rates), len(o.params))
	}
	for i, x := range o.Rates {
		if !(x > 0) || math.IsInf(x, 1) {
			return errors.Errorf("rates: got %v for %s, want a finite number above 0", x, o.params[i].Name())
		}
	}
	return nil
}

// step applies the rule, and reports whether its results are finite. It checks a piece while that is in the cache: a
// separate pass over memory takes a large model longer than the arithmetic.
func (o *Optimizer) step(pool *kernel.Pool, s Step, state State) (finite bool) {
	if state.Whole {
		o.rule.Step(s)
		return kernel.Finite(s.W.F32) && kernel.Finite(s.W.F64)
	}
	var broken atomic.Bool
	pool.Range(s.W.Len(), kernel.Grain, func(from, to int) {
		s := s.piece(from, to)
		o.rule.Step(s)
		if !kernel.Finite(s.W.F32) || !kernel.Finite(s.W.F64) {
			broken.Store(true)
		}
	})
	return !broken.Load()
}

// finite returns an error if the state has overflowed: a parameter might never change again.
func (o *Optimizer) finite() (err error) {
	o.Moments(func(kept, param string, t graph.Tensor) {
		if err == nil {
			err = errors.Wrap(t.Finite(kept+"."+param), "after the update")
		}
	})
	return err
}

// Moments calls f with every tensor that is kept for a parameter, for saving or restoring them: its moments m and v, if
// the rule has them, and the further ones, under their names.
func (o *Optimizer) Moments(f func(kept, param string, t graph.Tensor)) {
	if o == nil || f == nil {
		return
	}
	for i, p := range o.params {
		for at, t := range o.kept[i] {
			f(o.names[i][at], p.Name(), t)
		}
	}
}

// Shard makes this machine of Across keep only the moments of its part of the parameters. It updates that part by the
// gradients of p, and fetches the others' parts (ZeRO-1, Rajbhandari et al. 2020). The parameters are the same bits.
// Moments passes parts with the Shape of the full moment; Whole completes them. A parameter that its rule needs entire
// belongs to one machine, with its further tensors.
func (o *Optimizer) Shard(p *graph.Program) error {
	if o == nil || o.Gradients == nil {
		return errNoParams
	}
	return o.Gradients.Shard(p, o.kept...)
}
