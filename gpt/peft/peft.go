// Package peft reads and writes adapters of low rank in the form in which programs exchange them: folders of Hugging
// Face's PEFT. Start with Open, which reads a folder. Adapted makes a model with room for adapters, which
// [gpt.Model.Use] sets, and Save writes the adapters of a model. Merge adds an adapter to the weights.
package peft

import (
	"math"
	"slices"

	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/internal/field"
	"github.com/pedestrian-ml/pedestrian/gpt/internal/peft"
	"github.com/pedestrian-ml/pedestrian/gpt/published"
	"github.com/pedestrian-ml/pedestrian/gpt/safetensors"
	"github.com/pedestrian-ml/pedestrian/gpt/train"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pkg/errors"
)

// Adapter is the result of fine-tuning by low rank, in a folder. It implements gpt.Adapter.
type Adapter struct {
	Base string // name of the model that it was trained on, as given in the folder

	folder *peft.Folder
}

// Open reads a PEFT folder: adapter_config.json and adapter_model.safetensors. It supports LoRA with the factor α/r or
// α/√r, where matrices may differ in r and α; DoRA (use_dora); and replaced tensors of the base (modules_to_save). If
// target_modules is not a list of names, the tensors say which matrices are adapted. Any other setting (a bias, another
// peft_type) is an error that names the key and its value. The numbers are read when a model first needs them, after
// their shapes have been compared with the model's; until then the file stays open.
func Open(dir string) (*Adapter, error) {
	f, err := peft.Open(dir)
	if err != nil {
		return nil, err
	}
	return &Adapter{f.Base, f}, nil
}

func (a *Adapter) empty() bool { return a == nil || a.folder == nil }

// Replaces reports whether the adapter is more than a sum with the base's weights: DoRA, or with modules_to_save. Only
// Merge applies such an adapter.
func (a *Adapter) Replaces() bool { return !a.empty() && a.folder.Replaces() != "" }

// Fit implements gpt.Adapter. A smaller rank than the model's is padded with zeros; a different factor is multiplied
// into Bᵀ.
func (a *Adapter) Fit(m *gpt.Model) (set func(factor float64), err error) {
	if err := m.Check(); err != nil {
		return nil, err
	}
	if a.empty() {
		return nil, errors.New("adapter: got an empty one, want one from Open")
	}
	pairs, err := a.folder.Pairs(peft.Group(m.Adapters(), published.LayoutOf(m.Config)), m.Config.LoraR)
	if err != nil {
		return nil, err
	}
	return func(factor float64) {
		for _, p := range pairs {
			p.Set(factor * a.folder.ScaleOf(p.Matrix()) / m.Config.Factor())
		}
	}, nil
}

// Adapted returns a model for batches of batch sequences that shares the weights of m and has room for each of these
// adapters, one at a time. No adapter is in use at first, so the model computes the same function as m. The weights of
// m may be packed; adapters are float32 beside them.
func Adapted(m *gpt.Model, batch int, list ...*Adapter) (*gpt.Model, error) {
	if err := m.Check(); err != nil {
		return nil, err
	}
	switch {
	case m.Config.LoraR > 0:
		return nil, errors.Errorf("adapter: lora_r: got a model of %d, want one without adapters", m.Config.LoraR)
	case len(list) == 0 || slices.ContainsFunc(list, func(a *Adapter) bool { return a.empty() }):
		return nil, errors.New("adapter: got none, want at least one from Open")
	}
	for _, a := range list {
		if key := a.folder.Replaces(); key != "" {
			return nil, errors.Errorf("adapter: %s: got a folder with it, want one without: Merge merges it into the "+
				"weights", key)
		}
	}
	c, groups, err := room(m, batch, list...)
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
	return gpt.New(m.Graph.Sibling(), c, batch)
}

