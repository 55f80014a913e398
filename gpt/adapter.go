package gpt

import (
	"math"
	"slices"

	"github.com/pedestrian-ml/pedestrian/gpt/internal/field"
	"github.com/pedestrian-ml/pedestrian/gpt/internal/peft"
	"github.com/pedestrian-ml/pedestrian/gpt/published"
	"github.com/pedestrian-ml/pedestrian/gpt/safetensors"
	"github.com/pedestrian-ml/pedestrian/gpt/train"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/nn"
	"github.com/pkg/errors"
)

// Adapter is the result of fine-tuning by low rank, in the form in which programs exchange it: a folder of Hugging
// Face's PEFT. OpenAdapter reads one, and Model.SaveAdapter writes one.
type Adapter struct {
	Base string // name of the model that it was trained on, as given in the folder

	folder *peft.Folder
}

// OpenAdapter reads a PEFT folder: adapter_config.json and adapter_model.safetensors. It supports LoRA with the factor
// α/r or α/√r, where matrices may differ in r and α; DoRA (use_dora); and replaced tensors of the base
// (modules_to_save). If target_modules is not a list of names, the tensors say which matrices are adapted. Any other
// setting (a bias, another peft_type) is an error that names the key and its value. The numbers are read when a model
// first needs them, after their shapes have been compared with the model's; until then the file stays open.
func OpenAdapter(dir string) (*Adapter, error) {
	f, err := peft.Open(dir)
	if err != nil {
		return nil, err
	}
	return &Adapter{f.Base, f}, nil
}

func (a *Adapter) empty() bool { return a == nil || a.folder == nil }

// Replaces reports whether the adapter is more than a sum with the base's weights: DoRA, or with modules_to_save. Only
// Model.MergeAdapter applies such an adapter.
func (a *Adapter) Replaces() bool { return !a.empty() && a.folder.Replaces() != "" }

// Adapted returns a model for batches of batch sequences that shares the weights of m and has room for each of these
// adapters, one at a time. No adapter is in use at first, so the model computes the same function as m. The weights of
// m may be packed; adapters are float32 beside them.
func (m *Model) Adapted(batch int, list ...*Adapter) (*Model, error) {
	if err := m.Check(); err != nil {
		return nil, err
	}
	switch {
	case m.Config.LoraR > 0:
		return nil, errors.Errorf("adapter: lora_r: got a model of %d, want one without adapters", m.Config.LoraR)
	case len(list) == 0 || slices.ContainsFunc(list, func(a *Adapter) bool { return a.empty() }):
		return nil, errors.New("adapter: got none, want at least one from OpenAdapter")
	}
	for _, a := range list {
		if key := a.folder.Replaces(); key != "" {
			return nil, errors.Errorf("adapter: %s: got a folder with it, want one without: MergeAdapter merges it "+
				"into the weights", key)
		}
	}
	c, groups, err := m.room(batch, list...)
	if err != nil {
		return nil, err
	}
	for _, a := range list {
		rank, err := a.folder.Need(groups)
		if err != nil {
			return nil, err
		}
		c.LoraR = max(c.LoraR, rank)
	}
	return New(m.Graph.Sibling(), c, batch)
}

// room returns the configuration of m with adapters of rank 1 for the matrices of the list, and these adapters.
func (m *Model) room(batch int, list ...*Adapter) (c Config, groups []peft.Adapters, err error) {
	o, err := m.plan.outline()
	if err != nil {
		return c, nil, errors.WithMessage(err, "adapter")
	}
	c = m.Config
	layout := c.layout()
	c.Adapters = Adapters{LoraR: 1, LoraAlpha: list[0].folder.Scale(), LoraScale: "alpha", LoraFused: true}
	for _, a := range list {
		targets, err := a.folder.LoRATargets(o.linears, layout)
		if err != nil {
			return c, nil, err
		}
		for _, target := range targets {
			if !slices.Contains(c.LoraTargets, target) {
				c.LoraTargets = append(c.LoraTargets, target)
			}
		}
	}
	p, _, err := c.validated()
	if err != nil {
		return c, nil, errors.WithMessage(err, "adapter")
	}
	return c, peft.Group(p.declare(graph.Outline(graph.Float32), batch).adapters, layout), nil
}

// Use sets the model's adapters to those of a, in place. Programs, decoders and trainers of the model compute with them
// from now on, and nothing is rebuilt. If a is nil, no adapter is in use, and the model computes what its base does. A
// smaller rank is padded with zeros; a different factor is multiplied into Bᵀ. Use returns an error, and changes
// nothing, if a adapts other matrices or shapes than the model has adapters for, or has a higher rank.
func (m *Model) Use(a *Adapter) error { return m.use(a, 1) }

// Unmerge subtracts from the weights what Use(a) and Merge have added to them. No adapter is in use afterwards. It
// returns an error, and changes nothing, unless m has merged a, with its numbers unchanged by training, and has not
// unmerged it since.
func (m *Model) Unmerge(a *Adapter) error {
	if a == nil {
		return errors.New("adapter: got nil, want the one that was merged")
	}
	return m.use(a, -1)
}

