package gpt

import (
	"bytes"
	"encoding/json"
	"flag"
	"io"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/pedestrian-ml/pedestrian/gpt/train"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/internal/fuzzed"
)

// Every invalid configuration is an error that begins with the field and needs no memory, however large the sizes.
func TestConfigErrors(t *testing.T) {
	read := func(text string) error {
		c, err := ReadConfig(strings.NewReader(text), shakespeare65())
		if err != nil {
			return err
		}
		return c.Validate()
	}
	flags := func(text string) error {
		c := shakespeare65()
		fs := flag.NewFlagSet("test", flag.ContinueOnError)
		fs.SetOutput(io.Discard)
		c.Flags(fs)
		if err := fs.Parse(strings.Fields(text)); err != nil {
			return err
		}
		return c.Validate()
	}
	huggingFace := func(text string) error {
		c, err := FromHuggingFace([]byte(text))
		if err != nil {
			return err
		}
		return c.ValidateModel()
	}

	for _, test := range []struct {
		parse func(string) error
		text  string
		want  string // the error's beginning
	}{
		// Sizes.
		{read, `{"n_head": 5, "n_embd": 32}`, "n_head: 5 heads do not divide n_embd 32"},
		{read, `{"n_head": 5, "n_embd": 32, "qk_size": 8}`, "n_head: 5 heads do not divide n_embd 32"},
		{read, `{"n_head": 256}`, "n_head: 256 heads do not divide n_embd 128"},
		{read, `{"n_head": 0}`, "n_head: got 0, want a whole number, 1 to 268435456"},
		{read, `{"n_head": -4}`, "n_head: got -4, want"},
		{read, `{"n_layer": 0}`, "n_layer: got 0, want"},
		{read, `{"n_layer": 1099511627776}`, "n_layer: got 1099511627776, want"},
		{read, `{"n_embd": 0}`, "n_embd: got 0, want"},
		{read, `{"n_embd": 1099511627776}`, "n_embd: got 1099511627776, want"},
		{read, `{"n_embd": 9223372036854775807}`, "n_embd: got 9223372036854775807, want"},
		{read, `{"n_embd": 9223372036854775808}`, "n_embd: got 9223372036854775808, want"},
		{read, `{"n_embd": 1e30}`, "n_embd: got 1e30, want"},
		{read, `{"n_embd": 64.5}`, "n_embd: got 64.5, want"},
		{read, `{"n_embd": "128"}`, `n_embd: got "128", want`},
		{read, `{"n_embd": null}`, "n_embd: got null, want"},
		{read, `{"n_embd": [128]}`, "n_embd: got [128], want"},
		{read, `{"block_size": -9223372036854775808}`, "block_size: got -9223372036854775808, want"},
		{read, `{"block_size": 1099511627776}`, "block_size: got 1099511627776, want"},
		{read, `{"vocab_size": 0}`, "vocab_size: got 0, which means from the text"},
		{read, `{"vocab_size": -65}`, "vocab_size: got -65, want"},
		{read, `{"qk_size": -1}`, "qk_size: got -1, want a whole number, 0 to"},
		{read, `{"v_size": 1099511627776}`, "v_size: got 1099511627776, want"},
		{read, `{"n_inner": -512}`, "n_inner: got -512, want"},
		{read, `{"batch_size": 0}`, "batch_size: got 0, want"},
		{read, `{"gradient_accumulation_steps": 0}`, "gradient_accumulation_steps: got 0, want"},
		{read, `{"threads": 1000000}`, "threads: got 1000000, want a whole number, 0 to 4096"},
		{read, `{"threads": -1}`, "threads: got -1, want"},
		// Sizes that are valid separately.
		{read, `{"n_embd": 268435456}`, "memory: got about "},
		{read, `{"n_layer": 268435456}`, "memory: got about "},
		{read, `{"qk_size": 268435456}`, "memory: got about "},
		{read, `{"lora_r": 268435456}`, "memory: got about "},
		{
			read, `{"block_size": 200000, "n_head": 64}`,
			"memory: got about 84.03 GiB for activations of batch_size 12, block_size 200000, n_layer 4, n_head 64, " +
				"n_embd 128, vocab_size 65",
		},
		{read, `{"batch_size": 200000000}`, "memory: got about "},
		// Numbers.
		{read, `{"dropout": 1}`, "dropout: got 1, want a number, 0 ≤ x < 1"},
		{read, `{"dropout": -0.1}`, "dropout: got -0.1, want"},
		{flags, `-dropout NaN`, "dropout: got NaN, want"},
		{read, `{"eps": -1e-5}`, "eps: got -1e-05, want"},
		{flags, `-learning_rate NaN`, "learning_rate: got NaN, want a finite number above 0"},
		{flags, `-learning_rate +Inf`, "learning_rate: got +Inf, want"},
		{read, `{"learning_rate": 0}`, "learning_rate: got 0, want"},
		{read, `{"learning_rate": 1e999}`, "learning_rate: got 1e999, want"},
		{read, `{"learning_rate": NaN}`, "learning_rate: line 1, column 19: invalid character 'N'"},
		{read, `{"weight_decay": -0.1}`, "weight_decay: got -0.1, want"},
		{flags, `-weight_decay Inf`, "weight_decay: got +Inf, want"},
		{read, `{"beta1": 1}`, "beta1: got 1, want"},
		{flags, `-beta2 NaN`, "beta2: got NaN, want"},
		{read, `{"grad_clip": -1}`, "grad_clip: got -1, want"},
		{read, `{"seed": -1}`, "seed: got -1, want a whole number, 0 to 18446744073709551615"},
		{read, `{"bias": 1}`, "bias: got 1, want true or false"},
		// The schedule.
		{read, `{"max_iters": -1}`, "max_iters: got -1, want"},
		{read, `{"warmup_iters": -1}`, "warmup_iters: got -1, want"},
		{read, `{"warmup_iters": 2000}`, "lr_decay_iters: got 2000, want more than warmup_iters 2000"},
		{read, `{"min_lr": 0.01}`, "min_lr: got 0.01, want at most learning_rate 0.001"},
		{flags, `-min_lr NaN`, "min_lr: got NaN, want"},
		{read, `{"eval_interval": 0}`, "eval_interval: got 0, want"},
		{read, `{"eval_iters": 0}`, "eval_iters: got 0, want"},
		{read, `{"log_interval": 0}`, "log_interval: got 0, want"},
		// Names.
		{read, `{"activation": "swish"}`, "activation: got swish, want one of gelu, gelu_tanh, relu"},
		{read, `{"activation": "GELU"}`, "activation: got GELU, want"},
		{read, `{"block": "between"}`, "block: got between, want one of pre, post"},
		{read, `{"lora_r": 4, "lora_scale": "1"}`, "lora_scale: got 1, want one of alpha/r, alpha"},
		{
			read, `{"lora_r": 4, "lora_targets": ["c_attn", "c_atn"]}`,
			`lora_targets: got "c_atn", want endings of attn.c_attn, attn.c_proj, mlp.c_fc, mlp.c_proj, lm_head`,
		},
		{read, `{"lora_r": 4, "lora_targets": [""]}`, `lora_targets: got "", want`},
		{read, `{"lora_r": 4, "lora_targets": ["c_fc", "c_fc"]}`, "lora_targets: got c_fc twice"},
		{read, `{"lora_r": 4, "lora_targets": ["lm_head"]}`, "lora_targets: got lm_head, which in a tied head"},
		{read, `{"lora_r": 4, "lora_targets": "c_fc"}`, `lora_targets: got "c_fc", want a list of strings`},
		{read, `{"lora_targets": ["c_fc"]}`, "lora_targets: got c_fc, want none while lora_r is 0"},
		{read, `{"lora_alpha": 8}`, "lora_alpha: got 8, want 0 while lora_r is 0"},
		{read, `{"lora_r": -1}`, "lora_r: got -1, want"},
		// The text.
		{read, `{"n_heads": 4}`, "n_heads: unknown field; did you mean n_head?"},
		{read, `{"N_HEAD": 4}`, "N_HEAD: unknown field; did you mean n_head?"},
		{read, `{"dataset": "shakespeare"}`, "dataset: unknown field; the known are block_size vocab_size"},
		{read, `{"n_head": 4, "n_head": 4}`, "n_head: given twice"},
		{read, `{"n_head": 4, "n\u005fhead": 2}`, "n_head: given twice"},
		{read, `{"n_head": 4} {}`, "config: something follows the object's end at byte 15"},
		{read, `{"n_head": 4}]`, "config: something follows"},
		{read, `{"n_head": 4,}`, "config: "},
		{read, `{"n_head": 4`, "config: "},
		{read, `{"n_head"`, "n_head: "},
		{read, `{4: "n_head"}`, "config: "},
		{read, ``, "config: want a JSON object"},
		{read, `[]`, "config: got [], want a JSON object"},
		{read, `null`, "config: got null, want a JSON object"},
		{read, "{\"out_dir\": \"\xff\"}", "config: not valid UTF-8"},
		{read, `{"n_head": ` + strings.Repeat("[", 20000), "n_head: "},
		{read, `{"` + strings.Repeat("n", 1<<19) + `": 1}`, "nnnn"},
		{read, `{"n_head": "` + strings.Repeat("n", 1<<19) + `"}`, `n_head: got "nnn`},
		{read, strings.Repeat(" ", 1<<20+1), "config: longer than 1048576 bytes"},
		{flags, `-n_head x`, `invalid value "x" for flag -n_head`},
		{flags, `-seed -1`, `invalid value "-1" for flag -seed`},
		{flags, `-n_heads 4`, "flag provided but not defined: -n_heads"},
		// Hugging Face's names.
		{huggingFace, `{"n_head": 0}`, "n_head: got 0, want"},
		{huggingFace, `{"n_head": 7}`, "n_head: 7 heads do not divide n_embd 768"},
		{huggingFace, `{"n_positions": 1099511627776}`, "n_positions: got 1099511627776, want"},
		{huggingFace, `{"n_ctx": 2048}`, "n_ctx: got 2048, want n_positions 1024"},
		{huggingFace, `{"n_embd": 268435452}`, "memory: got about"},
		{huggingFace, `{"model_type": "bert"}`, "model_type: got bert, want gpt2 or pedestrian"},
		{huggingFace, `{"activation_function": "mish"}`, "activation_function: got mish, want"},
		{huggingFace, `{"attn_pdrop": 0}`, "attn_pdrop: got 0, want resid_pdrop 0.1"},
		{huggingFace, `{"embd_pdrop": 0.5}`, "embd_pdrop: got 0.5, want resid_pdrop 0.1"},
		{huggingFace, `{"resid_pdrop": 1.5}`, "resid_pdrop: got 1.5, want"},
		{huggingFace, `{"scale_attn_weights": false}`, "scale_attn_weights: got false"},
		{huggingFace, `{"scale_attn_by_inverse_layer_idx": true}`, "scale_attn_by_inverse_layer_idx: got true"},
		{huggingFace, `{"add_cross_attention": true}`, "add_cross_attention: got true"},
		{huggingFace, `{"layer_norm_epsilon": null}`, "layer_norm_epsilon: got null, want"},
		{huggingFace, `{"block": "between"}`, "block: got between, want"},
		{huggingFace, `{"vocab_size": 1, "vocab_size": 2}`, "vocab_size: given twice"},
		{huggingFace, `{} {}`, "config: something follows"},
	} {
		name := test.text[:min(len(test.text), 60)]
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		err := test.parse(test.text)
		runtime.ReadMemStats(&after)
		if err == nil || !strings.HasPrefix(err.Error(), test.want) {
			t.Errorf("%s: got %v, want %s…", name, err, test.want)
			continue
		}
		if len(err.Error()) > 1600 {
			t.Errorf("%s: a message of %d bytes", name, len(err.Error()))
		}
		if got := after.TotalAlloc - before.TotalAlloc; got >= 16<<20 {
			t.Errorf("%s: allocated %d bytes, want less than 16 MiB", name, got)
		}
	}
}

