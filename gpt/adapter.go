package gpt

import (
	"slices"

	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/nn"
	"github.com/pkg/errors"
)

// Adapter holds numbers for the adapters of a model, such as a folder that package gpt/peft has opened. A model
// compares Adapters by ==.
type Adapter interface {
	// Fit returns a function that sets m's adapters, all of whose Up are 0, to the Adapter's numbers, times a factor.
	// It returns an error if they do not fit m.
	Fit(m *Model) (set func(factor float64), err error)
}

// Adapters lists the layers of m that have adapters.
func (m *Model) Adapters() []*nn.LoRA {
	if m == nil {
		return nil
	}
	return slices.Clone(m.adapters)
}

// inUse holds the Adapter that Model.Use has set, and copies of the numbers that it set, which show whether training
// has changed them since.
type inUse struct {
	adapter Adapter // nil if none is in use
	numbers [][]float64
}

func inUseNow(a Adapter, layers []*nn.LoRA) inUse { return inUse{a, adapterNumbers(layers)} }

// unchanged returns the adapter if the layers still hold its numbers, otherwise nil.
func (u inUse) unchanged(layers []*nn.LoRA) Adapter {
	if u.adapter == nil || !slices.EqualFunc(u.numbers, adapterNumbers(layers), slices.Equal) {
		return nil
	}
	return u.adapter
}

// adapterNumbers returns copies of the matrices of all adapters.
func adapterNumbers(layers []*nn.LoRA) (list [][]float64) {
	for _, l := range layers {
		for _, a := range l.Adapters {
			list = append(list, a.Down.Tensor().Floats(), a.Up.Tensor().Floats())
		}
	}
	return list
}

// Use sets the model's adapters to the adapters of a, in place. Programs, decoders and trainers of the model compute
// with them from now on, and nothing is rebuilt. If a is nil, no adapter is in use, and the model computes what its
// base does. Use returns an error, and changes nothing, if a adapts other matrices or shapes than the model has
// adapters for, or has a higher rank.
func (m *Model) Use(a Adapter) error { return m.use(a, 1) }

// Unmerge subtracts from the weights what Use(a) and Merge have added to them. No adapter is in use afterwards. It
// returns an error, and changes nothing, unless m has merged a, with its numbers unchanged by training, and has not
// unmerged it since.
func (m *Model) Unmerge(a Adapter) error {
	if a == nil {
		return errors.New("adapter: got nil, want the one that was merged")
	}
	return m.use(a, -1)
}

// use sets the adapters to a if sign is 1, and subtracts a from the weights if sign is −1.
func (m *Model) use(a Adapter, sign float64) error {
	check := m.Check
	if sign < 0 {
		check = m.CheckNumbers
	}
	if err := check(); err != nil {
		return err
	}
	if m.Config.LoraR == 0 {
		return errors.New("adapter: the model has no room for one, lora_r is 0: want a model with lora_r, such as " +
			"the model of Adapted of gpt/peft")
	}
	if err := m.checkAdapters(); err != nil {
		return err
	}
	set := func(float64) {}
	if a != nil {
		var err error
		if set, err = a.Fit(m); err != nil {
			return err
		}
	}
	var err error
	m.Graph.Exclusive(func() {
		at := slices.Index(m.merged, a)
		if sign < 0 && at < 0 {
			err = errors.New("adapter: it is not merged into the weights of this model: " +
				"call Use and Merge before Unmerge")
			return
		}
		for _, l := range m.adapters {
			for _, to := range l.Adapters {
				u := to.Up.Tensor()
				clear(u.F32)
				clear(u.F64)
			}
		}
		set(sign)
		if m.inUse = (inUse{}); sign > 0 {
			m.inUse = inUseNow(a, m.adapters)
			return
		}
		m.merge()
		m.merged = slices.Delete(m.merged, at, at+1)
	})
	return err
}

// checkAdapters returns an error unless the adapters have numbers, beside weights that may be packed.
func (m *Model) checkAdapters() error {
	for _, l := range m.adapters {
		for _, a := range l.Adapters {
			if err := unpacked([]graph.Expr{a.Down, a.Up}); err != nil {
				return errors.WithMessage(err, "adapter")
			}
		}
	}
	return nil
}

// Merge adds every adapter to its weight, w + s·d·u, and sets u to 0: the model computes the same function. A second
// Merge changes nothing, and neither does Merge if the weights are packed.
func (m *Model) Merge() {
	if m == nil || unpacked(m.Params()) != nil {
		return
	}
	m.Graph.Exclusive(m.merge)
}

// merge is Merge for a caller that holds the weights exclusively.
func (m *Model) merge() {
	if a := m.inUse.unchanged(m.adapters); a != nil {
		m.merged = append(m.merged, a)
	}
	m.inUse = inUse{}
	for _, l := range m.adapters {
		l.Merge()
	}
}

// Plain returns a model for batches of batch sequences that shares the weights of m and has no adapters. After Merge it
// computes what m computed with its adapters.
func (m *Model) Plain(batch int) (*Model, error) {
	if err := m.CheckNumbers(); err != nil {
		return nil, err
	}
	c := m.Config
	c.Adapters = Adapters{}
	return New(m.Graph.Sibling(), c, batch)
}
