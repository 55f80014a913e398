package gpt

import (
	"testing"

	"github.com/pedestrian-ml/pedestrian/gpt/parts"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/nn"
)

// twist is a user-defined MLP that declares its matrices itself.
type twist struct{ in, out graph.Expr }

func (l twist) Forward(x graph.Expr) graph.Expr { return x.MatMul(l.in).Tanh().MatMul(l.out) }

func twisted() Config {
	c := tiny()
	c.MLP = "twist"
	c.Parts.MLPs = []parts.MLP{{Name: "twist", New: func(at nn.Site) nn.Layer {
		return twist{at.Param("weight", graph.Normal(0.1), at.Embd, 5), at.Param("back", graph.Normal(0.1), 5, at.Embd)}
	}}}
	return c
}

// The matrices of a user-defined part have adapters like all others, named or by default. The adapters are counted,
// start at the base's function, learn, are merged, and are in the decoder.
func TestAdaptersOfOwnMatrices(t *testing.T) {
	base := newTrainer(t, twisted())
	steps(t, base, 2)
	c := twisted()
	c.VocabSize, c.LoraR = base.Config().VocabSize, 3
	const each = 2 * ((16*3 + 3*5) + (5*3 + 3*16)) // of two blocks
	all := c
	_, trained := all.Count()
	all.LoraTargets = []string{"c_attn", "c_proj"}
	_, without := all.Count()
	all.LoraTargets = []string{"c_attn", "c_proj", "mlp", "mlp.back"}
	if _, named := all.Count(); trained-without != each || named != trained {
		t.Errorf("%d adapters by default, %d named, %d without the layer's; want a difference of %d", trained, named, without, each)
	}
	c.LoraTargets = []string{"c_fc"}
	mustContain(t, c.Validate(), "want endings of attn.c_attn, attn.c_proj, mlp, mlp.back")

	c.LoraTargets = []string{"mlp", "back"}
	tuned, err := FineTune(c, base.Corpus, base.Tokenizer, saved(t, 2, files(t, base)))
	if err != nil {
		t.Fatal(err)
	}
	loss := func(trainer *Trainer) float64 {
		l, err := trainer.EvaluateAll(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	before := loss(tuned)
	if want := loss(base); before != want {
		t.Errorf("fine-tuning starts at %v, the base is at %v", before, want)
	}
	steps(t, tuned, 10)
	after := loss(tuned)
	if !(after < before) {
		t.Errorf("after 10 steps: loss %v, was %v", after, before)
	}
	decoded := func(m *Model) []float64 {
		d, err := NewDecoder(m)
		if err != nil {
			t.Fatal(err)
		}
		logits, err := d.Feed(1, 2, 3)
		if err != nil {
			t.Fatal(err)
		}
		return logits.Floats()
	}
	want := decoded(tuned.Model)
	tuned.Model.Merge()
	plain, err := tuned.Model.Plain(1)
	if err != nil {
		t.Fatal(err)
	}
	if d := relative(decoded(plain), want, 0); !(d < 1e-4) {
		t.Errorf("merged: %v off", d)
	}
}
