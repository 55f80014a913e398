package gpt

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/pedestrian-ml/pedestrian/gpt/checkpoint"
	"github.com/pedestrian-ml/pedestrian/gpt/parts"
	"github.com/pedestrian-ml/pedestrian/gpt/train"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/nn"
	"github.com/pedestrian-ml/pedestrian/verify/hand"
	"github.com/pkg/errors"
)

func TestResumeBitForBit(t *testing.T) {
	resumeBitForBit(t, eventful(), 0, 1, 5)
}

// The same holds for plain gradient descent, and with momentum.
func TestResumeBitForBitSGD(t *testing.T) {
	for _, momentum := range []float64{0, 0.9} {
		c := eventful()
		c.Optimizer, c.Beta1 = "sgd", momentum
		resumeBitForBit(t, c, 3)
	}
}

// The same holds for rounded operands, and the checkpoint records them. The steps differ from those in float32, but
// only slightly.
func TestResumeBitForBitInBF16(t *testing.T) {
	c := parallel()
	exact := steps(t, newTrainer(t, c), 9)
	c.Precision = "bf16"
	resumeBitForBit(t, c, 3)
	for i, p := range steps(t, newTrainer(t, c), 9) {
		if p.Loss == exact[i].Loss || !(math.Abs(p.Loss-exact[i].Loss) <= 0.01) {
			t.Errorf("step %d: loss %v in bf16, %v in float32", i+1, p.Loss, exact[i].Loss)
		}
	}
}

// The same holds for factors on the learning rates, which are in no file.
func TestResumeBitForBitMup(t *testing.T) {
	c := eventful()
	c.Parametrization, c.BaseWidth, c.BaseDepth, c.WeightDecay = "mup", 6, 1, 0.3
	resumeBitForBit(t, c, 5)
}

// The same holds for the averages of the weights, and for their loss.
func TestResumeBitForBitAveraged(t *testing.T) {
	c := eventful()
	c.EMA = 0.75
	resumeBitForBit(t, c, 0, 4)
}

// balancing returns a run with experts that a bias balances.
func balancing() Config {
	c := eventful()
	c.MLP, c.Experts.NumExperts, c.Experts.NumExpertsPerTok = "moe", 5, 2
	c.Experts.RouterBiasUpdateRate, c.WeightDecay = 0.125, 0.3
	return c
}

