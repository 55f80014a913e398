package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/published"
	"github.com/pedestrian-ml/pedestrian/gpt/safetensors"
	"github.com/pedestrian-ml/pedestrian/gpt/text"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/internal/heap"
)

func TestMain(m *testing.M) {
	if os.Getenv(programVariable) != "" {
		main()
		return
	}
	heap.Limit()
	os.Exit(m.Run())
}

// called runs the program and returns its output.
func called(t *testing.T, args ...string) (out string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	if err := run(t.Context(), args, &stdout, &stderr); err != nil {
		t.Fatalf("%q: %v\n%s%s", args, err, stderr.String(), stdout.String())
	}
	return stdout.String()
}

// written writes a text to the disk and returns its path.
func written(t *testing.T, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "text.txt")
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// Without a folder one is created once, and continues the prompt.
func TestWrite(t *testing.T) {
	dir := made(t)
	for range 2 {
		out := called(t, "-tokens", "5", "-prompt", "The wheel")
		if !strings.HasPrefix(out, "The wheel") || !regexp.MustCompile(
			`\n\d tokens, \d+\.\d tok/s; the first came after \d+ ms, of a prompt of \d+\n$`,
		).MatchString(out) {
			t.Errorf("got %q", out)
		}
	}
	again := called(t, "-model", dir, "-tokens", "9", "-temperature", "0", "-block_size", "16")
	if once := called(
		t, "-model", dir, "-tokens", "9", "-temperature", "0",
	); strings.Split(once, "\n\n")[0] != strings.Split(again, "\n\n")[0] {
		t.Errorf("with a shorter context: got %q, want %q", again, once)
	}
}

// A text ends with the tokens that the folder names: here with the first drawn token.
func TestWriteToTheEnd(t *testing.T) {
	dir := made(t)
	ids := make([]string, 512)
	for i := range ids {
		ids[i] = strconv.Itoa(i)
	}
	path := filepath.Join(dir, "generation_config.json")
	if err := os.WriteFile(
		path, fmt.Appendf(nil, `{"eos_token_id": [%s]}`, strings.Join(ids, ",")), 0o644,
	); err != nil {
		t.Fatal(err)
	}
	if out := called(
		t, "-model", dir, "-tokens", "9", "-prompt", "The wheel",
	); !strings.HasPrefix(out, "The wheel\n\n1 tokens, ") {
		t.Errorf("got %q", out)
	}
}

// The loss of a text is the mean of its tokens, each given the tokens before it in its window.
func TestEval(t *testing.T) {
	dir, s := made(t), speech()[:300]
	m, tok, err := published.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	ids, err := tok.Encode(s)
	if err != nil {
		t.Fatal(err)
	}
	p, err := graph.Compile(m.Logits)
	if err != nil {
		t.Fatal(err)
	}
	const size = 12
	for _, stride := range []int{size, 5, 1} {
		nats := 0.0
		for i := 1; i < len(ids); i++ {
			end := size // of the first window that predicts token i
			for end < i {
				end += stride
			}
			begin := max(0, min(end, len(ids)-1)-size)
			copy(m.Tokens.Ints(), ids[begin:i])
			if err := p.Run(); err != nil {
				t.Fatal(err)
			}
			row, all := p.Value().Row(i-1-begin), 0.0
			for j := range row.Len() {
				all += math.Exp(row.At(j))
			}
			nats += math.Log(all) - row.At(ids[i])
		}
		back, _ := tok.Decode(ids[1:])
		n := float64(len(ids) - 1)
		want := fmt.Sprintf(
			"loss %.4f nats per token, perplexity %.2f, %.4f bits per byte", nats/n, math.Exp(nats/n),
			nats/math.Ln2/float64(len(back)),
		)
		how := map[int]string{size: "side by side", 5: "sliding by 5", 1: "sliding by 1"}[stride]
		out := called(
			t, "-model", dir, "-eval", written(t, s), "-block_size", fmt.Sprint(size), "-stride", fmt.Sprint(stride),
		)
		if !strings.Contains(out, want) || !strings.Contains(out, how) {
			t.Errorf("stride %d: got %q, want %q and %q", stride, out, want, how)
		}
	}
}

