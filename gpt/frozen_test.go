package gpt

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/gpt/train"
	"github.com/pedestrian-ml/pedestrian/graph"
)

// Frozen parameters do not change and have no moments, but are counted, saved and compared. The others are trained and
// resumed.
func TestFrozen(t *testing.T) {
	c := eventful()
	c.Frozen = train.Frozen{"h.0.*", "wte.*", "h.1.mlp.c_f?.[bw]*"}
	trainer := newTrainer(t, c)
	before := map[string][]float64{}
	var left, frozen int
	for _, p := range trainer.Model.Params() {
		before[p.Name()] = p.Tensor().Floats()
		if c.Frozen.Has(p.Name()) {
			frozen += p.Tensor().Len()
		} else {
			left += p.Tensor().Len()
		}
	}
	total, trainable := trainer.Config().Count()
	if int(total) != left+frozen || int(trainable) != left || frozen < left/4 {
		t.Errorf("counted %d parameters, %d to train, want %d and %d", total, trainable, left+frozen, left)
	}
	plain := trainer.Config()
	plain.Frozen = nil
	wte := len(before["wte.weight"])
	if got, want := FLOPsPerToken(plain)-FLOPsPerToken(trainer.Config()), 2*float64(frozen-wte); got != want {
		t.Errorf("%v products a token saved, want %v", got, want)
	}
	tied, still := plain, plain // the table is the head's matrix, too
	tied.Head, still.Head, still.Frozen = "tied", "tied", train.Frozen{"wte.*"}
	if got := FLOPsPerToken(tied) - FLOPsPerToken(still); got != 2*float64(wte) {
		t.Errorf("%v products a token saved of a tied head, want %v", got, 2*wte)
	}
	if with, without := trainer.Config().Memory(), plain.Memory(); !(with < without-4*2*float64(frozen)) {
		t.Errorf("planned %.0f bytes, without anything frozen %.0f", with, without)
	}

	steps(t, trainer, 2)
	cp := saved(t, 2, files(t, trainer))
	steps(t, trainer, 2)
	for _, p := range trainer.Model.Params() {
		same := true
		for i, x := range p.Tensor().Floats() {
			same = same && x == before[p.Name()][i]
		}
		if same != c.Frozen.Has(p.Name()) {
			t.Errorf("%s: unchanged is %t, frozen %t", p.Name(), same, c.Frozen.Has(p.Name()))
		}
	}
	for _, m := range trainer.Moments() {
		if c.Frozen.Has(m.Name[len("m."):]) {
			t.Errorf("%s is a moment of what is frozen", m.Name)
		}
	}
	resumed, err := Resume(c, trainer.Corpus, trainer.Tokenizer, cp)
	if err != nil {
		t.Fatal(err)
	}
	if steps(t, resumed, 2); fingerprint(t, resumed) != fingerprint(t, trainer) {
		t.Error("resumed, other bits")
	}
	c.Frozen = c.Frozen[1:]
	_, err = Resume(c, trainer.Corpus, trainer.Tokenizer, cp)
	mustContain(t, err, "frozen: got wte.*,h.1.mlp.c_f?.[bw]*, want h.0.*,wte.*,h.1.mlp")
}

func numbers(params []graph.Expr) (n int) {
	for _, p := range params {
		n += p.Tensor().Len()
	}
	return n
}

// A pattern that freezes nothing, or leaves nothing to train, is an error that lists the parameters.
func TestFrozenRefused(t *testing.T) {
	for pattern, want := range map[string]string{
		"h.9.attn.*":    "frozen: got h.9.attn.*, which is none of the 28 parameters to train: the nearest are h.0.attn.c_attn.weight, ",
		"*.c_fc.biass":  "the nearest are h.0.mlp.c_fc.bias, h.1.mlp.c_fc.bias, ",
		"wpe.wieght":    "the nearest are wpe.weight, ",
		"[":             "frozen: got [: want a name, * for any letters",
		"":              "frozen: got ",
		"*":             "which is all of the 28 parameters: nothing is left to train",
		"\x1b[31m\xff*": `frozen: got "\x1b[31m`,
	} {
		c := tiny()
		c.Bias, c.VocabSize, c.Frozen = true, 41, train.Frozen{pattern}
		if c.Head = "tied"; pattern == "*" {
			c.Frozen = train.Frozen{"h.*", "w*", "ln_f.*"}
		}
		mustContain(t, c.Validate(), want)
	}
	c := tiny()
	c.VocabSize, c.LoraR, c.Frozen = 41, 2, train.Frozen{"wte.*"}
	mustContain(t, c.Validate(), "wte.*, which is none of the ", "lora_")
	c.Frozen = train.Frozen{"*.lora_d"}
	trainer := newTrainer(t, c)
	left, all := trainer.Model.Trainable(), trainer.Model.candidates()
	if _, trainable := trainer.Config().Count(); len(left) == 0 || len(all) <= len(left) || int(trainable) != numbers(left) {
		t.Errorf("%d of %d adapters to train, %d numbers, want %d", len(left), len(all), trainable, numbers(left))
	}
	plain := trainer.Config()
	plain.Frozen = nil
	if got, want := FLOPsPerToken(plain)-FLOPsPerToken(trainer.Config()), 2*float64(numbers(all)-numbers(left)); got != want {
		t.Errorf("%v products a token saved, want %v", got, want)
	}
	var adapters bytes.Buffer // all of them, whatever is frozen
	if err := trainer.Model.WriteAdapters(&adapters); err != nil || strings.Count(adapters.String(), "data_offsets") != len(all) {
		t.Errorf("wrote %d adapters (%v)", strings.Count(adapters.String(), "data_offsets"), err)
	}
}

// If nothing is frozen, the JSON has no such key; otherwise it can be read back.
func TestFrozenJSON(t *testing.T) {
	c := tiny()
	data, err := json.Marshal(c)
	if err != nil || bytes.Contains(data, []byte("frozen")) {
		t.Errorf("got %s (%v)", data, err)
	}
	c.Frozen = train.Frozen{"wte.*", "h.0.*"}
	if data, err = json.Marshal(c); err != nil || !bytes.Contains(data, []byte(`"frozen":["wte.*","h.0.*"]`)) {
		t.Errorf("got %s (%v)", data, err)
	}
	var again Config
	if err := json.Unmarshal(data, &again); err != nil || strings.Join(again.Frozen, ",") != "wte.*,h.0.*" {
		t.Errorf("read back %v (%v)", again.Frozen, err)
	}
}