// The same holds for the biases that balance experts. They are those by hand, of the loads in the Progress. A decoder
// of the saved model chooses by them, and adapters or a frozen block leave them as they are.
func TestResumeBitForBitBalanced(t *testing.T) {
	c := balancing()
	resumeBitForBit(t, c, 0, 4)

	trainer := newTrainer(t, c)
	biases := func(m *Model) (list []hand.Matrix[float64]) {
		for _, p := range m.Params() {
			if strings.HasSuffix(p.Name(), ".mlp.router.e_score_correction_bias") {
				list = append(list, hand.NewMatrix(1, p.Tensor().Len(), p.Tensor().Floats()...))
			}
		}
		return list
	}
	want, moved := biases(trainer.Model), false
	for range 6 {
		p := steps(t, trainer, 1)[0]
		if len(want) != c.NLayer || len(p.Loads) != c.NLayer {
			t.Fatalf("got %d biases and %d loads, want %d", len(want), len(p.Loads), c.NLayer)
		}
		for i, l := range p.Loads {
			var sum float64
			for _, f := range l.Shares {
				sum += f
			}
			if name := fmt.Sprintf("h.%d.mlp", i); l.Mixture != name || !(math.Abs(sum-2) <= 1e-12) ||
				len(l.Shares) != 5 ||
				!(l.Imbalance() >= 1 && l.Imbalance() <= 2.5) {
				t.Errorf("got the load %+v of imbalance %v, want shares of %s that add up to 2", l, l.Imbalance(), name)
			}
			counts := hand.NewMatrix(1, 5, l.Shares...).Scale(float64(p.Tokens))
			for e, n := range counts.Data {
				if counts.Data[e] = math.Round(n); !(math.Abs(n-counts.Data[e]) <= 1e-9) {
					t.Errorf("%s: expert %d has %v tokens", l.Mixture, e, n)
				}
			}
			want[i] = hand.RebalanceUpdate(0.125, want[i], counts)
			got := biases(trainer.Model)[i]
			moved = moved || slices.Max(got.Data) != slices.Min(got.Data)
			if !slices.Equal(got.Data, want[i].Data) {
				t.Errorf("step %d, %s: got the bias %v, want %v", p.Step, l.Mixture, got.Data, want[i].Data)
			}
		}
	}
	if !moved {
		t.Error("no bias has moved")
	}

	opened, err := LoadModel(emptyGraph(), saved(t, 6, files(t, trainer)))
	if err != nil {
		t.Fatal(err)
	}
	for i, b := range biases(opened) {
		if !slices.Equal(b.Data, want[i].Data) {
			t.Errorf("block %d: got the saved bias %v, want %v", i, b.Data, want[i].Data)
		}
	}
	before := logitsAfter(t, trainer.Model)
	if got := logitsAfter(t, opened); !slices.Equal(got, before) {
		t.Errorf("the saved model decodes %v, the trained one %v", got, before)
	}
	for _, p := range opened.Params() {
		if nn.IsBalancing(p) {
			for e := range p.Tensor().Len() {
				p.Tensor().Set(e, float64(e)) // the last two experts alone
			}
		}
	}
	if got := logitsAfter(t, opened); slices.Equal(got, before) {
		t.Errorf("with other biases the model decodes %v as before", got)
	}

	for name, change := range map[string]func(*Config){
		"adapters": func(c *Config) {
			c.Adapters = Adapters{LoraR: 2, LoraAlpha: 1, LoraScale: "alpha", LoraTargets: []string{"c_fc"}}
		},
		"frozen": func(c *Config) { c.Frozen = train.Frozen{"h.*.mlp.*"} },
	} {
		c := balancing()
		change(&c)
		trainer := newTrainer(t, c)
		for _, p := range steps(t, trainer, 2) {
			if len(p.Loads) != c.NLayer {
				t.Errorf("%s: got the loads %+v", name, p.Loads)
			}
		}
		for _, b := range biases(trainer.Model) {
			if slices.Max(b.Data) != 0 || slices.Min(b.Data) != 0 {
				t.Errorf("%s: got the bias %v, want it at 0", name, b.Data)
			}
		}
	}
}

// carrying returns c with recurrences that hand their states on.
func carrying(c Config, attention string) Config {
	c.Attention, c.Position, c.Carry = attention, "none", true
	return c
}

// The same holds for the states that recurrences hand on, also if the blocks are computed again.
func TestResumeBitForBitCarry(t *testing.T) {
	for attention, change := range map[string]func(*Config){
		"gated_deltanet": func(c *Config) { c.Recompute = true },
		"mingru,mamba2":  func(c *Config) { c.FutureTokens, c.EMA = 2, 0.75 },
		"gla":            func(c *Config) { c.Kernels = false; c.With.Set("short_conv", "canon_ac") },
	} {
		t.Run(attention, func(t *testing.T) {
			c := carrying(eventful(), attention)
			change(&c)
			resumeBitForBit(t, c, 0, 5)
		})
	}
}

// TestCarriedStates: a checkpoint has the states of every row, and a run does not resume without one of them.
func TestCarriedStates(t *testing.T) {
	c := carrying(eventful(), "gated_deltanet")
	trainer := newTrainer(t, c)
	steps(t, trainer, 2)
	list := files(t, trainer)
	cp := saved(t, 2, list)
	f, err := train.OpenTensors(cp, "states.safetensors")
	if err != nil {
		t.Fatal(err)
	}
	rows := c.BatchSize * c.GradientAccumulationSteps
	want := map[string][]int{}
	for _, block := range []string{"h.0", "h.1"} {
		want[block+".attn.state"] = []int{rows, 2 * 5 * 7}
		want[block+".attn.c_attn.conv.state"] = []int{rows, 3 * 2 * (5 + 5 + 7)}
	}
	for _, e := range f.Entries {
		if !slices.Equal(e.Shape, want[e.Name]) {
			t.Errorf("%s: got %v, want %v", e.Name, e.Shape, want[e.Name])
		}
		delete(want, e.Name)
	}
	if len(want) > 0 {
		t.Errorf("no states %v", want)
	}
	cut := replaced(t, list, "states.safetensors", swap("h.1.attn.state", "h.1.attn.other"))
	_, err = Resume(c, trainer.Corpus, trainer.Tokenizer, saved(t, 2, cut))
	mustContain(t, err, "states.safetensors: h.1.attn.state is missing")
	c.Carry = false
	_, err = Resume(c, trainer.Corpus, trainer.Tokenizer, cp)
	mustContain(t, err, "carry")
}