// room returns the configuration of m with adapters of rank 1 for the matrices of the list, and these adapters.
func room(m *gpt.Model, batch int, list ...*Adapter) (c gpt.Config, groups []peft.Adapters, err error) {
	c = m.Config
	layout := published.LayoutOf(c)
	c.Adapters = gpt.Adapters{
		LoraR: 1, LoraAlpha: list[0].folder.Scale(), LoraScale: "alpha", LoraFused: !layout.Separate(),
	}
	for _, a := range list {
		targets, err := a.folder.LoRATargets(m.Config.Matrices(), layout)
		if err != nil {
			return c, nil, err
		}
		for _, target := range targets {
			if !slices.Contains(c.LoraTargets, target) {
				c.LoraTargets = append(c.LoraTargets, target)
			}
		}
	}
	outline := graph.Outline(graph.Float32)
	outline.Kernels = m.Graph.Kernels
	adapted, err := gpt.New(outline, c, batch)
	if err != nil {
		return c, nil, errors.WithMessage(err, "adapter")
	}
	return c, peft.Group(adapted.Adapters(), layout), nil
}

// Save writes a model's adapters as a PEFT folder. If dir exists, it must be an empty directory. base is the name that
// the folder gives to the base model, such as openai-community/gpt2. In GPT-2 the matrix c_attn holds q, k and v. If
// each of them has its own adapter, as without LoraFused, Save puts the ranks one after another, which computes exactly
// the same function.
func Save(dir string, m *gpt.Model, base string) error {
	if err := m.Check(); err != nil {
		return err
	}
	if m.Config.LoraR == 0 {
		return errors.New("adapter: the model has none, lora_r is 0")
	}
	layout := published.LayoutOf(m.Config)
	c := peft.Config{Base: base, Targets: peft.TargetModules(m.Config.LoraTargets, m.Config.Matrices(), layout)}
	var matrices []peft.Matrix
	err := m.Graph.Shared(func(graph.Reading) (err error) {
		matrices, c.Rank, c.FanIn, err = peft.Collect(peft.Group(m.Adapters(), layout), m.Config.LoraR)
		return err
	})
	if err != nil {
		return err
	}
	c.Alpha = m.Config.Factor() * float64(c.Rank)
	return peft.Write(dir, c, matrices)
}

// Merge adds an adapter to the weights of m, which must have no adapter. With DoRA it then scales the columns of the
// sums to the adapter's lengths, and with modules_to_save it replaces tensors of m. All models that share the weights
// change, and the adapter cannot be removed. If the adapter does not fit m, Merge returns an error and changes nothing.
func Merge(m *gpt.Model, a *Adapter) error {
	if err := m.CheckNumbers(); err != nil {
		return err
	}
	switch {
	case m.Config.LoraR > 0:
		return errors.Errorf("adapter: lora_r: got a model of %d, want one without adapters", m.Config.LoraR)
	case a.empty():
		return errors.New("adapter: got none, want one from Open")
	}
	_, groups, err := room(m, 1, a)
	if err != nil {
		return err
	}
	pairs, err := a.folder.Pairs(groups, math.MaxInt)
	if err != nil {
		return err
	}
	replaced, file, err := replaced(m, a.folder.Saved())
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
func replaced(m *gpt.Model, saved *safetensors.File) (list []train.Named, file *safetensors.File, err error) {
	layout, file := published.LayoutOf(m.Config), new(safetensors.File)
	_, ownHead := m.Graph.Leaf("lm_head.weight")
	if saved != nil {
		file.Metadata = saved.Metadata
		for _, e := range saved.Entries {
			switch plain := layout.Plain(e.Name); {
			case layout.Buffer(plain):
				continue
			case plain == layout.Head() && !ownHead:
				return nil, nil, errors.Errorf("adapter: %s: got a head, want none: the model has head %s",
					field.Clip(e.Name), m.Config.Head)
			default:
				e.Name = plain
			}
			file.Entries = append(file.Entries, e)
		}
	}
	list = slices.DeleteFunc(layout.Tensors(m.Params()), func(t train.Named) bool {
		return !slices.ContainsFunc(file.Entries, func(e safetensors.Entry) bool { return e.Name == t.Name })
	})
	return list, file, nil
}
