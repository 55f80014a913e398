package gpt

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/gpt/internal/fuzzed"
	"github.com/pedestrian-ml/pedestrian/graph"
)

// A loop without a trainer computes the same as a trainer: after Configure the losses of the first batch and the
// gradients of all parameters are the same bits in every precision, and differ between precisions.
func TestConfigureIsTheTrainers(t *testing.T) {
	losses := map[float64]string{}
	for _, precision := range graph.Precisions() {
		c := tiny()
		c.Dropout, c.Precision = 0, precision
		trainer := newTrainer(t, c)
		var m *Model
		var p *graph.Program
		_, err := graph.Build(graph.Float32, c.Seed, func(g *graph.Graph) (err error) {
			c.Configure(g)
			if m, err = New(g, trainer.Config(), c.BatchSize); err != nil {
				return err
			}
			p, err = graph.Compile(m.Loss, m.Trainable()...)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		step, err := trainer.Step()
		if err != nil {
			t.Fatal(err)
		}
		copy(m.Tokens.Ints(), trainer.Model.Tokens.Ints())
		copy(m.Targets.Ints(), trainer.Model.Targets.Ints())
		if err := p.Run(); err != nil {
			t.Fatal(err)
		}
		if p.Loss() != step.Loss {
			t.Errorf("%s: got the loss %v, want the trainer's %v", precision, p.Loss(), step.Loss)
		}
		if m.Graph.Precision() != trainer.Model.Graph.Precision() {
			t.Errorf("%s: got %s, want the trainer's %s", precision, m.Graph.Precision(), trainer.Model.Graph.Precision())
		}
		if other, ok := losses[p.Loss()]; ok {
			t.Errorf("%s: got the loss %v of %s", precision, p.Loss(), other)
		}
		losses[p.Loss()] = precision
		decodesInFloat32(t, m)
	}
}

// decodesInFloat32 compares the bits of a decoder's logits with those of a model of the same weights in float32.
func decodesInFloat32(t *testing.T, m *Model) {
	t.Helper()
	c := m.Config
	c.Precision = ""
	plain, err := New(graph.New(graph.Float32, c.Seed), c, 1)
	if err != nil {
		t.Fatal(err)
	}
	var logits [2][]float64
	for i, m := range []*Model{m, plain} {
		d, err := NewDecoder(m, 1)
		if err != nil {
			t.Fatal(err)
		}
		x, err := d.Feed([]int{1})
		if err != nil {
			t.Fatal(err)
		}
		for j := range x.Len() {
			logits[i] = append(logits[i], x.At(j))
		}
	}
	for i, got := range logits[0] {
		if want := logits[1][i]; got != want {
			t.Errorf("%s decodes: logit %d: got %v, want %v as in float32", m.Config.Precision, i, got, want)
		}
	}
}

// Every number of a configuration has a least value, and every size a largest one. The fields that may differ when a
// run is resumed are those that no step reads.
func TestFieldBorders(t *testing.T) {
	c := Shakespeare()
	all := c.fields()
	for names, values := range map[string][2]string{ // that it may have, and that it may not
		"block_size vocab_size n_layer n_head n_embd batch_size gradient_accumulation_steps eval_interval eval_iters log_interval": {"1 2 268435456", "0 -1 268435457"},
		"qk_size v_size n_inner lora_r max_iters warmup_iters lr_decay_iters":                                                      {"0 1 268435456", "-1 268435457"},
		"dropout eps beta1 beta2":                             {"0 0.99", "-0.01 1"},
		"rope_theta lora_alpha weight_decay grad_clip min_lr": {"0 1e300", "-1e-300"},
		"learning_rate":                                       {"1e-300 1e300", "0 -1"},
		"threads":                                             {"0 4096", "-1 4097"},
		"lora_scale":                                          {`"" "alpha" "alpha/r" "alpha/sqrt(r)"`, `"beta"`},
		"optimizer precision position attention norm block activation mlp head": {`""`, `"none_such"`},
		"seed": {"0 18446744073709551615", ""},
	} {
		for _, name := range strings.Fields(names) {
			f, found := all.Find(name)
			if !found {
				t.Errorf("no field %s", name)
				continue
			}
			for i, list := range values {
				for _, v := range strings.Fields(list) {
					if err := f.Decode([]byte(v)); err != nil || (f.Check() == nil) != (i == 0) {
						t.Errorf("%s of %s: got %v, %v", name, v, err, f.Check())
					}
				}
			}
		}
	}
	fixed := all.Fixed().Names()
	free := slices.DeleteFunc(all.Names(), func(name string) bool { return slices.Contains(fixed, name) })
	if got := strings.Join(free, " "); got != "max_iters eval_interval eval_iters log_interval out_dir threads recompute memory_limit shard_optimizer" {
		t.Errorf("may differ: %s", got)
	}
}

// A network with a size of 0 is not counted.
func TestOutlineOfNothing(t *testing.T) {
	for i := range 4 {
		c := Shakespeare().Resolved()
		c.VocabSize = 65
		size := []*int{&c.NLayer, &c.NHead, &c.NEmbd, &c.BlockSize}[i]
		for n, ok := range map[int]bool{0: false, 1: true} {
			if *size = n; i == 2 {
				c.NHead = 1
			}
			if _, err := c.planned().outline(); (err == nil || !strings.Contains(err.Error(), "at least 1 of each is needed")) != ok {
				t.Errorf("size %d of %d: got %v", i, n, err)
			}
		}
	}
}

// Every field is set to nonsensical values: a configuration that passes can be built.
func TestHostileFields(t *testing.T) {
	names := hostileValues().fields().Names()
	fuzzed.Fields(t, names, hostileValues, func(c *Config) error { return use(*c) })
}

// use calls everything that reads a configuration alone, and builds a model if it passes.
func use(c Config) error {
	err := c.Validate()
	c.Count()
	c.Memory()
	FLOPsPerToken(c)
	if _, err := json.Marshal(c); err == nil {
		c.HuggingFace()
	}
	c.ResumeDiff(tiny())
	g := graph.New(graph.Float32, 1)
	c.Configure(g)
	if _, failed := New(g, c, c.BatchSize); err == nil {
		err = failed
	}
	return err
}

// hostileValues returns a configuration in which every part reads its options.
func hostileValues() *Config {
	c := tiny()
	c.VocabSize, c.MemoryLimit = 41, 0.004
	return &c
}