// Muon and SOAP resume beside adapters, frozen matrices, averages and products in bfloat16, none of which they may
// disturb.
func TestResumeBitForBitMatrices(t *testing.T) {
	for _, optimizer := range []string{"muon", "soap"} {
		t.Run(optimizer, func(t *testing.T) { resumesMatrices(t, optimizer) })
	}
}

func resumesMatrices(t *testing.T, optimizer string) {
	for name, change := range map[string]func(*Config){
		"adapters": func(c *Config) { c.LoraR = 2 },
		"frozen":   func(c *Config) { c.Frozen = []string{"h.0.attn.*"} },
		"averaged": func(c *Config) { c.EMA = 0.5 },
		"bf16":     func(c *Config) { c.Precision = "bf16" },
	} {
		t.Run(name, func(t *testing.T) {
			c := tiny()
			c.Optimizer = optimizer
			change(&c)
			resumeBitForBit(t, c, 2)
		})
	}
	c := tiny()
	c.Optimizer, c.Frozen = optimizer, []string{"h.0.attn.*"}
	trainer := newTrainer(t, c)
	before := map[string][]float64{}
	for _, p := range trainer.Model.Params() {
		before[p.Name()] = p.Tensor().Floats()
	}
	steps(t, trainer, 2)
	for _, p := range trainer.Model.Params() {
		if frozen := strings.HasPrefix(p.Name(), "h.0.attn."); slices.Equal(
			p.Tensor().Floats(), before[p.Name()],
		) != frozen {
			t.Errorf("%s: changed %t, want %t", p.Name(), frozen, !frozen)
		}
	}
}

// A run of SOAP without one of its matrices, or with one of another shape, does not resume.
func TestResumeRefusesFurther(t *testing.T) {
	c := tiny()
	c.Optimizer, c.NLayer = "soap", 1
	trainer := newTrainer(t, c)
	steps(t, trainer, 1)
	list := files(t, trainer)
	const entry = `"ql.h.0.mlp.c_fc.weight":{"dtype":"F32","shape":[16,16]`
	for new, want := range map[string]string{
		strings.Replace(entry, "ql", "qx", 1): "ql.h.0.mlp.c_fc.weight is missing",
		strings.Replace(
			entry, "[16,16]", "[8, 32]", 1,
		): "ql.h.0.mlp.c_fc.weight has shape [8 32] in the file, [16 16] in the model",
	} {
		_, err := Resume(
			c, trainer.Corpus, trainer.Tokenizer, saved(t, 1, replaced(t, list, train.OptimizerFile, swap(entry, new))),
		)
		mustContain(t, err, want)
	}
}

// A checkpoint of an earlier version, in which λ of differential attention and its moments are rows, resumes to the
// same bits.
func TestResumeFromRows(t *testing.T) {
	row := regexp.MustCompile(`(lambda_[qk][12]":\{"dtype":"F32","shape":\[)5]`)
	c := tiny()
	c.Attention, c.NLayer = "diff", 1
	trainer := newTrainer(t, c)
	steps(t, trainer, 2)
	list, count := files(t, trainer), 0
	for i, f := range list {
		if f.Name != train.WeightsFile && f.Name != train.OptimizerFile {
			continue
		}
		list[i].Write = func(w io.Writer) error {
			var b bytes.Buffer
			if err := f.Write(&b); err != nil {
				return err
			}
			end := 8 + binary.LittleEndian.Uint64(b.Bytes())
			header := row.ReplaceAll(b.Bytes()[8:end], []byte("${1}1,5]"))
			count += strings.Count(string(header), "[1,5]")
			_, err := w.Write(
				slices.Concat(binary.LittleEndian.AppendUint64(nil, uint64(len(header))), header, b.Bytes()[end:]),
			)
			return err
		}
	}
	again, err := Resume(c, trainer.Corpus, trainer.Tokenizer, saved(t, 2, list))
	if err != nil || count != 3*4 {
		t.Fatalf("resuming from %d rows, want 12: %v", count, err)
	}
	steps(t, trainer, 1)
	if steps(t, again, 1); fingerprint(t, again) != fingerprint(t, trainer) {
		t.Error("resumed with other weights or moments than the uninterrupted run's")
	}
}

