package gpt

import (
	"slices"

	"github.com/pedestrian-ml/pedestrian/gpt/internal/peft"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pkg/errors"
)

// Adapter is what fine-tuning by low rank has learned, as it is handed from program to program: a folder of Hugging
// Face's PEFT. OpenAdapter reads one, Model.SaveAdapter writes one.
type Adapter struct {
	Base string // the model that it was trained on, as the folder calls it

	config peft.Config
	folder *peft.Folder
}

// OpenAdapter reads a PEFT folder: adapter_config.json and adapter_model.safetensors. LoRA with one rank for all
// matrices is known, its factor α/r or α/√r; whatever else the folder says (use_dora, rank_pattern, modules_to_save, a
// bias, another peft_type) is an error that names the key and its value. The numbers are read when a model first needs
// them, after their shapes are known to be the model's; until then the file stays open.
func OpenAdapter(dir string) (*Adapter, error) {
	f, err := peft.Open(dir)
	if err != nil {
		return nil, err
	}
	return &Adapter{f.Base, f.Config, f}, nil
}

// Adapted returns a model of the same weights, which are shared, for batches of that many sequences, with room for each
// of these adapters, one at a time. None is in use yet: it computes what m does.
func (m *Model) Adapted(batch int, list ...*Adapter) (*Model, error) {
	if err := m.loose(); err != nil {
		return nil, err
	}
	switch {
	case m.Config.LoraR > 0:
		return nil, errors.Errorf("adapter: lora_r: got a model of %d, want one without adapters", m.Config.LoraR)
	case len(list) == 0 || slices.ContainsFunc(list, func(a *Adapter) bool { return a == nil || a.config.Rank < 1 }):
		return nil, errors.New("adapter: got none, want those of OpenAdapter")
	}
	c := m.Config
	c.Adapters = Adapters{LoraR: 1, LoraAlpha: list[0].config.Scale(), LoraScale: "alpha"}
	for _, a := range list {
		targets, err := m.Config.targets(a)
		if err != nil {
			return nil, err
		}
		for _, target := range targets {
			if !slices.Contains(c.LoraTargets, target) {
				c.LoraTargets = append(c.LoraTargets, target)
			}
		}
	}
	if err := c.ValidateModel(); err != nil {
		return nil, errors.WithMessage(err, "adapter")
	}
	outlined := c.declare(graph.Outline(graph.Float32), batch).shared()
	for _, a := range list {
		rank, err := a.rank(outlined)
		if err != nil {
			return nil, err
		}
		c.LoraR = max(c.LoraR, rank)
	}
	return New(m.Graph.Sibling(), c, batch)
}

// Use sets the model's adapters to those of a, in place: programs, decoders and trainers of the model compute with them
// from now on, and nothing is built again. The nil Adapter is none: the base. A smaller rank is
// padded with zeros, another factor multiplied into Bᵀ. It is an error, and nothing changes, if a is of other matrices
// or shapes than the model has adapters for, or of a higher rank.
func (m *Model) Use(a *Adapter) error { return m.use(a, 1) }

// Unmerge takes away from the weights what Use(a) and Merge have added to them. No adapter is in use then. It is an
// error, and nothing changes, unless m has merged a, unchanged by training, and not unmerged it since.
func (m *Model) Unmerge(a *Adapter) error {
	if a == nil {
		return errors.New("adapter: got nil, want the one that was merged")
	}
	return m.use(a, -1)
}

// use sets the adapters to a, if sign is 1. If it is −1, it takes a away from the weights.
func (m *Model) use(a *Adapter, sign float64) error {
	switch err := m.loose(); {
	case err != nil:
		return err
	case m.Config.LoraR == 0:
		return errors.New("adapter: the model has no room for one, lora_r is 0: Adapted makes one that has")
	}
	var values []pair
	if a != nil && a.config.Rank < 1 {
		return errors.New("adapter: it is empty, want one of OpenAdapter")
	}
	if a != nil {
		list, err := a.pairs(m.shared(), m.Config.LoraR)
		if err != nil {
			return err
		}
		values = list
	}
	var err error
	m.Graph.Exclusive(func() {
		at := slices.Index(m.merged, a)
		if sign < 0 && at < 0 {
			err = errors.New("adapter: it is not merged into the weights of this model: Use and Merge come before Unmerge")
			return
		}
		for _, l := range m.adapters {
			for _, to := range l.Adapters {
				u := to.Up.Tensor()
				clear(u.F32)
				clear(u.F64)
			}
		}
		for _, p := range values {
			p.set(sign * a.config.Scale() / m.Config.scale())
		}
		if m.inUse = (inUse{}); sign > 0 {
			m.inUse = inUseNow(a, m.adapters)
			return
		}
		m.merge()
		m.merged = slices.Delete(m.merged, at, at+1)
	})
	return err
}