// use sets the adapters to a if sign is 1, and subtracts a from the weights if sign is −1.
func (m *Model) use(a *Adapter, sign float64) error {
	check := m.Check
	if sign < 0 {
		check = m.loose
	}
	if err := check(); err != nil {
		return err
	}
	if m.Config.LoraR == 0 {
		return errors.New("adapter: the model has no room for one, lora_r is 0: Adapted returns one that has")
	}
	if err := m.looseAdapters(); err != nil {
		return err
	}
	var values []peft.Pair
	if a != nil {
		if a.empty() {
			return errors.New("adapter: got an empty one, want one from OpenAdapter")
		}
		list, err := a.folder.Pairs(peft.Group(m.adapters, m.Config.layout()), m.Config.LoraR)
		if err != nil {
			return err
		}
		values = list
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
		for _, p := range values {
			p.Set(sign * a.folder.ScaleOf(p.Matrix()) / m.Config.scale())
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

// looseAdapters returns an error unless the adapters have numbers, beside weights that may be packed.
func (m *Model) looseAdapters() error {
	for _, l := range m.adapters {
		for _, a := range l.Adapters {
			if err := unpacked([]graph.Expr{a.Down, a.Up}); err != nil {
				return errors.WithMessage(err, "adapter")
			}
		}
	}
	return nil
}

// SaveAdapter writes the model's adapters as a PEFT folder. If dir exists, it must be an empty directory. base is the
// name that the folder gives to the base model, such as openai-community/gpt2. If several of our adapters belong to one
// matrix of the family, like those of q, k and v for GPT-2's c_attn without LoraFused, the folder has their ranks one
// after another, which is exactly the same function.
func (m *Model) SaveAdapter(dir, base string) error {
	if err := m.Check(); err != nil {
		return err
	}
	if m.Config.LoraR == 0 {
		return errors.New("adapter: the model has none, lora_r is 0")
	}
	if err := m.looseAdapters(); err != nil {
		return err
	}
	o, err := m.plan.outline()
	if err != nil {
		return errors.WithMessage(err, "adapter")
	}
	layout := m.Config.layout()
	c := peft.Config{Base: base, Targets: peft.TargetModules(m.Config.LoraTargets, o.linears, layout)}
	var matrices []peft.Matrix
	err = m.reading(func() (err error) {
		matrices, c.Rank, c.FanIn, err = peft.Collect(peft.Group(m.adapters, layout), m.Config.LoraR)
		return err
	})
	if err != nil {
		return err
	}
	c.Alpha = m.Config.scale() * float64(c.Rank)
	return peft.Write(dir, c, matrices)
}

// layout returns the layout of the network's family, or of GPT-2's if the network belongs to no family.
func (c Config) layout() published.Layout {
	c.Adapters = Adapters{}
	f, _, err := c.Resolved().family()
	if err != nil {
		f = published.GPT2()
	}
	return source{Config: c, family: f}.layout()
}

func inUseNow(a *Adapter, layers []*nn.LoRA) inUse { return inUse{a, adapterNumbers(layers)} }

// unchanged returns the adapter if the layers still hold its numbers, otherwise nil.
func (u inUse) unchanged(layers []*nn.LoRA) *Adapter {
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

// Merge adds every adapter to its weight, w + s·d·u, and sets u to 0: the model computes the same function. A second
// Merge changes nothing, and neither does Merge if the weights are packed: LoadModel or LoadCropped reads a GGUF file
// into numbers, with which adapters can be merged.
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

// MergeAdapter adds an adapter to the weights of m, which must have no adapter. With DoRA it then scales the columns of
// the sums to the adapter's lengths, and with modules_to_save it replaces tensors of m. All models that share the
// weights change, and the adapter cannot be removed. If the adapter does not fit m, MergeAdapter returns an error and
// changes nothing.
func (m *Model) MergeAdapter(a *Adapter) error {
	if err := m.loose(); err != nil {
		return err
	}
	switch {
	case m.Config.LoraR > 0:
		return errors.Errorf("adapter: lora_r: got a model of %d, want one without adapters", m.Config.LoraR)
	case a.empty():
		return errors.New("adapter: got none, want one from OpenAdapter")
	}
	_, groups, err := m.room(1, a)
	if err != nil {
		return err
	}
	pairs, err := a.folder.Pairs(groups, math.MaxInt)
	if err != nil {
		return err
	}
	replaced, file, err := m.replaced(a.folder.Saved())
	if err != nil {
		return err
	}
	m.Graph.Exclusive(func() {
		if err = train.Restore(replaced, file); err != nil {
			return
		}
		for _, p := range pairs {
			w, _ := m.Graph.Leaf(p.Weight())
			p.Merge(w.Tensor(), a.folder.ScaleOf(p.Matrix()))
		}
	})
	return errors.WithMessage(err, "adapter")
}

// replaced returns the tensors of m, in the layout of its family, that a file replaces, and their names in the file.
func (m *Model) replaced(saved *safetensors.File) (list []train.Named, file *safetensors.File, err error) {
	layout := m.Config.layout()
	for _, e := range saved.Entries {
		if layout.IsHead(e.Name) && !m.ownHead() {
			return nil, nil, errors.Errorf("adapter: %s: got a head, want none: that of the model is the embedding "+
				"(head %s)", field.Clip(e.Name), m.Config.Head)
		}
	}
	file = layout.Parameters(saved, m.ownHead())
	list = slices.DeleteFunc(layout.Tensors(m.Params()), func(t train.Named) bool {
		return !slices.ContainsFunc(file.Entries, func(e safetensors.Entry) bool { return e.Name == t.Name })
	})
	return list, file, nil
}

// Plain returns a model for batches of batch sequences that shares the weights of m and has no adapters. After Merge it
// computes what m computed with its adapters.
func (m *Model) Plain(batch int) (*Model, error) {
	if err := m.loose(); err != nil {
		return nil, err
	}
	c := m.Config
	c.Adapters = Adapters{}
	return New(m.Graph.Sibling(), c, batch)
}