// Schedule-Free AdamW saves its averages as the weights, and resumes at the weights of the next gradient.
func TestResumeBitForBitScheduleFree(t *testing.T) {
	for name, change := range map[string]func(*Config){
		"alone":    func(*Config) {},
		"adapters": func(c *Config) { c.LoraR = 2 },
		"frozen":   func(c *Config) { c.Frozen = []string{"h.0.attn.*"} },
	} {
		t.Run(name, func(t *testing.T) {
			c := tiny()
			c.Optimizer = "schedule_free"
			change(&c)
			resumeBitForBit(t, c, 2)
		})
	}
}

// A run with patience resumes with the number of evaluations since the best, and one without counts from 0.
func TestResumeSince(t *testing.T) {
	for patience, want := range map[int]int{0: 0, 3: 2} {
		c := tiny()
		c.Patience = patience
		first := newTrainer(t, c)
		first.Since = 2
		second, err := Resume(c, first.Corpus, first.Tokenizer, saved(t, 0, files(t, first)))
		if err != nil || second.Since != want {
			t.Errorf("patience %d: resumed with %d evaluations, %v, want %d", patience, second.Since, err, want)
		}
	}
}

// The same holds in the descent of every schedule.
func TestResumeBitForBitSchedules(t *testing.T) {
	for _, s := range train.Schedules()[1:] {
		c := eventful()
		c.DecayLR, c.Schedule, c.WarmupIters, c.LRDecayIters = true, s.Name, 2, 8
		resumeBitForBit(t, c, 6)
	}
}