// -choices prints the share of right choices of a trained model, which knows them, and of the same in fewer bits. A
// short context cuts prompts.
func TestChoices(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "hens")
	called(t, "-train", written(t, strings.Repeat("the hen has a nest\nthe cow has a barn\n", 40)), "-tokenizer",
		"train:260", "-out_dir", dir,
		"-n_layer", "2", "-n_head", "2", "-n_embd", "32", "-block_size", "24", "-batch_size", "8", "-max_iters", "200",
		"-learning_rate", "0.01")
	questions := written(t, `{"prompt": "the hen has a", "choices": [" nest", " barn"], "answer": 0}
{"prompt": "the cow has a", "choices": [" nest", " barn"], "answer": 1}
{"prompt": "the cow", "choices": [" has a", " is a", " nest"], "answer": 0}
{"prompt": "the hen has", "choices": [" the barn of the hens", " a nest"], "answer": 0}
`)
	out := called(t, "-model", dir, "-choices", questions, "-weights", "int8")
	right := "right 0.750 ± 0.217 by likelihood, 0.750 ± 0.217 per token, 0.750 ± 0.217 per byte\n"
	want := questions + ": 4 questions; chance is 0.458\n" + right + "with weights in int8: " + right
	if out != want {
		t.Errorf("got\n%s\nwant\n%s", out, want)
	}
	out = called(t, "-model", dir, "-choices", questions, "-block_size", "21")
	if want := "prompts cut at their beginning to a context of 21 tokens: 1\n"; !strings.HasSuffix(out, want) {
		t.Errorf("got\n%s\nwant at its end\n%s", out, want)
	}
}

// Tuning on preferences, by pairs and by scored answers, moves a trained model towards what is preferred, also where it
// is held out, and saves an adapter or a folder that the program opens.
func TestPreferences(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "hens")
	called(t, "-train", written(t, strings.Repeat("the hen has a nest\nthe hen has a barn\n", 60)), "-tokenizer",
		"train:260", "-out_dir", dir,
		"-n_layer", "1", "-n_head", "2", "-n_embd", "32", "-block_size", "24", "-batch_size", "8", "-max_iters", "150",
		"-learning_rate", "0.01")
	pairs, questions := "", ""
	for range 20 {
		pairs += `{"prompt": "the hen has a", "chosen": " nest", "rejected": " barn"}` + "\n"
		questions += `{"prompt": "the hen has a", "answer": " nest"}` + "\n"
	}
	small := []string{"-model", dir, "-max_iters", "8", "-learning_rate", "0.004"}
	for _, full := range []bool{false, true} {
		to := filepath.Join(t.TempDir(), "tuned")
		if full {
			small[len(small)-1] = "0.002"
		}
		out := called(t, append(small, "-dpo", written(t, pairs), "-out_dir", to, fmt.Sprintf("-full=%t", full))...)
		found := regexp.MustCompile(`^\S+ parameters, \S+ trained, on \S+: 18 pairs, and 2 held out
step 8, on the pairs held out:
loss 0.6931 before, (\S+) now: (\S+), 95 % from \S+ to \S+, p = \S+
the chosen answer is the likelier one: (\S+) before, 1.0000 now: .*
saved to \S+
$`).FindStringSubmatch(out)
		if found == nil || strings.Contains(out, "NaN") {
			t.Fatalf("full %t: got %q", full, out)
		}
		if loss, err := strconv.ParseFloat(found[1], 64); err != nil || !(loss < 0.5) {
			t.Errorf("full %t: got the loss %s", full, found[1])
		}
		after := []string{"-model", to}
		if !full {
			after = []string{"-model", dir, "-adapter", to}
		}
		if out := called(
			t, append(after, "-prompt", "the hen has a", "-tokens", "5", "-temperature", "0")...,
		); !strings.Contains(out, "nest") {
			t.Errorf("full %t: the tuned model writes %q", full, out)
		}
	}
	out := called(
		t,
		append(
			small, "-grpo", written(t, questions), "-out_dir", filepath.Join(t.TempDir(), "tuned"), "-length", "5",
			"-score", "contains",
		)...,
	)
	found := regexp.MustCompile(
		`: 18 prompts, and 2 held out\nstep 8, on the prompts held out:\nmean reward (\S+) before, (\S+) now`,
	).FindStringSubmatch(out)
	if found == nil || !(found[2] > found[1]) {
		t.Errorf("got %q", out)
	}
}

