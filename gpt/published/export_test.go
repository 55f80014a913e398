package published_test

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/internal/gpttest"
	"github.com/pedestrian-ml/pedestrian/gpt/parts"
	"github.com/pedestrian-ml/pedestrian/gpt/peft"
	"github.com/pedestrian-ml/pedestrian/gpt/published"
	"github.com/pedestrian-ml/pedestrian/gpt/published/gguf"
	"github.com/pedestrian-ml/pedestrian/gpt/safetensors"
	"github.com/pedestrian-ml/pedestrian/gpt/text"
	"github.com/pedestrian-ml/pedestrian/gpt/text/bpe"
	"github.com/pedestrian-ml/pedestrian/gpt/text/chat"
	"github.com/pedestrian-ml/pedestrian/gpt/train"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/graph/stored"
)

// An exported and reopened model computes the same, in float32 to the bit except for Gemma's gains, and has the
// model_type of its family.
func TestExport(t *testing.T) {
	_, tok := gpttest.Corpus(t, gpttest.Verses, 8)
	for name, c := range gpttest.Networks() {
		if testing.Short() && len(name)%3 > 0 {
			continue
		}
		t.Run(name, func(t *testing.T) {
			m, err := gpt.New(gpttest.Graph(), c, 1)
			if err != nil {
				t.Fatal(err)
			}
			m.Graph.SetTraining(false)
			gpttest.Scramble(m.Params(), 9)
			want := gpttest.Logits(t, m)
			dir := gpttest.Exported(t, m, tok, safetensors.F32)
			got, gotTok, err := published.Open(dir)
			if err != nil {
				t.Fatal(err)
			}
			switch d := gpttest.Relative(gpttest.Logits(t, got), want, 0); {
			case strings.HasPrefix(name, "gemma") && d <= 1e-6: // 1 + (γ − 1) is γ for gains from ½ to 2 alone
			case d != 0:
				t.Errorf("the logits are %.1e off", d)
			}
			if gotTok.Size() != tok.Size() {
				t.Error("the tokenizer is another")
			}
			var keys map[string]any
			data, err := os.ReadFile(filepath.Join(dir, "config.json"))
			if err == nil {
				err = json.Unmarshal(data, &keys)
			}
			if kind, _, _ := strings.Cut(name, ","); err != nil || keys["model_type"] != strings.Fields(kind)[0] {
				t.Errorf("model_type: got %v, %v", keys["model_type"], err)
			}
			rounded := gpttest.Exported(t, m, nil, safetensors.BF16)
			if _, _, err := published.Open(rounded); err == nil {
				t.Error("a folder without a tokenizer was opened with one")
			}
			cp, err := published.Load(rounded, published.Fits())
			if err != nil {
				t.Fatal(err)
			}
			defer cp.Close()
			small, err := loadModel(gpttest.Graph(), cp)
			if err != nil {
				t.Fatal(err)
			}
			if d := gpttest.Relative(gpttest.Logits(t, small), want, 0); !(d < 0.1 && d > 0) {
				t.Errorf("in BF16 the logits are %v off", d)
			}
		})
	}
}

// A LLaMA's files have its names and transposed matrices.
func TestExportNames(t *testing.T) {
	c := gpttest.Networks()["llama, wide heads"]
	m, err := gpt.New(gpttest.Graph(), c, 1)
	if err != nil {
		t.Fatal(err)
	}
	gpttest.Scramble(m.Params(), 9)
	data, err := os.ReadFile(filepath.Join(gpttest.Exported(t, m, nil, safetensors.F32), train.WeightsFile))
	if err != nil {
		t.Fatal(err)
	}
	list, meta, err := safetensors.Read(data)
	if err != nil || meta["format"] != "pt" {
		t.Fatal(meta, err)
	}
	shapes := map[string][]int{
		"model.embed_tokens.weight": {41, 24}, "model.norm.weight": {24}, "lm_head.weight": {41, 24},
	}
	for _, l := range []string{"model.layers.0.", "model.layers.1."} {
		for name, shape := range map[string][]int{
			"self_attn.q_proj": {40, 24}, "self_attn.k_proj": {40, 24}, "self_attn.v_proj": {40, 24},
			"self_attn.o_proj": {24, 40},
			"mlp.gate_proj":    {24, 24}, "mlp.up_proj": {24, 24}, "mlp.down_proj": {24, 24}, "input_layernorm": {24},
			"post_attention_layernorm": {24},
		} {
			shapes[l+name+".weight"] = shape
		}
	}
	if len(list) != len(shapes) {
		t.Errorf("got %d tensors, want %d", len(list), len(shapes))
	}
	attn, _ := m.Graph.Leaf("h.1.attn.c_attn.weight")
	ours := attn.Tensor()
	for _, f := range list {
		if !slices.Equal(f.Shape, shapes[f.Name]) {
			t.Errorf("%s: shape %v, want %v", f.Name, f.Shape, shapes[f.Name])
		}
		// Row 10·2 + 7 of k is the second feature of its head's third pair: column 2·2 + 1 of the head.
		if f.Name == "model.layers.1.self_attn.k_proj.weight" && f.F32[27*24+3] != ours.F32[3*120+40+20+5] {
			t.Error("k_proj is not turned from pairs to halves")
		}
		if f.Name == "model.layers.1.self_attn.v_proj.weight" && f.F32[27*24+3] != ours.F32[3*120+80+27] {
			t.Error("v_proj is turned")
		}
	}
}

