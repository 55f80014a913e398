package gpt

import (
	"bytes"
	"context"
	"testing"

	"github.com/pedestrian-ml/pedestrian/gpt/text"
	"github.com/pedestrian-ml/pedestrian/graph"
)

// A Trainer with a replaced field is an error that names the field, in every method that reads it. No method panics or
// continues with another network.
func TestTrainerReplaced(t *testing.T) {
	other, letters := newTrainer(t, tiny()), must(text.NewCharacters("a to z"))
	for name, tc := range map[string]struct {
		change func(*Trainer)
		says   string
		saving bool // only Save reads it
	}{
		"no core":      {func(tr *Trainer) { tr.Core = nil }, "Core has been replaced", false},
		"core":         {func(tr *Trainer) { tr.Core = other.Core }, "Core has been replaced", false},
		"no model":     {func(tr *Trainer) { tr.Model = nil }, "Model has been replaced", false},
		"model":        {func(tr *Trainer) { tr.Model = other.Model }, "Model has been replaced", false},
		"graph":        {func(tr *Trainer) { tr.Model.Graph = other.Model.Graph }, "Graph has been replaced", false},
		"tokens":       {func(tr *Trainer) { tr.Model.Tokens = graph.Expr{} }, "Tokens has been replaced", false},
		"targets":      {func(tr *Trainer) { tr.Model.Targets = other.Model.Targets }, "Targets has been replaced", false},
		"no corpus":    {func(tr *Trainer) { tr.Corpus = nil }, "Corpus: got nil", false},
		"no tokenizer": {func(tr *Trainer) { tr.Tokenizer = nil }, "Tokenizer: got nil", true},
		"tokenizer":    {func(tr *Trainer) { tr.Tokenizer = letters }, "Tokenizer has been replaced: another vocabulary", true},
	} {
		tr := newTrainer(t, tiny())
		tc.change(tr)
		_, files := tr.Files()
		for method, err := range map[string]error{"Files": files, "Save": tr.Save(t.TempDir())} {
			if err == nil {
				t.Errorf("%s: %s: no error", name, method)
			}
			mustContain(t, err, "trainer: ", tc.says)
		}
		if tc.saving {
			continue
		}
		_, step := tr.Step()
		_, evaluate := tr.Evaluate(context.Background())
		_, all := tr.EvaluateAll(context.Background(), nil)
		var run error
		for _, run = range tr.Run(context.Background()) {
			break
		}
		for method, err := range map[string]error{"Step": step, "Evaluate": evaluate, "EvaluateAll": all, "Run": run} {
			if err == nil {
				t.Errorf("%s: %s: no error", name, method)
			}
			if name != "no core" || method != "Run" {
				mustContain(t, err, "trainer: ", tc.says)
			}
		}
	}
}

// A nil corpus, tokenizer or checkpoint is an error that names it.
func TestTrainersRefuseNil(t *testing.T) {
	data, tok := corpus(t, verses, tiny().BlockSize)
	cp := saved(t, 0, files(t, newTrainer(t, tiny())))
	for name, make := range map[string]func(text.Corpus, text.Tokenizer) (*Trainer, error){
		"NewTrainer": func(data text.Corpus, tok text.Tokenizer) (*Trainer, error) { return NewTrainer(tiny(), data, tok) },
		"Resume":     func(data text.Corpus, tok text.Tokenizer) (*Trainer, error) { return Resume(tiny(), data, tok, cp) },
		"FineTune":   func(data text.Corpus, tok text.Tokenizer) (*Trainer, error) { return FineTune(tiny(), data, tok, cp) },
	} {
		_, err := make(nil, tok)
		mustContain(t, err, "Corpus: got nil")
		_, err = make(data, nil)
		mustContain(t, err, "Tokenizer: got nil")
		if _, err = make(data, tok); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	_, err := Resume(tiny(), data, tok, nil)
	mustContain(t, err, "checkpoint")
	_, err = FineTune(tiny(), data, tok, nil)
	mustContain(t, err, "checkpoint: got nil")
}

// A tokenizer with more tokens than the model has logits is not written with the model.
func TestFilesRefuseALargerTokenizer(t *testing.T) {
	m := scrambledIn(t, graph.Float32, tiny()) // 11 tokens
	_, err := m.Files(must(text.NewCharacters(verses)))
	mustContain(t, err, "tokenizer: got ", "tokens, want at most the model's vocab_size 11")
	mustContain(t, m.Export(t.TempDir(), must(text.NewCharacters(verses)), "F32"), "export: tokenizer: got ", "vocab_size 11")
	if _, err := m.Files(must(text.NewCharacters("to a mill"))); err != nil {
		t.Error(err)
	}
}

// An adapter that has not been merged cannot be unmerged: one that was never used, one that was used but not merged,
// one that was trained since, and the same one twice. The weights do not change.
func TestUnmergeRefuses(t *testing.T) {
	a := adapterFolder(t, scrambled(t, lora(2, 3)))
	for name, do := range map[string]func(m *Model){
		"never used": func(*Model) {},
		"not merged": func(m *Model) { m.Use(a) },
		"trained": func(m *Model) {
			m.Use(a)
			m.adapters[0].Adapters[0].Up.Tensor().Set(0, 3)
			m.Merge()
		},
		"the base": func(m *Model) { m.Use(a); m.Use(nil); m.Merge() },
		"twice":    func(m *Model) { m.Use(a); m.Merge(); m.Merge(); check(t, m.Unmerge(a)) },
		"read": func(m *Model) {
			m.Use(a)
			m.Merge()
			var b bytes.Buffer
			check(t, m.WriteWeights(&b))
			check(t, m.ReadWeights(b.Bytes()))
		},
	} {
		m := adapted(t, scrambled(t, tiny()), a)
		do(m)
		before := weights(m)
		mustContain(t, m.Unmerge(a), "adapter: it is not merged into the weights of this model")
		if !bytes.Equal(weights(m), before) {
			t.Errorf("%s: the weights have changed", name)
		}
	}
}

func weights(m *Model) []byte {
	var b bytes.Buffer
	m.WriteWeights(&b)
	return b.Bytes()
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Error(err)
	}
}