// With weights in fewer bits -eval prints both losses, which are close, and the memory; sampling works as well.
func TestWeights(t *testing.T) {
	dir, s := made(t), written(t, strings.Repeat("the hen has a nest\n", 20))
	for weights, apart := range map[string]float64{"bf16": 0.02, "int8": 0.05} {
		out := called(t, "-model", dir, "-eval", s, "-weights", weights)
		found := regexp.MustCompile(
			`loss (\S+) nats.*\nloss (\S+) nats.*, with weights in ` + weights + `: (\S+) MiB, not (\S+)\n`,
		).FindStringSubmatch(out)
		if found == nil {
			t.Fatalf("got %q", out)
		}
		var n [4]float64
		for i := range n {
			n[i], _ = strconv.ParseFloat(found[i+1], 64)
		}
		if !(math.Abs(n[0]-n[1]) <= apart) || n[0] == 0 || !(n[2] < 0.7*n[3]) {
			t.Errorf("got %q, want losses at most %g apart and less memory", out, apart)
		}
		if out := called(
			t, "-model", dir, "-prompt", "the hen", "-tokens", "5", "-weights", weights,
		); !strings.Contains(out, "tokens, ") {
			t.Errorf("got %q", out)
		}
	}
}

// lengthen writes the adapter in the folder from as one of DoRA, whose columns have the length 0.5.
func lengthen(t *testing.T, from, to string) {
	t.Helper()
	read := func(name string) []byte {
		data, err := os.ReadFile(filepath.Join(from, name))
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	list, _, err := safetensors.Read(read("adapter_model.safetensors"))
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range list {
		if name, ok := strings.CutSuffix(x.Name, ".lora_B.weight"); ok {
			lengths := slices.Repeat([]float32{0.5}, x.Shape[0])
			list = append(
				list, safetensors.Tensor{Name: name + ".lora_magnitude_vector", Shape: x.Shape[:1], F32: lengths},
			)
		}
	}
	var file bytes.Buffer
	config := bytes.Replace(read("adapter_config.json"), []byte("{"), []byte(`{"use_dora": true,`), 1)
	err = errors.Join(safetensors.Write(&file, list, nil), os.Mkdir(to, 0o700),
		os.WriteFile(filepath.Join(to, "adapter_model.safetensors"), file.Bytes(), 0o600),
		os.WriteFile(filepath.Join(to, "adapter_config.json"), config, 0o600))
	if err != nil {
		t.Fatal(err)
	}
}

// Tuning, merging and training save a folder or an adapter that the program accepts again.
func TestTuneAndTrain(t *testing.T) {
	model, dir := made(t), t.TempDir()
	text := written(t, strings.Repeat("the hen has a nest\n", 200))
	loss := func(args ...string) string {
		out := called(t, append(args, "-eval", text)...)
		return regexp.MustCompile(`loss (\S+)`).FindString(out)
	}
	steps := []string{"-max_iters", "3", "-batch_size", "2", "-gradient_accumulation_steps", "1"}
	out := called(
		t,
		append(
			steps, "-out_dir", dir+"/adapter", "-model", model, "-tune", text, "-lora_r", "2", "-learning_rate", "0.01",
		)...,
	)
	if !strings.Contains(out, "step 3: val loss") || !strings.Contains(out, "saved to") {
		t.Errorf("got %q", out)
	}
	called(t, "-out_dir", dir+"/merged", "-model", model, "-adapter", dir+"/adapter", "-merge")
	base, with := loss("-model", model), loss("-model", model, "-adapter", dir+"/adapter")
	inside := loss("-model", dir+"/merged")
	if with != inside || with == base {
		t.Errorf("losses: %s with the adapter, %s with it inside, %s without", with, inside, base)
	}
	lengthen(t, dir+"/adapter", dir+"/dora")
	called(t, "-out_dir", dir+"/lengthened", "-model", model, "-adapter", dir+"/dora", "-merge")
	dora, within := loss("-model", model, "-adapter", dir+"/dora"), loss("-model", dir+"/lengthened")
	if dora != within || dora == with || dora == base {
		t.Errorf(
			"losses: %s with DoRA, %s with it inside, %s without lengths, %s without adapter", dora, within, with, base,
		)
	}
	called(
		t,
		append(steps, "-out_dir", dir+"/full", "-model", model, "-tune", text, "-full", "-learning_rate", "0.001")...,
	)
	if got := loss("-model", dir+"/full"); got == base {
		t.Errorf("tuned as a whole: loss %s as before", got)
	}
	pairs := filepath.Join(t.TempDir(), "pairs.jsonl")
	if err := os.WriteFile(pairs, bytes.Repeat([]byte(`{"prompt": "the hen has", "completion": " a nest"}`+
		"\n"), 20), 0o644); err != nil {
		t.Fatal(err)
	}
	out = called(t, append(steps, "-out_dir", dir+"/answers", "-model", model, "-tune", pairs, "-block_size", "16")...)
	if !strings.Contains(out, "step 3: val loss") {
		t.Errorf("got %q", out)
	}
	called(
		t,
		append(
			steps, "-out_dir", dir+"/new", "-train", text, "-tokenizer", "train:270", "-n_embd", "16", "-n_layer", "1",
			"-block_size", "8",
		)...,
	)
	called(
		t,
		append(
			steps, "-out_dir", dir+"/newer", "-train", text, "-tokenizer", dir+"/new", "-n_embd", "16", "-n_layer", "1",
			"-block_size", "8",
		)...,
	)
	called(t, "-model", dir+"/newer", "-tokens", "3", "-prompt", "the")
}

// A model is written in every type that GGUF files are, with its adapter inside, and from a GGUF file to a folder.
// Files of exact types measure the same; others are within their rounding. What no file can hold is refused by its
// name.
func TestExport(t *testing.T) {
	model, dir := made(t), t.TempDir()
	text := written(t, strings.Repeat("the hen has a nest\n", 60))
	loss := func(args ...string) (x float64) {
		out := called(t, append(args, "-eval", text)...)
		x, _ = strconv.ParseFloat(regexp.MustCompile(`loss (\S+)`).FindStringSubmatch(out)[1], 64)
		return x
	}
	want := loss("-model", model)
	for dtype, tol := range map[string]float64{"F32": 1e-4, "F16": 1e-3, "BF16": 0.02, "Q8_0": 0.02, "Q4_0": 0.2} {
		path := filepath.Join(dir, dtype+".gguf")
		if out := called(
			t, "-model", model, "-export", path, "-dtype", dtype,
		); !strings.Contains(out, "with matrices of "+dtype) {
			t.Errorf("%s: got %q", dtype, out)
		}
		if got := loss("-model", path); !(math.Abs(got-want) <= tol) || got == 0 {
			t.Errorf("%s: got loss %v, want %v within %v", dtype, got, want, tol)
		}
	}
	called(t, "-model", dir+"/Q8_0.gguf", "-export", dir+"/again")
	if got, want := loss("-model", dir+"/again"), loss("-model", dir+"/Q8_0.gguf"); !(math.Abs(got-want) <= 0.01) {
		t.Errorf("a folder of Q8_0: got loss %v, want %v", got, want)
	}
	adapter := filepath.Join(dir, "adapter")
	called(t, "-model", model, "-tune", text, "-max_iters", "3", "-batch_size", "1", "-gradient_accumulation_steps",
		"1",
		"-block_size", "16", "-lora_r", "2", "-learning_rate", "0.01", "-out_dir", adapter)
	called(t, "-model", model, "-adapter", adapter, "-export", dir+"/tuned.gguf")
	got, tuned := loss("-model", dir+"/tuned.gguf"), loss("-model", model, "-adapter", adapter)
	if !(math.Abs(got-tuned) <= 1e-4) || got == want {
		t.Errorf("with an adapter inside: got loss %v, want %v, before %v", got, tuned, want)
	}
	trained := filepath.Join(dir, "trained")
	called(
		t, "-train", text, "-tokenizer", "train:260", "-max_iters", "1", "-n_embd", "32", "-n_layer", "1",
		"-block_size", "8", "-activation", "gelu_tanh", "-out_dir", trained,
	)
	called(t, "-model", trained, "-export", dir+"/trained.gguf", "-dtype", "Q4_0")
	exact := filepath.Join(dir, "exact")
	called(
		t, "-train", text, "-tokenizer", "train:260", "-max_iters", "1", "-n_embd", "32", "-n_layer", "1",
		"-block_size", "8", "-activation", "gelu", "-out_dir", exact,
	)
	for want, args := range map[string][]string{
		"-out_dir: got none, want a folder": {"-export", ""},
		"; ./examples/gpt2 export has it":   {"-dtype", "F16"},
		`dtype: got "Q6_K", want F32, F16, BF16, Q8_0 or Q4_0`: {"-model", model, "-export", dir +
			"/x.gguf", "-dtype", "Q6_K"},
		`dtype: got "Q8_0", want F32 or BF16`:  {"-model", model, "-export", dir + "/x", "-dtype", "Q8_0"},
		"there is something already":           {"-model", model, "-export", dir + "/F16.gguf"},
		"activation: got gelu, want gelu_tanh": {"-model", exact, "-export", dir + "/x.gguf"},
	} {
		err := run(t.Context(), args, io.Discard, io.Discard)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", args, err, want)
		}
	}
}