func resumeBitForBit(t *testing.T, c Config, at ...int) {
	t.Helper()
	uninterrupted := newTrainer(t, c)
	all := steps(t, uninterrupted, 9)
	wantEval, err := uninterrupted.Evaluate(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, at := range at {
		first := newTrainer(t, c)
		steps(t, first, at)
		if at > 0 {
			if _, err := first.Evaluate(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		cp := saved(t, at, files(t, first))
		again := c
		again.MaxIters, again.EvalInterval, again.EvalIters, again.Threads, again.OutDir = 99, 3, 3, 2, "elsewhere"
		second, err := Resume(again, uninterrupted.Corpus, uninterrupted.Tokenizer, cp)
		if err != nil {
			t.Fatal(err)
		}
		if second.Done != at || second.Best != first.Best {
			t.Errorf("resumed at step %d with best %v, want %d with %v", second.Done, second.Best, at, first.Best)
		}
		if diff := cmp.Diff(all[at:], steps(t, second, 9-at)); diff != "" {
			t.Errorf("resumed at %d, other steps (-uninterrupted +resumed):\n%s", at, diff)
		}
		if fingerprint(t, second) != fingerprint(t, uninterrupted) {
			t.Errorf("resumed at %d: other weights or moments than the uninterrupted run's", at)
		}
		if e, err := second.Evaluate(t.Context()); err != nil || e != wantEval {
			t.Errorf("resumed at %d: evaluation %v (%v), want %v", at, e, err, wantEval)
		}
	}
}

// replaced returns the files with the content of one changed; a nil change leaves the file out.
func replaced(t *testing.T, list []checkpoint.File, name string, change func([]byte) []byte) []checkpoint.File {
	t.Helper()
	var out []checkpoint.File
	for _, f := range list {
		if f.Name == name {
			if change == nil {
				continue
			}
			var b bytes.Buffer
			if err := f.Write(&b); err != nil {
				t.Fatal(err)
			}
			was := b.Bytes()
			now := change(bytes.Clone(was))
			if bytes.Equal(was, now) {
				t.Fatalf("%s: the damage changes nothing", name)
			}
			f.Write = func(w io.Writer) error { _, err := w.Write(now); return err }
		}
		out = append(out, f)
	}
	return out
}

func swap(old, new string) func([]byte) []byte {
	return func(b []byte) []byte { return bytes.Replace(b, []byte(old), []byte(new), 1) }
}

// Files that do not belong to the run are refused with the difference.
func TestResumeRefuses(t *testing.T) {
	c := eventful()
	trainer := newTrainer(t, c)
	steps(t, trainer, 2)
	good := files(t, trainer)

	for name, tc := range map[string]struct {
		config func(*Config)
		text   string
		vocab  string // the tokenizer's text, if it differs from the text
		words  []string
	}{
		"width": {config: func(c *Config) { c.NEmbd = 20 }, words: []string{"n_embd", "got 20", "want 16"}},
		"two fields": {config: func(c *Config) {
			c.Seed = 8
			c.Beta2 = 0.9
		}, words: []string{"seed", "got 8", "want 7", "beta2"}},
		"batch":   {config: func(c *Config) { c.BatchSize = 4 }, words: []string{"batch_size"}},
		"dropout": {config: func(c *Config) { c.Dropout = 0.1 }, words: []string{"dropout"}},
		"spelled": {config: func(c *Config) { c.Kernels = false }, words: []string{"kernels"}},
		"precision": {
			config: func(c *Config) { c.Precision = "bf16" },
			words:  []string{"precision: got bf16, want float32 as saved"},
		},
		"schedule": {config: func(c *Config) { c.LRDecayIters = 50 }, words: []string{"lr_decay_iters"}},
		"text": {
			text: strings.Replace(verses, "wheel", "while", 1), words: []string{"sha256", trainer.Corpus.SHA256()},
		},
		"vocab_size": {vocab: verses + "#", words: []string{"vocab_size"}},
		"vocabulary": {text: strings.ReplaceAll(verses, "?", "#"), words: []string{"sha256"}},
	} {
		t.Run(name, func(t *testing.T) {
			c, s := c, verses
			if tc.config != nil {
				tc.config(&c)
			}
			if tc.text != "" {
				s = tc.text
			}
			data, tok := corpus(t, s, c.BlockSize)
			if tc.vocab != "" {
				_, tok = corpus(t, tc.vocab, c.BlockSize)
			}
			_, err := Resume(c, data, tok, saved(t, 2, good))
			mustContain(t, err, tc.words...)
		})
	}
}

// A vocabulary of the same size but with other characters is refused.
func TestResumeOtherVocabulary(t *testing.T) {
	c := tiny()
	trainer := newTrainer(t, c)
	steps(t, trainer, 1)
	_, other := corpus(t, strings.ReplaceAll(verses, "?", "#"), c.BlockSize)
	if other.Size() != trainer.Tokenizer.Size() {
		t.Fatal("the sizes were to be equal")
	}
	_, err := Resume(c, trainer.Corpus, other, saved(t, 1, files(t, trainer)))
	mustContain(t, err, "vocabulary")
}

// Each file of a checkpoint may match the manifest and still be invalid.
func TestResumeDamaged(t *testing.T) {
	c := tiny()
	trainer := newTrainer(t, c)
	steps(t, trainer, 3)
	good := files(t, trainer)
	for _, tc := range []struct {
		file   string
		change func([]byte) []byte
		words  []string
	}{
		{train.StateFile, nil, []string{train.StateFile}},
		{train.WeightsFile, nil, []string{train.WeightsFile}},
		{train.OptimizerFile, nil, []string{train.OptimizerFile}},
		{charactersFile, nil, []string{tokenizerFile}},
		{train.StateFile, swap("{", ""), []string{train.StateFile}},
		{train.StateFile, func(b []byte) []byte { return b[:len(b)/2] }, []string{train.StateFile}},
		{train.StateFile, func(b []byte) []byte { return append(b, "{}"...) }, []string{train.StateFile}},
		{train.StateFile, func(b []byte) []byte { return nil }, []string{train.StateFile}},
		{train.StateFile, swap(`"step": 3`, `"step": 4`), []string{train.StateFile, "says step 4", "step 3"}},
		{train.StateFile, swap(`"step": 3`, `"step": -3`), []string{train.StateFile, "step -3"}},
		{train.StateFile, swap(`"step": 3`, `"step": 3.5`), []string{train.StateFile, "step"}},
		{train.StateFile, swap(`"step": 3`, `"stop": 3`), []string{train.StateFile, "stop"}},
		{train.StateFile, swap(`"format": 1`, `"format": 2`), []string{"format 2", "reads 1"}},
		{train.StateFile, swap(`"batches": "`, `"batches": "AAAA`), []string{train.StateFile}},
		{train.StateFile, swap(`"batches": "`, `"batches": "", "x": "`), []string{train.StateFile}},
		{train.StateFile, swap(`"n_layer": 2`, `"n_layer": 3`), []string{"n_layer", "got 2", "want 3"}},
		{train.StateFile, swap(`"n_layer": 2`, `"n_layers": 2`), []string{"n_layers"}},
		{charactersFile, swap("{", "["), []string{charactersFile}},
		{train.WeightsFile, func(b []byte) []byte { return b[:len(b)-1] }, []string{"weights"}},
		{train.WeightsFile, func(b []byte) []byte { return nil }, []string{"weights"}},
		{train.WeightsFile, swap("wpe.weight", "wpe.wight_"), []string{"wpe.weight", "missing"}},
		{train.OptimizerFile, func(b []byte) []byte { return b[:100] }, []string{train.OptimizerFile}},
		{train.OptimizerFile, swap("m.wpe.weight", "m.wpe.wight_"), []string{train.OptimizerFile, "m.wpe.weight"}},
		{
			train.OptimizerFile, swap(`"shape":[8,16]`, `"shape":[16,8]`),
			[]string{train.OptimizerFile, "wpe.weight", "[16 8]", "[8 16]"},
		},
		{
			train.OptimizerFile, func(b []byte) []byte { copy(b[len(b)-4:], "\xff\xff\xff\xff"); return b },
			[]string{"not finite"},
		},
	} {
		_, err := Resume(c, trainer.Corpus, trainer.Tokenizer, saved(t, 3, replaced(t, good, tc.file, tc.change)))
		if err == nil {
			t.Errorf("%s: accepted, want an error with %q", tc.file, tc.words)
			continue
		}
		mustContain(t, err, tc.words...)
	}
}

// Numbers from which no run could continue are refused when they are saved: the previous checkpoint stays.
func TestNotFiniteIsNotSaved(t *testing.T) {
	for what, damage := range map[string]func(*Trainer){
		"h.1.mlp.c_fc.weight": func(t *Trainer) {
			for _, p := range t.Model.Params() {
				if p.Name() == "h.1.mlp.c_fc.weight" {
					p.Tensor().Set(3, math.Inf(-1))
				}
			}
		},
		"v.wte.weight": func(t *Trainer) { _, v := moments(t, "wte.weight"); v[5] = float32(math.Inf(1)) },
		"m.wpe.weight": func(t *Trainer) { m, _ := moments(t, "wpe.weight"); m[0] = float32(math.NaN()) },
	} {
		trainer := newTrainer(t, tiny())
		path := t.TempDir()
		dir, err := checkpoint.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer dir.Close()
		steps(t, trainer, 1)
		if err := dir.Save(1, files(t, trainer)); err != nil {
			t.Fatal(err)
		}
		steps(t, trainer, 1)
		damage(trainer)
		err = dir.Save(2, files(t, trainer))
		mustContain(t, err, "not finite", what)
		cp, err := checkpoint.Load(path)
		if err != nil || cp.Step != 1 || len(cp.Refused) > 0 {
			t.Fatalf("%s: the checkpoint of step 1 is not the newest any more (%v)", what, err)
		}
		if _, err := Resume(trainer.Config(), trainer.Corpus, trainer.Tokenizer, cp); err != nil {
			t.Error(err)
		}
	}
}

func TestLoadModel(t *testing.T) {
	trainer := newTrainer(t, eventful())
	steps(t, trainer, 2)
	list := files(t, trainer)
	cp := saved(t, 2, list)
	m, err := LoadModel(emptyGraph(), cp)
	if err != nil {
		t.Fatal(err)
	}
	tok, err := LoadTokenizer(cp)
	if err != nil {
		t.Fatal(err)
	}
	if err := checkTokenizer(cp, tok); err != nil || tok.Size() != trainer.Tokenizer.Size() ||
		len(m.Tokens.Ints()) != m.Config.BlockSize {
		t.Errorf("got another vocabulary (%v), or batches of %d tokens", err, len(m.Tokens.Ints()))
	}
	sameWeights(t, m, trainer.Model)

	published := list[:2]
	if published[0].Name != train.WeightsFile || published[1].Name != configFile {
		t.Fatal("the first two files were to be those that others read")
	}
	cp = saved(t, 2, published)
	if m, err = LoadModel(emptyGraph(), cp); err != nil {
		t.Fatal(err)
	}
	_, err = LoadTokenizer(cp)
	mustContain(t, err, tokenizerFile)
	sameWeights(t, m, trainer.Model)

	_, err = LoadModel(emptyGraph(), saved(t, 2, list[:1]))
	mustContain(t, err, configFile)
	_, err = LoadModel(emptyGraph(), saved(t, 2, list[1:]))
	mustContain(t, err, train.WeightsFile)
	_, err = LoadModel(
		emptyGraph(), saved(t, 2, replaced(t, list, train.StateFile, swap(`"n_embd": 16`, `"n_embd": 15`))),
	)
	mustContain(t, err, "wte.weight", "[41 16]", "[41 15]")
	_, err = LoadModel(
		emptyGraph(), saved(t, 2, replaced(t, list, train.StateFile, swap(`"n_embd": 16`, `"n_embd": 0`))),
	)
	mustContain(t, err, "n_embd")
	if _, err := checkpoint.Load(t.TempDir()); !errors.Is(err, checkpoint.ErrNone) {
		t.Errorf("got %v, want ErrNone", err)
	}
}

// An option of a user-defined attention is a key of the state, which opens with the attention but not without it.
func TestOwnOption(t *testing.T) {
	c := tiny()
	mine := parts.Find(parts.Attentions(), "causal")
	mine.Name, mine.Options = "mine", []parts.Option{{Name: "mine_width", Help: "a number"}}
	c.Attention, c.Parts = "mine", parts.Registry{Attentions: []parts.Attention{mine}}
	c.Options.Set("mine_width", 7)
	trainer := newTrainer(t, c)
	cp := saved(t, 0, files(t, trainer))
	if _, err := Resume(c, trainer.Corpus, trainer.Tokenizer, cp); err != nil {
		t.Error(err)
	}
	if m, err := LoadModel(emptyGraph(), cp, c.Parts); err != nil || m.Config.Options.Get("mine_width") != 7 {
		t.Errorf("loaded: %v", err)
	}
	_, err := LoadModel(emptyGraph(), cp)
	mustContain(t, err, "mine_width: unknown field")
}

// A checkpoint of format 1 opens, and the resumed run ends with the bits of the program that wrote it.
func TestCheckpointV1(t *testing.T) {
	cp, err := checkpoint.Load("testdata/checkpoint-v1")
	if err != nil {
		t.Fatal(err)
	}
	m, err := LoadModel(emptyGraph(), cp)
	if err != nil {
		t.Fatal(err)
	}
	c := m.Config
	data, tok := corpus(t, verses, c.BlockSize)
	trainer, err := Resume(c, data, tok, cp)
	if err != nil {
		t.Fatal(err)
	}
	if trainer.Done != 3 || trainer.Best != 3.6611770391464233 {
		t.Errorf("got step %d with val loss %v, want 3 and 3.6611770391464233", trainer.Done, trainer.Best)
	}
	steps(t, trainer, 3)
	if graph.Instructions() == "Go" {
		t.Skip("the bits are those of AVX2 and AVX-512")
	}
	want := map[string]string{
		train.WeightsFile:   "5bd145a3b8cdaa9340cc8e01c09496018130985ab7d2099e575392555bb4f33d",
		train.OptimizerFile: "4bcdc1d46f959fb28d10b2830965fe5b713c8267df4a646bf91ffa933b8d7dfe",
	}
	for _, f := range files(t, trainer) {
		if sum, ok := want[f.Name]; ok {
			if got := digest(t, f); got != sum {
				t.Errorf("%s of step 6: got sha256 %s, want %s", f.Name, got, sum)
			}
			delete(want, f.Name)
		}
	}
	if len(want) > 0 {
		t.Errorf("not saved: %v", want)
	}
}

func digest(t *testing.T, f checkpoint.File) string {
	t.Helper()
	h := sha256.New()
	if err := f.Write(h); err != nil {
		t.Fatal(err)
	}
	return hex.EncodeToString(h.Sum(nil))
}