// Unusual but valid configurations.
func TestConfigAccepts(t *testing.T) {
	for _, text := range []string{
		`{}`,
		` {"n_head": 5, "n_embd": 32, "qk_size": 8, "v_size": 3} `,
		`{"warmup_iters": 100, "max_iters": 5}`,
		`{"decay_lr": false, "lr_decay_iters": 0, "min_lr": 1}`,
		`{"max_iters": 0, "grad_clip": 0, "beta1": 0, "weight_decay": 0}`,
		`{"activation": "", "block": "", "lora_scale": ""}`,
		`{"lora_r": 4, "lora_targets": []}`,
		`{"lora_r": 4, "lora_targets": ["lm_head"], "tie": false}`,
		`{"seed": 18446744073709551615, "n_layer": 1, "n_head": 1, "n_embd": 1, "block_size": 1, "vocab_size": 1}`,
	} {
		c, err := ReadConfig(strings.NewReader(text), shakespeare65())
		if err == nil {
			err = c.Validate()
		}
		if err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func FuzzConfig(f *testing.F) {
	for _, c := range []Config{Shakespeare(), GPT2(), unusual()} {
		var b bytes.Buffer
		if err := WriteConfig(&b, c); err != nil {
			f.Fatal(err)
		}
		f.Add(b.Bytes())
		if data, err := c.HuggingFace(); err == nil {
			f.Add(data)
		}
	}
	f.Add([]byte(`{"n_embd": 1099511627776, "lora_targets": ["c_proj", null], "dropout": -0}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var c, theirs Config
		var err, refused error
		fuzzed.Bounded(t, 2*fuzzed.Linear(len(data)), 10*time.Second, func() { // of two readers
			c, err = ReadConfig(bytes.NewReader(data), shakespeare65())
			theirs, refused = FromHuggingFace(data)
		})
		if err == nil {
			var b bytes.Buffer
			if err := WriteConfig(&b, c); err != nil {
				t.Fatal(err)
			}
			again, err := ReadConfig(&b, Config{})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c, again); diff != "" {
				t.Fatalf("JSON: -want +got:\n%s", diff)
			}
			c.Count() // must not panic, valid or not
			c.Memory()
			if c.Validate() == nil {
				if memory := c.Memory(); !(memory > 0 && memory <= float64(c.Limit())) {
					t.Fatalf("valid with %v bytes", memory)
				}
				huggingFaceRoundTrip(t, c)
			}
		}
		if refused == nil && theirs.ValidateModel() == nil {
			huggingFaceRoundTrip(t, theirs)
		}
	})
}

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
		"h.9.attn.*": "frozen: got h.9.attn.*, which is none of the 28 parameters to train: the nearest are " +
			"h.0.attn.c_attn.weight, ",
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
	if _, trainable := trainer.Config().Count(); len(left) == 0 || len(all) <= len(left) ||
		int(trainable) != numbers(left) {
		t.Errorf("%d of %d adapters to train, %d numbers, want %d", len(left), len(all), trainable, numbers(left))
	}
	plain := trainer.Config()
	plain.Frozen = nil
	if got, want := FLOPsPerToken(plain)-FLOPsPerToken(trainer.Config()), 2*float64(
		numbers(all)-numbers(left),
	); got != want {
		t.Errorf("%v products a token saved, want %v", got, want)
	}
	var adapters bytes.Buffer // all of them, whatever is frozen
	if err := trainer.Model.WriteAdapters(&adapters); err != nil ||
		strings.Count(adapters.String(), "data_offsets") != len(all) {
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

// The error of a wrong name suggests the nearest name. The error of a wrong list also names the element.
func TestHints(t *testing.T) {
	for _, c := range []struct{ field, value, want string }{
		{"attention", "windw", "such as gla*3,causal; did you mean window?"},
		{"attention", "Gated-Deltanet", "; did you mean gated_deltanet?"},
		{"attention", "gla*3,causl", "; element 2 of the list is causl; did you mean causal?"},
		{"attention", "glaa*3,causal", "; element 1 of the list is glaa*3; did you mean gla?"},
		{
			"attention", "gla*3,causal*0,causal",
			"; element 2 of the list is causal*0; want a name, or a name and a number such as gla*3",
		},
		{"attention", "gla,nothing_like_it", "; element 2 of the list is nothing_like_it"},
		{"attention", "gla*100,causal*100", " blocks such as gla*3,causal"},
		{"attention", "nothing_like_it", " blocks such as gla*3,causal"},
		{"optimizer", "adam", "; did you mean adamw?"},
		{"norm", "rmsnrm", "; did you mean rmsnorm?"},
		{"schedule", "cosin", "; did you mean cosine?"},
		{"precision", "bf61", "; did you mean bf16?"},
		{"parametrization", "mupp", "; did you mean mup?"},
		{"lora_targets", "c_fc,c_prj", "; did you mean c_proj?"},
	} {
		config := Shakespeare()
		config.VocabSize = 10
		if c.field == "lora_targets" {
			config.LoraR = 2
		}
		fs := flag.NewFlagSet("", flag.ContinueOnError)
		fs.SetOutput(io.Discard)
		config.Flags(fs)
		if err := fs.Set(c.field, c.value); err != nil {
			t.Fatal(err)
		}
		err := config.Validate()
		if err == nil || !strings.HasSuffix(err.Error(), c.want) || !strings.HasPrefix(err.Error(), c.field+": ") {
			t.Errorf("%s=%s: got %v, want %q at its end", c.field, c.value, err, c.want)
		}
	}
}