// What one task writes, every other task reads: adapters and folders tuned from a folder, from GGUF files whose
// matrices stay packed and from a run's folder, and what a merge and an export make of them. A merge says that it
// unpacks.
func TestEveryWriterHasReaders(t *testing.T) {
	folder, dir := made(t), t.TempDir()
	text := written(t, strings.Repeat("the hen has a nest\n", 60))
	jsonLines := func(line string) string { return written(t, strings.Repeat(line+"\n", 12)) }
	pairs := jsonLines(`{"prompt": "the hen", "chosen": " has a nest", "rejected": " has"}`)
	prompts := jsonLines(`{"prompt": "the hen", "answer": "a"}`)
	questions := jsonLines(`{"prompt": "the hen", "choices": [" has", " is"], "answer": 0}`)
	loss := func(args ...string) float64 {
		x, _ := strconv.ParseFloat(
			regexp.MustCompile(`loss (\S+)`).FindStringSubmatch(
				called(t, append(args, "-eval", text, "-block_size", "16")...),
			)[1],
			64,
		)
		return x
	}
	small := []string{
		"-max_iters", "2", "-batch_size", "2", "-gradient_accumulation_steps", "1", "-block_size", "16",
		"-learning_rate", "0.02",
	}
	models := []string{folder}
	dtypes, nightly := []string{"F16", "Q8_0"}, os.Getenv("NIGHTLY") != ""
	if nightly {
		dtypes = append(dtypes, "Q4_0")
	}
	for _, dtype := range dtypes {
		models = append(models, filepath.Join(dir, dtype+".gguf"))
		called(t, "-model", folder, "-export", models[len(models)-1], "-dtype", dtype)
	}
	for i, model := range models {
		writers := map[string][]string{"tune": {"-tune", text, "-lora_r", "2"}}
		if i == 0 || i == 2 && nightly { // of each of these, one folder and one packed file are enough
			writers["dpo"] = []string{"-dpo", pairs}
			writers["grpo"] = []string{"-grpo", prompts, "-group", "2", "-length", "3"}
			writers["full"] = []string{"-tune", text, "-full"}
		}
		for name, args := range writers {
			at := filepath.Join(dir, filepath.Base(model)+" "+name)
			called(t, slices.Concat([]string{"-model", model, "-out_dir", at}, args, small)...)
			reads := []string{"-model", model, "-adapter", at}
			if name == "full" {
				reads = []string{"-model", at}
			}
			with, tol := loss(reads...), 1e-3
			if base := loss("-model", model); name == "tune" && !(with < base) {
				t.Errorf("%s: got loss %v with the adapter, want less than %v", at, with, base)
			}
			called(t, append(reads, "-prompt", "the hen", "-tokens", "3")...)
			called(t, append(reads, "-choices", questions)...)
			copies := map[string][]string{
				"exported":           append(reads, "-export", at+" exported"),
				"exported Q8_0.gguf": append(reads, "-export", at+" exported Q8_0.gguf", "-dtype", "Q8_0"),
			}
			if name != "full" {
				copies["merged"] = append(reads, "-merge", "-out_dir", at+" merged")
			}
			if strings.HasPrefix(filepath.Base(model), "Q") {
				tol = 0.02 // beside packed matrices, what they multiply is rounded
			}
			for to, args := range copies {
				out := called(t, args...)
				if says := strings.Contains(out, "its packed matrices as float32"); to == "merged" &&
					says != strings.HasSuffix(model, ".gguf") {
					t.Errorf("%s: got %q", at, out)
				}
				if got := loss("-model", at+" "+to); !(math.Abs(got-with) <= max(
					tol, map[bool]float64{true: 0.02}[strings.HasSuffix(to, "gguf")],
				)) {
					t.Errorf("%s, %s: got loss %v, want %v", at, to, got, with)
				}
			}
			called(
				t,
				slices.Concat(
					[]string{"-model", at + " exported Q8_0.gguf", "-tune", text, "-out_dir", at + " again"}, small,
				)...,
			)
		}
	}
}

