package gpt

import (
	"bytes"
	"strings"
	"testing"
)

// fineTuned is adapters trained for two steps on the base of a checkpoint.
func fineTuned(t *testing.T) (base, tuned *Trainer) {
	t.Helper()
	base = newTrainer(t, tiny())
	steps(t, base, 3)
	c := tiny()
	c.LoraR, c.LoraAlpha = 2, 3
	tuned, err := FineTune(c, base.Corpus, base.Tokenizer, saved(t, 3, files(t, base)))
	if err != nil {
		t.Fatal(err)
	}
	return base, tuned
}

// Fine-tuning starts at the base's function, moves the adapters alone, and ends in a model without them.
func TestFineTune(t *testing.T) {
	base, tuned := fineTuned(t)
	loss := func(trainer *Trainer) float64 {
		l, err := trainer.EvaluateAll(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	before := loss(base)
	if got := loss(tuned); got != before {
		t.Errorf("before a step: loss %v, the base's is %v", got, before)
	}
	steps(t, tuned, 20)
	after := loss(tuned)
	if !(after < before) {
		t.Errorf("after 20 steps: loss %v, was %v", after, before)
	}
	for _, p := range base.Model.Params() {
		for _, q := range tuned.Model.Params() {
			if p.Name() == q.Name() && relative(q.Tensor().Floats(), p.Tensor().Floats(), 0) != 0 {
				t.Errorf("%s has moved", p.Name())
			}
		}
	}

	var adapters bytes.Buffer
	if err := tuned.Model.WriteAdapters(&adapters); err != nil {
		t.Fatal(err)
	}
	tuned.Model.Merge()
	if d := loss(tuned) - after; !(d < 1e-5 && d > -1e-5) {
		t.Errorf("merged: the loss is %v off", d)
	}
	plain, err := tuned.Model.Plain(1)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range plain.Params() {
		if strings.Contains(p.Name(), "lora") {
			t.Errorf("plain: got %s", p.Name())
		}
	}
	list, err := plain.Files(base.Tokenizer)
	if err != nil {
		t.Fatal(err)
	}
	cp := saved(t, 1, list)
	m, err := LoadModel(emptyGraph(), cp)
	if err != nil {
		t.Fatal(err)
	}
	sameWeights(t, m, plain)
	if err := checkTokenizer(cp, base.Tokenizer); err != nil {
		t.Error(err)
	}

	_, again := fineTuned(t)
	if err := again.Model.ReadAdapters(adapters.Bytes()); err != nil {
		t.Fatal(err)
	}
	if got := loss(again); got != after {
		t.Errorf("with the adapters of the file: loss %v, want %v", got, after)
	}
}

func TestFineTuneRefuses(t *testing.T) {
	base, tuned := fineTuned(t)
	cp := saved(t, 3, files(t, base))
	c := tiny()
	c.NEmbd = 18
	c.Options.Set("window", 5)
	_, err := FineTune(c, base.Corpus, base.Tokenizer, cp)
	mustContain(t, err, "n_embd: got 18, want 16 as saved")
	var bare Config // takes the network from the checkpoint
	bare.Training, bare.Run, bare.LoraR, bare.Dropout = c.Training, c.Run, 2, 0.1
	inherited, err := FineTune(bare, base.Corpus, base.Tokenizer, cp)
	if err != nil {
		t.Fatal(err)
	}
	if got := inherited.Config(); got.NEmbd != 16 || got.LoraR != 2 || got.Dropout != 0.1 {
		t.Errorf("got n_embd %d, lora_r %d, dropout %v, want 16, 2, 0.1", got.NEmbd, got.LoraR, got.Dropout)
	}
	mustContain(t, base.Model.WriteAdapters(new(bytes.Buffer)), "lora_r is 0")
	mustContain(t, base.Model.ReadAdapters(nil), "lora_r is 0")
	var whole bytes.Buffer
	if err := base.Model.WriteWeights(&whole); err != nil {
		t.Fatal(err)
	}
	mustContain(t, tuned.Model.ReadAdapters(whole.Bytes()), "lora_d is missing")
}