// An error without a message: a trained rotary model has the same perplexity in the other layout, and another one if
// halves are mistaken for pairs, although every shape fits.
func TestRotaryHalves(t *testing.T) {
	c := gpttest.Networks()["llama"]
	c.NHead, c.BlockSize, c.Rope.Theta, c.LRDecayIters = 2, 16, 10_000, 400
	trainer := gpttest.Trainer(t, c)
	gpttest.Steps(t, trainer, 400)
	want, err := trainer.EvaluateAll(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	dir := gpttest.Exported(t, trainer.Model, trainer.Tokenizer, safetensors.F32)
	loss := func(dir string) float64 {
		t.Helper()
		cp, err := published.Load(dir, published.Fits())
		if err != nil {
			t.Fatal(err)
		}
		defer cp.Close()
		var c gpt.Config
		c.Training, c.Run = trainer.Config().Training, trainer.Config().Run
		again, err := gpt.FineTune(c, trainer.Corpus, trainer.Tokenizer, sourceOf(t, cp))
		if err != nil {
			t.Fatal(err)
		}
		got, err := again.EvaluateAll(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	if got := loss(dir); got != want {
		t.Errorf("opened: loss %v, want %v", got, want)
	}
	file := filepath.Join(dir, train.WeightsFile)
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	list, meta, err := safetensors.Read(data)
	if err != nil {
		t.Fatal(err)
	}
	size := c.NEmbd / c.NHead
	for i, f := range list {
		if !strings.Contains(f.Name, "q_proj") && !strings.Contains(f.Name, "k_proj") {
			continue
		}
		d := f.Shape[1]
		for row := range f.Shape[0] { // as it would be without the permutation
			head, at := row/size, row%size
			from := head*size + at/2 + at%2*size/2
			copy(list[i].F32[row*d:(row+1)*d], slices.Clone(f.F32)[from*d:(from+1)*d])
		}
	}
	wrong := gpttest.Written(t, func(w *bytes.Buffer) error { return safetensors.Write(w, list, meta) })
	if err := os.WriteFile(file, wrong, 0o644); err != nil {
		t.Fatal(err)
	}
	if got := loss(dir); !(math.Exp(got) > 1.1*math.Exp(want)) {
		t.Errorf("pairs for halves: perplexity %v, the right one is %v", math.Exp(got), math.Exp(want))
	}
}

// A network of no family is refused with the nearest family. A folder is written completely or not at all.
func TestExportRefuses(t *testing.T) {
	of := func(change func(c *gpt.Config)) *gpt.Model {
		c := gpttest.Tiny()
		c.QKSize, c.VSize, c.VocabSize = 0, 0, 11
		change(&c)
		m, err := gpt.New(gpttest.Graph(), c, 1)
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	dir := filepath.Join(t.TempDir(), "model")
	for _, tc := range []struct {
		model *gpt.Model
		dtype string
		words []string
	}{
		{
			of(func(c *gpt.Config) { c.Position = "rope" }), "F32",
			[]string{
				"the nearest is gpt2:\n  position: got rope, want learned\n", "trained with -position learned can",
			},
		},
		{
			of(func(c *gpt.Config) { c.LogitCap = 30 }), "F32",
			[]string{"gpt2:\n  final_logit_softcapping: got 30, want 0"},
		},
		{of(func(c *gpt.Config) {
			c.Position, c.Norm, c.MLP = "rope", "rmsnorm", "swiglu"
			c.Activation, c.NLayer, c.Rope.NoRopeLayerInterval = "", 2, 2
		}), "F32", []string{"llama:\n  no_rope_layer_interval: got 2, want 0"}},
		{of(func(c *gpt.Config) { c.Block = "post" }), "F32", []string{"gpt2:\n  block: got post, want pre"}},
		{of(func(c *gpt.Config) { c.LoraR = 1 }), "F32", []string{"lora_r: got 1, want 0"}},
		{of(func(c *gpt.Config) {
			c.Head = "linear"
			c.Bias = true
		}), "F32", []string{"head: got linear, want linear_no_bias"}},
		{of(func(c *gpt.Config) { c.Activation = "softplus" }), "F32", []string{"activation: got softplus"}},
		{of(func(c *gpt.Config) {}), "F16", []string{`dtype: got "F16", want F32 or BF16`}},
		{nil, "F32", []string{"model: got nil"}},
	} {
		err := published.Export(t.Context(), dir, tc.model, nil, tc.dtype, chat.Template{})
		gpttest.MustContain(t, err, tc.words...)
	}
	m := of(func(c *gpt.Config) {})
	m.Params()[3].Tensor().Set(1, math.NaN())
	gpttest.MustContain(t, published.Export(t.Context(), dir, m, nil, "F32", chat.Template{}), "export", "not finite")
	m.Params()[3].Tensor().Set(1, 3.4e38)
	err := published.Export(t.Context(), dir, m, nil, "BF16", chat.Template{})
	gpttest.MustContain(t, err, "export", "beyond the largest number of BF16")
	if left, err := os.ReadDir(filepath.Dir(dir)); err != nil || len(left) > 0 {
		t.Errorf("left %v, %v", left, err)
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("half a folder is there: %v", fs.ErrExist)
	}
	m.Params()[3].Tensor().Set(1, 0.5)
	if err := published.Export(t.Context(), dir, m, nil, "F32", chat.Template{}); err != nil {
		t.Fatal(err)
	}
	err = published.Export(t.Context(), dir, m, nil, "F32", chat.Template{})
	gpttest.MustContain(t, err, "there is something already")
}

// An opened network of every family decodes from its cache what the complete context gives, can be tuned, and takes
// adapters, whose folder has the family's names. By day every second one is tried.
func TestFamiliesLive(t *testing.T) {
	networks := gpttest.Networks()
	for i, name := range slices.Sorted(maps.Keys(networks)) {
		c := networks[name]
		if testing.Short() && i%3 > 0 || os.Getenv("NIGHTLY") == "" && i%2 > 0 {
			continue
		}
		t.Run(name, func(t *testing.T) {
			trainer := gpttest.Trainer(t, c)
			dir := gpttest.Exported(t, trainer.Model, trainer.Tokenizer, safetensors.F32)
			cp, err := published.Load(dir, published.Fits())
			if err != nil {
				t.Fatal(err)
			}
			defer cp.Close()
			var tuning gpt.Config
			tuning.Training, tuning.Run = trainer.Config().Training, trainer.Config().Run
			tuning.LoraR, tuning.MaxIters = 2, 2
			if c.Rope.PartialRotaryFactor > 0 { // Phi-3 has two of our matrices in one
				tuning.LoraTargets = []string{"c_attn", "c_proj"}
			}
			tuned, err := gpt.FineTune(tuning, trainer.Corpus, trainer.Tokenizer, sourceOf(t, cp))
			if err != nil {
				t.Fatal(err)
			}
			gpttest.Steps(t, tuned, 2)
			adapter, base := adapterOf(t, tuned.Model), trainer.Model
			base.Graph.SetTraining(false)
			with, err := peft.Adapted(base, 1, adapter)
			if err != nil {
				t.Fatal(err)
			}
			want := gpttest.Logits(t, with)
			if err := with.Use(adapter); err != nil {
				t.Fatal(err)
			}
			if got := gpttest.Logits(t, with); gpttest.Relative(got, want, 0) == 0 {
				t.Error("the adapter changes nothing")
			}
			complete, err := graph.Compile(with.Logits)
			if err != nil {
				t.Fatal(err)
			}
			d, err := gpt.NewDecoder(with, 1)
			if err != nil {
				t.Fatal(err)
			}
			if n, err := with.StateBytes(); n == 0 || err != nil {
				t.Errorf("the decoder has no cache: %v", err)
			}
			for i := range c.BlockSize {
				got, err := d.Feed([]int{i * i % c.VocabSize})
				if err != nil {
					t.Fatal(err)
				}
				clear(with.Tokens.Ints())
				for j := range i + 1 {
					with.Tokens.Ints()[j] = j * j % c.VocabSize
				}
				if err := complete.Run(); err != nil {
					t.Fatal(err)
				}
				want := complete.Value().Floats()[i*c.VocabSize : (i+1)*c.VocabSize]
				if d := gpttest.Relative(got.Floats(), want, 0); !(d <= 1e-5) {
					t.Errorf("token %d: the decoder is %.1e off the complete context", i, d)
				}
			}
		})
	}
}

// The config.json of every family opens, with the defaults of its program for absent keys. The other kinds that are
// known are refused with what a network lacks for them.
func TestKinds(t *testing.T) {
	open := strings.Fields("gpt2 llama qwen2 qwen3 smollm3 olmo olmo2 mistral gemma gemma2 gemma3_text phi phi3 " +
		"granite arcee glm glm4 cohere starcoder2 gpt_bigcode gpt_neox gpt_neo opt mixtral qwen3_moe olmoe gpt_oss")
	for _, kind := range open {
		sizes := `, "num_hidden_layers": 2, "max_position_embeddings": 64, "vocab_size": 99`
		if slices.Contains([]string{"gpt2", "gpt_bigcode", "gpt_neo"}, kind) { // which name them otherwise
			sizes = ""
		}
		if kind == "gpt_oss" {
			sizes += `, "num_local_experts": 4`
		}
		if _, err := published.ReadConfig([]byte(`{"model_type": "` + kind + `"` + sizes + `}`)); err != nil {
			t.Errorf("%s: %v", kind, err)
		}
	}
	closed := strings.Fields("qwen2_moe deepseek_v3 gemma4 gemma4_text falcon stablelm gptj bloom mamba")
	for _, kind := range closed {
		_, err := published.ReadConfig([]byte(`{"model_type": "` + kind + `"}`))
		gpttest.MustContain(t, err, "model_type: got "+kind+", which is not supported: it needs ")
	}
	if n := len(published.Families()); n != len(open) || len(open)+len(closed) != 36 {
		t.Errorf("there are %d families, and %d kinds are tested", n, len(open)+len(closed))
	}
}

// torch returns an interpreter that has PyTorch; it skips the test if there is none.
func torch(t *testing.T) string {
	t.Helper()
	const look = "import importlib.util, sys; sys.exit(importlib.util.find_spec('torch') is None)"
	for _, name := range []string{"python3", "/usr/bin/python3"} {
		if exec.Command(name, "-c", look).Run() == nil {
			return name
		}
	}
	t.Skip("PyTorch, the reference, is not installed: apt-get install python3-torch")
	return ""
}

// PyTorch alone opens the folders that this library writes, of every family, and computes the same logits and the same
// gradient of every tensor as the model opened here.
func TestPyTorchAgrees(t *testing.T) {
	if os.Getenv("PEDESTRIAN_PYTORCH") == "" {
		t.Skip("set PEDESTRIAN_PYTORCH=1 to compare with PyTorch, as .ci/run does: it takes ten seconds")
	}
	python := torch(t)
	// by folder
	written, opened, script := map[string]*gpt.Model{}, map[string]*gpt.Model{}, []string{"testdata/torch_reference.py"}
	for name, c := range gpttest.Networks() {
		for _, dtype := range []string{safetensors.F32, safetensors.BF16} {
			own, err := gpt.New(gpttest.Graph(), c, 1)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			gpttest.Scramble(own.Params(), 4)
			dir := gpttest.Exported(t, own, nil, dtype)
			cp, err := published.Load(dir)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			m, err := loadModel(gpttest.Graph(), cp)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			tokens, targets := m.Tokens.Ints(), m.Targets.Ints()
			for i := range tokens {
				tokens[i], targets[i] = (i*i+5)%c.VocabSize, (i*7+i*i*i)%c.VocabSize
			}
			asked, err := json.Marshal(map[string][][]int{"tokens": {tokens}, "targets": {targets}})
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, "asked.json"), asked, 0o644); err != nil {
				t.Fatal(err)
			}
			written[dir], opened[dir], script = own, m, append(script, dir)
		}
	}
	if out, err := exec.Command(python, script...).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for dir, m := range opened {
		compareWithTorch(t, m, written[dir], readTensors(t, filepath.Join(dir, "torch.safetensors")))
	}
}

// inFile is a tensor as it is in a file.
type inFile struct {
	DType string `json:"dtype"`
	Shape []int  `json:"shape"`
	At    [2]int `json:"data_offsets"`
	data  []byte
}

// store writes a file of safetensors.
func store(t *testing.T, path string, tensors map[string]inFile) {
	t.Helper()
	header, data := map[string]inFile{}, []byte(nil)
	for _, name := range slices.Sorted(maps.Keys(tensors)) {
		x := tensors[name]
		x.At = [2]int{len(data), len(data) + len(x.data)}
		header[name], data = x, append(data, x.data...)
	}
	text, err := json.Marshal(header)
	if err == nil {
		file := append(binary.LittleEndian.AppendUint64(nil, uint64(len(text))), text...)
		err = os.WriteFile(path, append(file, data...), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// inBlocks returns a folder of gpt-oss in float32, and the same with its experts in blocks of MXFP4: the keys of its
// config.json, and its tensors.
func inBlocks(t *testing.T) (plain string, config map[string]any, tensors map[string]inFile) {
	t.Helper()
	c := gpttest.Networks()["gpt_oss"]
	c.NEmbd, c.NInner = 64, 32
	m, err := gpt.New(gpttest.Graph(), c, 1)
	if err != nil {
		t.Fatal(err)
	}
	gpttest.Scramble(m.Params(), 9)
	plain, config, tensors = gpttest.Exported(t, m, nil, safetensors.F32), map[string]any{}, map[string]inFile{}
	keys, err := os.ReadFile(filepath.Join(plain, "config.json"))
	if err == nil {
		err = json.Unmarshal(keys, &config)
	}
	if err != nil {
		t.Fatal(err)
	}
	config["quantization_config"] = map[string]any{
		"quant_method": "mxfp4", "modules_to_not_convert": []string{"lm_head"},
	}
	rng, numbers := rand.New(rand.NewPCG(3, 4)), map[string]inFile{}
	data, err := os.ReadFile(filepath.Join(plain, train.WeightsFile))
	if err != nil {
		t.Fatal(err)
	}
	list, _, err := safetensors.Read(data)
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range list {
		if strings.HasSuffix(x.Name, "experts.gate_up_proj") || strings.HasSuffix(x.Name, "experts.down_proj") {
			experts, in, out := x.Shape[0], x.Shape[1], x.Shape[2]
			fours, powers := make([]byte, len(x.F32)/2), make([]byte, len(x.F32)/32)
			for i := range fours {
				fours[i] = byte(rng.Uint32())
			}
			for i := range powers {
				powers[i] = byte(122 + rng.IntN(4))
			}
			for i := range x.F32 {
				at := (i/(in*out)*out+i%out)*in + i/out%in // in the blocks, which are (experts, out, in)
				four := int(fours[at/2] >> (4 * (at % 2)) & 15)
				v := []float64{0, 0.5, 1, 1.5, 2, 3, 4, 6}[four%8] * math.Exp2(float64(powers[at/32])-127)
				x.F32[i] = float32(v * float64(1-four/8*2))
			}
			tensors[x.Name+"_blocks"] = inFile{DType: "U8", Shape: []int{experts, out, in / 32, 16}, data: fours}
			tensors[x.Name+"_scales"] = inFile{DType: "U8", Shape: []int{experts, out, in / 32}, data: powers}
		}
		s := inFile{DType: "F32", Shape: x.Shape}
		for _, v := range x.F32 {
			s.data = binary.LittleEndian.AppendUint32(s.data, math.Float32bits(v))
		}
		if numbers[x.Name] = s; tensors[x.Name+"_blocks"].data == nil {
			tensors[x.Name] = s
		}
	}
	store(t, filepath.Join(plain, train.WeightsFile), numbers)
	return plain, config, tensors
}

// thinks returns the logits of a folder.
func thinks(t *testing.T, dir string) ([]float64, error) {
	t.Helper()
	cp, err := published.Load(dir, published.Fits())
	if err != nil {
		return nil, err
	}
	defer cp.Close()
	m, err := loadModel(gpttest.Graph(), cp)
	if err != nil {
		return nil, err
	}
	return gpttest.Logits(t, m), nil
}

// Experts in blocks of MXFP4 give the logits of the same numbers in float32, also if blocks and scales are in several
// files, and PyTorch's logits. A file that does not fit its config.json is refused.
func TestMXFP4(t *testing.T) {
	plain, config, tensors := inBlocks(t)
	want, err := thinks(t, plain)
	if err != nil {
		t.Fatal(err)
	}
	write := func(change func(tensors map[string]inFile, config map[string]any)) string {
		dir, config, tensors := t.TempDir(), maps.Clone(config), maps.Clone(tensors)
		change(tensors, config)
		keys, err := json.Marshal(config)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, "config.json"), keys, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		store(t, filepath.Join(dir, train.WeightsFile), tensors)
		return dir
	}
	blocked := write(func(map[string]inFile, map[string]any) {})
	apart := write(func(tensors map[string]inFile, _ map[string]any) {
		maps.DeleteFunc(tensors, func(name string, _ inFile) bool { return strings.HasSuffix(name, "_scales") })
	})
	scales := maps.Clone(tensors)
	maps.DeleteFunc(scales, func(name string, _ inFile) bool { return !strings.HasSuffix(name, "_scales") })
	store(t, filepath.Join(apart, "scales.safetensors"), scales)
	index := map[string]string{}
	for name := range tensors {
		index[name] = map[bool]string{
			true: "scales.safetensors", false: "others.safetensors",
		}[strings.HasSuffix(name, "_scales")]
	}
	data, err := json.Marshal(map[string]any{"weight_map": index})
	if err == nil {
		err = cmp.Or(os.WriteFile(filepath.Join(apart, train.IndexFile), data, 0o600),
			os.Rename(filepath.Join(apart, train.WeightsFile), filepath.Join(apart, "others.safetensors")))
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{blocked, apart} {
		if got, err := thinks(t, dir); err != nil || !slices.Equal(got, want) {
			t.Errorf("the logits are %.2g off, %v", gpttest.Relative(got, want, 0), err)
		}
	}
	const gate, down = "model.layers.1.mlp.experts.gate_up_proj", "model.layers.0.mlp.experts.down_proj"
	for want, change := range map[string]func(map[string]inFile, map[string]any){
		gate[6:] + ": entry 64 is NaN": func(tensors map[string]inFile, _ map[string]any) {
			s := tensors[gate+"_scales"]
			s.data = slices.Clone(s.data)
			s.data[2] = 255
			tensors[gate+"_scales"] = s
		},
		down[6:] + " is missing": func(tensors map[string]inFile, _ map[string]any) { delete(tensors, down+"_scales") },
		`tensor "` + down + `_blocks": got shape [5 64 1 16], want the shape of "` + down +
			`_scales", [5 64], and 16`: func(tensors map[string]inFile, _ map[string]any) {
			s := tensors[down+"_scales"]
			s.Shape = []int{5, 64}
			tensors[down+"_scales"] = s
		},
		"has shape [5 64 64] in the file": func(_ map[string]inFile, config map[string]any) {
			config["intermediate_size"] = 33
		},
		down[6:] + " has shape [5 64 32] in the file, [5 32 64] in " +
			"the model": func(_ map[string]inFile, config map[string]any) {
			delete(config, "quantization_config")
		},
		`quantization_config: quant_method: got "fp8", want mxfp4`: func(_ map[string]inFile, config map[string]any) {
			config["quantization_config"] = map[string]any{"quant_method": "fp8"}
		},
		`quantization_config: quant_method: got "", want mxfp4`: func(_ map[string]inFile, config map[string]any) {
			config["quantization_config"] = map[string]any{}
		},
		`quantization_config: unknown field "bits"`: func(_ map[string]inFile, config map[string]any) {
			config["quantization_config"] = map[string]any{"quant_method": "mxfp4", "bits": 4}
		},
	} {
		_, err := thinks(t, write(change))
		gpttest.MustContain(t, err, want)
	}
	if os.Getenv("PEDESTRIAN_PYTORCH") == "" {
		return
	}
	tokens := make([]int, 8)
	for i := range tokens {
		tokens[i] = (i*5 + 3) % 11
	}
	asked, err := json.Marshal(map[string]any{"tokens": [][]int{tokens}, "configs": []any{config}})
	if err == nil {
		err = os.WriteFile(filepath.Join(blocked, "asked.json"), asked, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(torch(t), "testdata/torch_reference.py", blocked).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	cp := loaded(t, blocked)
	m, err := loadModel(gpttest.Graph(), cp)
	if err != nil {
		t.Fatal(err)
	}
	copy(m.Tokens.Ints(), tokens)
	p, err := graph.Compile(m.Logits)
	if err == nil {
		err = p.Run()
	}
	if err != nil {
		t.Fatal(err)
	}
	theirs := readTensors(t, filepath.Join(blocked, "torch.safetensors"))["0"]
	if d := gpttest.Relative(p.Value().Floats(), theirs, 0); !(d <= 2e-5) {
		t.Errorf("the logits are %.1e off PyTorch's, want at most 2e-5", d)
	}
}

// compareWithTorch compares logits and loss of m with PyTorch's, and its gradients, which own writes like the weights.
func compareWithTorch(t *testing.T, m, own *gpt.Model, want map[string][]float64) {
	t.Helper()
	c := m.Config
	name := fmt.Sprint(c.Norm, " ", c.MLP, " ", c.Attention, " ", c.Head, " ", c.Bias)
	run := func(of graph.Expr, wrt ...graph.Expr) *graph.Program {
		p, err := graph.Compile(of, wrt...)
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Run(); err != nil {
			t.Fatal(err)
		}
		return p
	}
	logits := run(m.Logits).Value().Floats()
	p := run(m.Loss, m.Params()...)
	if d := gpttest.Relative(logits, want["logits"], 0); !(d <= 2e-5) {
		t.Errorf("%s: the logits are %.1e off PyTorch's, want at most 2e-5", name, d)
	}
	if d := gpttest.Relative([]float64{p.Loss()}, want["loss"], 0); !(d <= 2e-5) {
		t.Errorf("%s: the loss is %v, PyTorch's %v", name, p.Loss(), want["loss"])
	}
	top, grads := 0.0, map[string]graph.Tensor{}
	for _, x := range m.Params() {
		grads[x.Name()] = p.Grad(x)
		top = max(top, gpttest.Largest(p.Grad(x).Floats()))
	}
	asFiles := func(of func(parameter string) graph.Tensor) map[string][]float64 {
		for _, x := range own.Params() {
			if err := x.Tensor().Copy(of(x.Name())); err != nil {
				t.Fatalf("%s: %s: %v", name, x.Name(), err)
			}
		}
		return readTensors(t, filepath.Join(gpttest.Exported(t, own, nil, safetensors.F32), "model.safetensors"))
	}
	got := asFiles(func(parameter string) graph.Tensor { return grads[parameter] })
	zero := asFiles(func(parameter string) graph.Tensor { // a gain of a file may be ours minus 1
		return graph.Tensor{Shape: grads[parameter].Shape, F32: make([]float32, grads[parameter].Len())}
	})
	for tensor := range got {
		for i := range got[tensor] {
			got[tensor][i] -= zero[tensor][i]
		}
	}
	for _, x := range own.Params() {
		delete(grads, x.Name())
	}
	for tensor, g := range grads { // the biases of a GPT-2, zeros that own has not
		if _, ok := got[tensor]; ok {
			got[tensor] = g.Floats()
		}
	}
	if len(want) != len(got)+2 { // logits and loss
		t.Errorf("%s: %d tensors, PyTorch has %d gradients", name, len(got), len(want)-2)
	}
	worst := 0.0
	for tensor, g := range got {
		d := gpttest.Relative(g, want[tensor], top)
		if worst = max(worst, d); !(d <= 1e-4) {
			t.Errorf("%s: the gradient of %s is %.1e off PyTorch's, want at most 1e-4", name, tensor, d)
		}
	}
	t.Logf("%s: logits %.1e, gradients %.1e", name, gpttest.Relative(logits, want["logits"], 0), worst)
}

func readTensors(t *testing.T, path string) map[string][]float64 {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	list, _, err := safetensors.Read(data)
	if err != nil {
		t.Fatal(err)
	}
	tensors := map[string][]float64{}
	for _, x := range list {
		tensors[x.Name] = nil
		for _, v := range x.F32 {
			tensors[x.Name] = append(tensors[x.Name], float64(v))
		}
	}
	return tensors
}

// inGGUF returns small networks of the families that GGUF files may hold, whose sizes fill blocks, and a tokenizer.
func inGGUF(t testing.TB) (map[string]gpt.Config, *bpe.Tokenizer) {
	t.Helper()
	tok, err := bpe.Train(gpttest.Verses, 270)
	if err != nil {
		t.Fatal(err)
	}
	all := gpttest.Networks()
	for name, c := range all {
		kind, _, _ := strings.Cut(name, ",")
		if slices.Contains([]string{"gpt_neo", "opt", "glm", "glm4", "mistral", "gpt_oss"}, kind) ||
			name == "qwen3, windows" || kind != "llama" && strings.Contains(name, "biases") && kind != "gpt2" ||
			c.Rope.Scaling == "longrope" || c.Rope.Scaling == "yarn" && kind != "qwen3" && kind != "arcee" {
			delete(all, name)
			continue
		}
		c.NHead, c.NEmbd, c.NInner, c.VocabSize = 4, 64, 96, tok.Size()
		if c.EmbeddingMultiplier != 0 && kind != "granite" {
			c.EmbeddingMultiplier = 8
		}
		switch kind { // what files of the family cannot list
		case "gemma3_text":
			c.NLayer, c.QKSize = 7, 24
			c.Options.Set("full_attention_interval", 6)
		case "gemma2":
			c.AttentionMultiplier = 0
		case "smollm3":
			c.NLayer, c.Rope.NoRopeLayerInterval = 5, 4
		case "mixtral", "starcoder2":
			c.Attention = "gqa"
			c.Options = parts.Options{}
			c.Options.Set("n_kv_head", 2)
		case "olmoe":
			c.Head, c.Experts.RouterAuxLossCoef = "linear", 0
			c.Options.Set("n_kv_head", 4)
		case "olmo2":
			c.Head = "linear"
		case "gpt_neox":
			c.Head = "linear_no_bias"
		case "phi3":
			c.QKSize, c.VSize = 0, 0
		}
		if c.Rope.Scaling == "llama3" {
			c.Rope.Factor, c.Rope.Original, c.Rope.Theta = 32, 8192, 500_000
		}
		if strings.HasPrefix(name, "gpt2") {
			c.Activation = "gelu_tanh"
		}
		if c.QKSize != 0 {
			c.QKSize, c.VSize = 24, 24
		}
		all[name] = c
	}
	return all, tok
}

// A GGUF file holds the same network: its matrices in place compute what the same numbers read as float32 do, up to
// the rounding of a product's other factor, and these are within the rounding of their type of the model's. Rounding
// may send a token to another expert.
func TestGGUF(t *testing.T) {
	configs, tok := inGGUF(t)
	tolerances := map[string][2]float64{
		"F32": {0, 1e-5}, "F16": {1e-2, 1e-5}, "BF16": {0.1, 1e-5}, "Q8_0": {0.15, 0.15}, "Q4_0": {2, 0.15},
	}
	all := slices.Sorted(maps.Keys(tolerances))
	for i, name := range slices.Sorted(maps.Keys(configs)) {
		dtypes, c := all, configs[name]
		if !slices.Contains([]string{"gpt2", "llama, groups", "gemma3_text"}, name) {
			dtypes = []string{"F32", all[i%len(all)]}
		}
		t.Run(name, func(t *testing.T) {
			m, err := gpt.New(gpttest.Graph(), c, 1)
			if err != nil {
				t.Fatal(err)
			}
			m.Graph.SetTraining(false)
			gpttest.Scramble(m.Params(), 9)
			want := gpttest.Logits(t, m)
			for _, dtype := range slices.Compact(dtypes) {
				tol := tolerances[dtype]
				if c.Experts.NumExperts > 0 && strings.HasPrefix(dtype, "Q") {
					tol = [2]float64{2, 1}
				}
				path := filepath.Join(t.TempDir(), "model.gguf")
				loose := throughGGUF(t, m, tok, path, dtype)
				stored, gotTok, err := published.Open(path)
				if err != nil {
					t.Fatal(err)
				}
				numbers, inPlace := gpttest.Logits(t, loose), gpttest.Logits(t, stored)
				if strings.HasPrefix(name, "gemma") && dtype == "F32" {
					tol[0] = 2e-6 // the gains
				}
				if d := gpttest.Relative(numbers, want, 0); !(d <= tol[0]) {
					t.Errorf("%s: the numbers give logits %.2g away, want %.2g", dtype, d, tol[0])
				}
				if d := gpttest.Relative(inPlace, numbers, 0); !(d <= tol[1]) {
					t.Errorf("%s: matrices in place give logits %.2g away, want %.2g", dtype, d, tol[1])
				}
				text := gpttest.Verses[:40]
				ids, _ := tok.Encode(text)
				if got, err := gotTok.Encode(text); err != nil || !slices.Equal(got, ids) {
					t.Errorf("%s: the tokenizer is another: %v", dtype, err)
				}
				if bytes := stored.Graph.WeightBytes(); dtype == "Q4_0" && bytes > loose.Graph.WeightBytes()/2 {
					t.Errorf("%s: %d bytes of weights", dtype, bytes)
				}
			}
		})
	}
}

// A folder and a GGUF file have the template of conversations and the tokens around texts that they were written with.
func TestExportTemplate(t *testing.T) {
	configs, _ := inGGUF(t)
	tok, err := bpe.Train(gpttest.Verses, 270, "<|endoftext|>", "<|turn|>")
	if err != nil {
		t.Fatal(err)
	}
	m, err := gpt.New(gpttest.Graph(), configs["qwen2"], 1)
	if err != nil {
		t.Fatal(err)
	}
	end, _ := tok.Special("<|turn|>")
	for _, want := range []chat.Template{
		{Begin: "<|endoftext|>", End: "<|turn|>", Chat: "{% for m in messages %}{{ m.content }}<|turn|>{% endfor %}"},
		{End: "<|turn|>"},
	} {
		for _, name := range []string{"model", "model.gguf"} {
			path := filepath.Join(t.TempDir(), name)
			if err := published.Export(t.Context(), path, m, tok, "F32", want); err != nil {
				t.Fatal(err)
			}
			cp, err := published.Load(path, published.Fits())
			if err != nil {
				t.Fatal(err)
			}
			if got, err := published.LoadTemplate(cp); err != nil || got != want {
				t.Errorf("%s: got %+v (%v), want %+v", name, got, err, want)
			}
			if ends, err := published.LoadEnds(cp); err != nil || !slices.Equal(ends, []int{end}) {
				t.Errorf("%s: got ends %v (%v), want [%d]", name, ends, err, end)
			}
			cp.Close()
		}
	}
	file := filepath.Join(t.TempDir(), "x.gguf")
	err = published.Export(t.Context(), file, m, tok, "F32", chat.Template{Begin: "<s>"})
	if err == nil || !strings.Contains(err.Error(), `got "<s>" at the beginning of texts`) {
		t.Errorf("got error %v", err)
	}
}

// Matrices whose rows do not fill blocks of 32 numbers are F16, and the file opens.
func TestGGUFOddRows(t *testing.T) {
	configs, tok := inGGUF(t)
	c := configs["llama"]
	c.NInner = 40
	m, err := gpt.New(gpttest.Graph(), c, 1)
	if err != nil {
		t.Fatal(err)
	}
	m.Graph.SetTraining(false)
	gpttest.Scramble(m.Params(), 9)
	path := filepath.Join(t.TempDir(), "model.gguf")
	loose := throughGGUF(t, m, tok, path, "Q8_0")
	if d := gpttest.Relative(gpttest.Logits(t, loose), gpttest.Logits(t, m), 0); !(d <= 0.15) {
		t.Errorf("the numbers give logits %.2g away", d)
	}
	f, err := gguf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range f.Tensors {
		want := gguf.Q8_0
		switch {
		case len(x.Shape) == 1:
			want = gguf.F32
		case strings.Contains(x.Name, "ffn_down"):
			want = gguf.F16
		}
		if x.Type != want {
			t.Errorf("%s: got %v, want %v", x.Name, x.Type, want)
		}
	}
}

// A model in a GGUF file of Q4_0 computes the same bits as one whose weights are packed as int4. It decodes from its
// cache: token by token the same as all at once, up to the rounding of what the matrices multiply.
func TestGGUFDecodes(t *testing.T) {
	configs, tok := inGGUF(t)
	m, err := gpt.New(gpttest.Graph(), configs["llama, groups"], 1)
	if err != nil {
		t.Fatal(err)
	}
	gpttest.Scramble(m.Params(), 9)
	path := filepath.Join(t.TempDir(), "model.gguf")
	if err := published.Export(t.Context(), path, m, tok, "Q4_0", chat.Template{}); err != nil {
		t.Fatal(err)
	}
	quantised, _, err := published.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	want := gpttest.Logits(t, quantised)
	m.Graph.SetTraining(false)
	if !slices.Equal(gpttest.Logits(t, gpttest.Packed(t, m, stored.Int4)), want) {
		t.Error("int4 gives other bits than Q4_0")
	}
	d, err := gpt.NewDecoder(quantised, 1)
	if err != nil {
		t.Fatal(err)
	}
	ids := quantised.Tokens.Ints()
	var last graph.Tensor
	for _, id := range ids {
		if last, err = d.Feed([]int{id}); err != nil {
			t.Fatal(err)
		}
	}
	if d := gpttest.Relative(last.Floats(), want[len(want)-quantised.Config.VocabSize:], 0); !(d <= 2e-2) {
		t.Errorf("the last logits are %.2g away", d)
	}
}

// A file of some 500 MB, with NIGHTLY=1, opens in 0.3 s, and needs less than 1.05 times its mapped pages.
func TestGGUFOpens(t *testing.T) {
	blocks, width, inner, vocabulary := 1, 64, 96, 300
	if os.Getenv("NIGHTLY") != "" {
		blocks, width, inner, vocabulary = 24, 1024, 4096, 32_000
	}
	tok, err := bpe.Train(gpttest.Verses, 270)
	if err != nil {
		t.Fatal(err)
	}
	c := gpttest.Networks()["llama"]
	c.NLayer, c.NHead, c.NEmbd, c.NInner, c.VocabSize, c.BlockSize = blocks, 4, width, inner, vocabulary, 64
	path := filepath.Join(t.TempDir(), "model.gguf")
	m, err := gpt.New(gpttest.Graph(), c, 1)
	if err == nil {
		gpttest.Scramble(m.Params(), 3)
		err = published.Export(t.Context(), path, m, tok, "Q8_0", chat.Template{})
	}
	if err != nil {
		t.Fatal(err)
	}
	m = nil
	debug.FreeOSMemory()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	before, start := anonymous(t), time.Now()
	stored, _, err := published.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	took := time.Since(start)
	debug.FreeOSMemory()
	more := anonymous(t) - before
	t.Logf(
		"%.0f MB opened in %v, with %.1f MB beside the mapped pages", float64(info.Size())/1e6, took, float64(more)/1e6,
	)
	if float64(more) > 0.05*float64(info.Size())+(4<<20) {
		t.Errorf("%d bytes beside a file of %d", more, info.Size())
	}
	runtime.KeepAlive(stored)
}

// anonymous returns the memory of the process that is no file's; 0 where the system does not tell.
func anonymous(t *testing.T) int64 {
	t.Helper()
	data, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(data), "RssAnon:")
	var kb int64
	fmt.Sscan(rest, &kb)
	return kb << 10
}

// A file that cannot be is refused with its reason.
func TestGGUFRefuses(t *testing.T) {
	configs, tok := inGGUF(t)
	model := func(c gpt.Config) *gpt.Model {
		m, err := gpt.New(gpttest.Graph(), c, 1)
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	llama := model(configs["llama"])
	tied := configs["olmo2"]
	tied.Head = "tied"
	exact := configs["gpt2"]
	exact.Activation = "relu"
	dir := t.TempDir()
	path := filepath.Join(dir, "model.gguf")
	if err := published.Export(t.Context(), path, llama, tok, "F32", chat.Template{}); err != nil {
		t.Fatal(err)
	}
	quantised, _, err := published.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	characters, err := text.NewCharacters(gpttest.Verses)
	if err != nil {
		t.Fatal(err)
	}
	opened := func(name string, keys []gguf.Key, entries ...gguf.Entry) error {
		path := filepath.Join(dir, name+".gguf")
		f, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		err = gguf.Write(f, keys, entries, func(i int) ([]float32, error) { return make([]float32, 64), nil })
		if err != nil {
			t.Fatal(err)
		}
		_, _, err = published.Open(path)
		return err
	}
	key := func(name string, v gguf.Value) gguf.Key { return gguf.Key{Name: name, Value: v} }
	arch := key("general.architecture", gguf.OfText("llama"))
	all := []gguf.Key{arch}
	for _, name := range strings.Fields("context_length embedding_length block_count feed_forward_length " +
		"attention.head_count attention.layer_norm_rms_epsilon") {
		all = append(all, key("llama."+name, gguf.OfInt(1)))
	}
	with := func(more ...gguf.Key) []gguf.Key { return append(slices.Clip(all), more...) }
	export := func(m *gpt.Model, name string, tok text.Tokenizer, dtype string) error {
		return published.Export(t.Context(), filepath.Join(dir, name), m, tok, dtype, chat.Template{})
	}
	for want, err := range map[string]error{
		"activation: got": export(model(exact), "v.gguf", tok, "F32"),
		"tie_word_embeddings: got true, want false": export(model(tied), "t.gguf", tok, "F32"),
		"there is something already":                export(llama, filepath.Base(path), tok, "F32"),
		`dtype: got "Q6_K", want F32, F16`:          export(llama, "x.gguf", tok, "Q6_K"),
		"trained with -tokenizer bpe can be":        export(model(configs["llama"]), "z.gguf", characters, "F32"),
		"its weights are packed":                    export(quantised, "w.gguf", tok, "F32"),
		"its weights are packed, wte":               second(quantised.Packed(stored.Int8)),
		"no checkpoint":                             second(published.Load(filepath.Join(dir, "missing.gguf"))),
		"general.architecture is missing":           opened("a", nil),
		`o.gguf: gguf: folder: key "llama.attention.layer_norm_rms_epsilon" is missing`: opened("o", all[:len(all)-1]),
		`general.architecture: got "mamba", want`: opened(
			"b", []gguf.Key{key("general.architecture", gguf.OfText("mamba"))},
		),
		`key "qwen2.expert_count": got 8, want 0`: opened(
			"c",
			[]gguf.Key{key("general.architecture", gguf.OfText("qwen2")), key("qwen2.expert_count", gguf.OfInt(8))},
		),
		`key "llama.block_count": got "2", want`: opened(
			"d", []gguf.Key{arch, key("llama.block_count", gguf.OfText("2"))},
		),
		`key "llama.rope.dimension_count": got 7`: opened(
			"e", []gguf.Key{arch, key("llama.rope.dimension_count", gguf.OfInt(7))},
		),
		`rope.scaling.type: got "yarn", want none`: opened(
			"f",
			[]gguf.Key{
				key("general.architecture", gguf.OfText("gemma2")),
				key("gemma2.rope.scaling.type", gguf.OfText("yarn")),
			},
		),
		`key "split.count": got 2, want`: opened("g", []gguf.Key{arch, key("split.count", gguf.OfInt(2))}),
		`key "general.type": got "adapter", want`: opened(
			"h", []gguf.Key{arch, key("general.type", gguf.OfText("adapter"))},
		),
		`key "clip.x": got true, want none`: opened("i", []gguf.Key{arch, key("clip.x", gguf.OfBool(true))}),
		`tensor "blk.0.x": a llama has no such`: opened(
			"j", all, gguf.Entry{Name: "blk.0.x", Shape: []int{64}, Type: gguf.F32},
		),
		"rope_freqs.weight: number": opened(
			"k", []gguf.Key{arch}, gguf.Entry{Name: "rope_freqs.weight", Shape: []int{64}, Type: gguf.F32},
		),
		`tokenizer.ggml.model: got "t5", want`: opened(
			"l",
			with(
				key("tokenizer.ggml.model", gguf.OfText("t5")),
				key("tokenizer.ggml.tokens", gguf.OfStrings([]string{"a"})),
			),
		),
		"tokenizer.ggml.tokens: got no value": opened("m", with(key("tokenizer.ggml.model", gguf.OfText("gpt2")))),
		`tokenizer.ggml.tokens: "a" appears twice`: opened(
			"n",
			with(
				key("tokenizer.ggml.model", gguf.OfText("gpt2")),
				key("tokenizer.ggml.tokens", gguf.OfStrings([]string{"a", "a"})),
			),
		),
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got error %v, want %s", err, want)
		}
	}
}

func second[T any](_ T, err error) error { return err }

// throughGGUF writes m to a GGUF file and returns the model that is loaded from it.
func throughGGUF(t *testing.T, m *gpt.Model, tok text.Tokenizer, path, dtype string) *gpt.Model {
	t.Helper()
	if err := published.Export(t.Context(), path, m, tok, dtype, chat.Template{}); err != nil {
		t.Fatal(err)
	}
	cp, err := published.Load(path, published.Fits())
	if err != nil {
		t.Fatal(err)
	}
	loaded, err := loadModel(gpttest.Graph(), cp)
	if err != nil {
		t.Fatal(err)
	}
	return loaded
}

// llama.cpp opens the files and computes the same logits, up to its rounding of keys, values and GELU to 16 bits, and
// of the factors of matrices in 16 bits and in blocks to their precision. PEDESTRIAN_LLAMA is a folder in which npm has
// installed node-llama-cpp.
func TestLlamaCppAgrees(t *testing.T) {
	dir := os.Getenv("PEDESTRIAN_LLAMA")
	if dir == "" {
		t.Skip("set PEDESTRIAN_LLAMA to a folder in which npm has installed node-llama-cpp")
	}
	configs, tok := inGGUF(t)
	names, folder := slices.Sorted(maps.Keys(configs)), t.TempDir()
	dtypes := []string{"F32", "F16", "BF16", "Q8_0", "Q4_0"}
	var ours [][]float64
	var ids []int
	var paths []string
	for i, name := range names {
		m, err := gpt.New(gpttest.Graph(), configs[name], 1)
		if err != nil {
			t.Fatal(err)
		}
		gpttest.Scramble(m.Params(), 9)
		for _, dtype := range []string{"F32", dtypes[1+i%4]} {
			path := filepath.Join(folder, fmt.Sprint(name, " ", dtype, ".gguf"))
			loose := throughGGUF(t, m, tok, path, dtype)
			ours, paths = append(ours, gpttest.Logits(t, loose)), append(paths, path)
			ids = loose.Tokens.Ints()
		}
	}
	asked, err := json.Marshal(ids)
	if err != nil {
		t.Fatal(err)
	}
	answers := byLlamaCpp(t, dir, "llama_logits.mjs", append([]string{string(asked)}, paths...)...)
	if len(answers) != len(paths) {
		t.Fatalf("got %d answers, want %d", len(answers), len(paths))
	}
	for i, path := range paths {
		name, answer := strings.TrimSuffix(filepath.Base(path), ".gguf"), answers[i]
		var theirs [][]float64
		if err := json.Unmarshal(answer, &theirs); err != nil {
			t.Errorf("%s: llama.cpp: %s", name, answer)
			continue
		}
		tol := map[string]float64{"F32": 5e-3, "F16": 5e-3, "BF16": 0.03}[name[strings.LastIndexByte(name, ' ')+1:]]
		if tol == 0 {
			tol = 0.15
		}
		width := tok.Size()
		for at, logits := range theirs {
			if len(logits) != width {
				t.Fatalf("%s: got %d logits, want %d", name, len(logits), width)
			}
			want := ours[i][at*width:][:width]
			if d := gpttest.Relative(logits, want, 0); !(d <= tol) {
				t.Errorf("%s: token %d: the logits are %.2g away", name, at, d)
				break
			}
			best, second := highest(want)
			theirBest, _ := highest(logits)
			if theirBest != best && want[best]-want[second] > 2*tol*gpttest.Largest(want) {
				t.Errorf("%s: token %d: llama.cpp continues with %d, want %d", name, at, theirBest, best)
			}
		}
	}
}

// highest returns the indices of the two largest numbers.
func highest(x []float64) (first, second int) {
	order := make([]int, len(x))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(x[b], x[a]) })
	return order[0], order[1]
}

// network returns the fields of a network, with defaults filled in.
func network(c gpt.Config) map[string]string {
	c = c.Resolved()
	values := map[string]string{}
	for _, f := range c.NetworkFields() {
		values[f.Name] = f.String()
	}
	return values
}

var update = flag.Bool("update", false, "write testdata/published.txt again")

// testdata/published.txt has the tables of published models: the network that a config.json without further keys
// describes, and for every exported network its config.json and the place of its parameters in the file. Reading and
// writing use the same tables, so that a network that is exported and opened again shows no mistake in them.
func TestPublishedTables(t *testing.T) {
	var b strings.Builder
	standard := network(gpt.Config{})
	for _, modelType := range published.Families() {
		fmt.Fprintf(&b, "read %s:", modelType)
		// larger than memory
		c, err := published.ReadUnchecked(fmt.Appendf(nil, `{"model_type": %q}`, modelType))
		if err != nil {
			t.Fatalf("%s: %v", modelType, err)
		}
		fields := network(c)
		for _, key := range slices.Sorted(maps.Keys(fields)) {
			if value := fields[key]; value != standard[key] {
				fmt.Fprintf(&b, " %s=%s", key, value)
			}
		}
		b.WriteString("\n")
	}
	all := gpttest.Networks()
	undivided := all["cohere"]
	undivided.LogitsScaling = 0
	all["cohere, logits as they are"] = undivided
	for _, name := range slices.Sorted(maps.Keys(all)) {
		m, err := gpt.New(gpttest.Graph(), all[name], 1)
		if err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(filepath.Join(gpttest.Exported(t, m, nil, safetensors.F32), "config.json"))
		if err != nil {
			t.Fatal(err)
		}
		var line bytes.Buffer
		if err := json.Compact(&line, data); err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "write %s: %s\n", name, &line)
		params := m.Params()
		for i, x := range published.Exported(m.Config, params) {
			if strings.Contains(x.Name, ".1.") {
				continue // as in block 0
			}
			fmt.Fprintf(&b, "\t%d %s %v", i, x.Name, x.Shape)
			for _, part := range []struct {
				name  string
				value any
				said  bool
			}{
				{"in", x.View.Shape, x.View.Shape != nil}, {"at", x.View.First, x.View.First > 0},
				{"steps", []int{x.View.Row, x.View.Column}, x.View.Shape != nil},
				{"shift", x.Shift, x.Shift != 0}, {"columns", x.Columns, x.Columns != nil},
			} {
				if part.said {
					fmt.Fprintf(&b, " %s %v", part.name, part.value)
				}
			}
			b.WriteString("\n")
		}
	}
	const path = "testdata/published.txt"
	if *update {
		if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines, wants := strings.Split(b.String(), "\n"), strings.Split(string(want), "\n")
	for i := range max(len(lines), len(wants)) {
		if i >= len(lines) || i >= len(wants) || lines[i] != wants[i] {
			t.Fatalf("%s, line %d: got %q of %d lines, want %q of %d: run with -update if this is meant", path, i+1,
				lines[min(i, len(lines)-1)], len(lines), wants[min(i, len(wants)-1)], len(wants))
		}
	}
}