// A run of our own, even of a network that no family has, is tuned, merged and measured like a folder.
func TestTuneOwnRun(t *testing.T) {
	dir, s := t.TempDir(), strings.Repeat("the hen has a nest\n", 60)
	unlike := strings.Repeat("the mill has a hen\n", 60)
	tok, err := text.NewCharacters(s + unlike)
	if err != nil {
		t.Fatal(err)
	}
	c := small()
	c.Attention, c.NLayer, c.NHead, c.NEmbd, c.BlockSize, c.BatchSize = "linear", 1, 2, 8, 8, 2
	data, err := text.NewCorpus(s, tok, c.BlockSize)
	if err != nil {
		t.Fatal(err)
	}
	trainer, err := gpt.NewTrainer(c, data, tok)
	if err != nil {
		t.Fatal(err)
	}
	if err := trainer.Save(dir + "/out"); err != nil {
		t.Fatal(err)
	}
	other := written(t, unlike)
	called(
		t, "-model", dir+"/out", "-tune", other, "-out_dir", dir+"/adapter", "-max_iters", "3", "-lora_r", "2",
		"-learning_rate", "0.1",
	)
	called(t, "-model", dir+"/out", "-adapter", dir+"/adapter", "-merge", "-out_dir", dir+"/merged")
	called(
		t, "-model", dir+"/out", "-tune", other, "-full", "-out_dir", dir+"/full", "-max_iters", "3", "-learning_rate",
		"0.1",
	)
	var losses []string
	for _, args := range [][]string{{"-model", dir + "/out"}, {"-model", dir + "/out", "-adapter", dir +
		"/adapter"}, {"-model", dir + "/merged"}, {"-model", dir + "/full"}} {
		losses = append(losses, regexp.MustCompile(`loss (\S+)`).FindString(called(t, append(args, "-eval", other)...)))
	}
	if losses[0] == losses[1] || losses[1] != losses[2] || losses[0] == losses[3] {
		t.Errorf(
			"got losses %q of the run, with the adapter, with it inside, tuned as a whole; want the second twice",
			losses,
		)
	}
}

// ending is a context that ends after a number of checks. Building a model uses some of them.
type ending struct {
	context.Context
	looks int
}

func (c *ending) Err() error {
	if c.looks--; c.looks < 0 {
		return context.Canceled
	}
	return nil
}

// Ctrl-C during a training saves the current model.
func TestInterrupted(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new")
	args := []string{"-train", written(t, strings.Repeat("the hen has a nest\n", 200)), "-tokenizer", "train:270",
		"-n_embd", "16", "-n_layer", "1",
		"-block_size", "8", "-batch_size", "2", "-out_dir", dir}
	err := run(&ending{t.Context(), 1000}, args, io.Discard, io.Discard)
	if !errors.Is(err, context.Canceled) || !regexp.MustCompile("saved to "+dir+
		" as it was after step [1-9]").MatchString(err.Error()) {
		t.Fatalf("got %v", err)
	}
	called(t, "-model", dir, "-tokens", "3", "-prompt", "the")
}

// Impossible settings are reported before anything is read, created or trained.
func TestRefused(t *testing.T) {
	dir := t.TempDir()
	held := filepath.Join(dir, "held")
	if err := os.Mkdir(held, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(held, "config.json"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	none := filepath.Join(dir, "none")
	for want, args := range map[string][]string{
		"flag -tune: not of gpt2 eval; it is a command: ./examples/gpt2 tune": {"-eval", "a", "-tune", "b"},
		"-max_iters: not of gpt2 eval; ./examples/gpt2 train has it":          {"-eval", "a", "-max_iters", "1"},
		"-data: not of gpt2 write; ./examples/gpt2 eval has it":               {"-data", "a"},
		"-n_layer: not of gpt2 tune; ./examples/gpt2 train has it":            {"-tune", "a", "-n_layer", "2"},
		"-lora_r: not read with -full":                                        {"-tune", "a", "-full", "-lora_r", "2"},
		"-lora_r: not of gpt2 train; ./examples/gpt2 tune has it":             {"-train", "a", "-lora_r", "2"},
		"-min_lr: read with -decay_lr alone":                                  {"-tune", "a", "-min_lr", "0.1"},
		"-data: got none, want the file of gpt2 choices":                      {"-choices", ""},
		"-stride: not of gpt2 choices":                                        {"-choices", "a", "-stride", "1"},
		"-data: got none, want the file of gpt2 eval":                         {"-eval", ""},
		"-patience: not of gpt2 dpo":                                          {"-dpo", "a", "-patience", "1"},
		"-group: not of gpt2 dpo; ./examples/gpt2 grpo has it":                {"-dpo", "a", "-group", "2"},
		"-beta: not of gpt2 tune; ./examples/gpt2 dpo has it":                 {"-tune", "a", "-beta", "1"},
		`-score: got "bleu", want contains or equal`:                          {"-grpo", "a", "-score", "bleu"},
		"flag -grpo: not of gpt2 dpo; it is a command":                        {"-grpo", "a", "-dpo", "b"},
		"flag -merge: not of gpt2 write; it is a command":                     {"-merge=false"},
		"-adapter: got none to merge":                                         {"-merge"},
		"-stride: got -1":                                                     {"-eval", "a", "-stride", "-1"},
		`-weights: got "int3", want bf16, int8 or int4`:                       {"-eval", "a", "-weights", "int3"},
		"-prompt: empty, want":                                                {"-prompt", "", "-model", none},
		"temperature: got -1":                                                 {"-temperature", "-1"},
		"want a folder with a tokenizer": {
			"-train", written(t, "abc"), "-out_dir", none, "-tokenizer", dir,
		},
		`-tokenizer: got "many" tokens`: {
			"-train", written(t, "abc"), "-out_dir", none, "-tokenizer", "train:many",
		},
		"n_head: 3 heads do not divide n_embd 128": {"-train", written(t, "abc"), "-out_dir", held, "-n_head", "3"},
		"beta1: got 1, want a number, 0 ≤ x < 1":   {"-train", written(t, "abc"), "-out_dir", held, "-beta1", "1"},
		"holds config.json already":                {"-train", written(t, "abc"), "-out_dir", held},
		"none.txt":                                 {"-train", filepath.Join(dir, "none.txt"), "-out_dir", none},
	} {
		err := run(t.Context(), args, io.Discard, io.Discard)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", args, err, want)
		}
	}
	var help bytes.Buffer
	if err := run(t.Context(), []string{"-help"}, io.Discard, &help); err != flag.ErrHelp ||
		!strings.Contains(help.String(), "\n  dpo        tunes on pairs of answers\n") {
		t.Errorf("got %v and\n%s", err, help.String())
	}
	if list, err := os.ReadDir(dir); err != nil || len(list) != 1 {
		t.Errorf("left behind: %v, %v", list, err)
	}
}

// A training with -patience stops once the validation loss rises, and saves the weights of the lowest one; -ema saves
// the averages beside them, also of adapters.
func TestPatienceAndAverages(t *testing.T) {
	model, dir := made(t), t.TempDir()
	text := written(t, strings.Repeat("the hen has a nest\n", 200))
	loss := func(args ...string) string {
		out := called(t, append(args, "-eval", text)...)
		return regexp.MustCompile(`loss (\S+)`).FindString(out)
	}
	steps := []string{"-tune", text, "-model", model, "-batch_size", "2", "-gradient_accumulation_steps", "1",
		"-block_size", "16",
		"-learning_rate", "0.5", "-eval_interval", "2", "-eval_iters", "3", "-seed", "5"}
	for _, how := range [][]string{{"-lora_r", "2"}, {"-full"}} {
		at := filepath.Join(dir, how[0])
		out := called(
			t,
			slices.Concat(steps, how, []string{"-max_iters", "40", "-patience", "2", "-ema", "0.5", "-out_dir", at})...,
		)
		best, lowest := "", math.Inf(1)
		for _, found := range regexp.MustCompile(
			`step (\d+): train loss \S+ val loss (\S+),.* bits per byte, by 3 batches; val loss of the averaged `+
				`weights \d`,
		).
			FindAllStringSubmatch(out, -1) {
			if val, _ := strconv.ParseFloat(found[2], 64); val < lowest {
				best, lowest = found[1], val
			}
		}
		if !strings.Contains(out, "(-patience)") || strings.Contains(out, "step 40:") ||
			!strings.Contains(out, "\nstep "+best+": val loss ") {
			t.Fatalf("%s: want a stop before step 40 and the weights of step %s in\n%s", how[0], best, out)
		}
		// The saved weights are the weights of a run that ends at that step.
		called(t, slices.Concat(steps, how, []string{"-max_iters", best, "-out_dir", at + best})...)
		from := func(dir string) []string {
			if how[0] == "-full" {
				return []string{"-model", dir}
			}
			return []string{"-model", model, "-adapter", dir}
		}
		kept, want, averaged := loss(from(at)...), loss(from(at+best)...), loss(from(filepath.Join(at, averagedDir))...)
		if kept != want || averaged == kept {
			t.Errorf("%s: got the %s, want the %s of step %s; of the averages %s", how[0], kept, want, best, averaged)
		}
	}
}
