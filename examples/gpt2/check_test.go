package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/examples/internal/corpus"
	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/checkpoint"
	"github.com/pedestrian-ml/pedestrian/gpt/published"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/verify/known"
)

// made returns a folder with random weights, in a cache of the test.
func made(t *testing.T) string {
	t.Helper()
	cache := t.TempDir()
	for _, name := range []string{"XDG_CACHE_HOME", "HOME", "LocalAppData"} { // by system
		t.Setenv(name, cache)
	}
	dir, err := random(t.TempDir(), io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// speech returns a text in sections.
func speech() string {
	s, _ := corpus.Standin(7, 9000)
	return s
}

func sum(s string) string {
	h := sha256.Sum256([]byte(s))
	return hex.EncodeToString(h[:])
}

// counted returns a list of ids in its published form.
func counted(ids []int) known.Tokenized {
	var b bytes.Buffer
	for _, id := range ids {
		binary.Write(&b, binary.LittleEndian, uint16(id))
	}
	return known.Tokenized{Tokens: len(ids), SHA256: sum(b.String())}
}

// answers returns the results of a folder with random weights, each computed in another way than by check: in float64,
// by stock operations, without a cache, token by token.
func answers(t *testing.T, dir, s string) known.Model {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	cp, err := checkpoint.Load(dir)
	must(err)
	defer cp.Close()
	g := graph.New(graph.Float64, 1)
	g.Kernels = false
	files, err := published.SourceOf(cp)
	must(err)
	m, err := files.Model(g)
	must(err)
	tok, err := published.LoadTokenizer(cp)
	must(err)
	var file struct {
		Model struct{ Vocab map[string]int }
	}
	data, err := os.ReadFile(filepath.Join(dir, "tokenizer.json"))
	must(err)
	must(json.Unmarshal(data, &file))
	vocab := file.Model.Vocab
	const rows, width = 2, 32
	c := m.Config
	d, n := int64(c.NEmbd), int64(c.NLayer)
	k := known.Model{Name: "random", Layers: c.NLayer, Heads: c.NHead, Embedding: c.NEmbd, Vocab: c.VocabSize}
	k.Parameters = int64(c.VocabSize)*d + int64(c.BlockSize)*d + n*(12*d*d+13*d) + 2*d
	for _, name := range []string{"config.json", "model.safetensors", "tokenizer.json"} {
		data, err := os.ReadFile(filepath.Join(dir, name))
		must(err)
		k.Files = append(k.Files, known.File{Name: name, Bytes: int64(len(data)), SHA256: sum(string(data))})
	}
	encode := func(s string) []int {
		ids, err := tok.Encode(s)
		must(err)
		return ids
	}
	k.Tokens = &known.Tokens{
		IDs:     []known.Encoded{{Text: " the", IDs: []int{vocab["Ġthe"]}}, {Text: "\n", IDs: []int{vocab["Ċ"]}}},
		Special: []known.Encoded{{Text: "\n<|endoftext|>", IDs: []int{vocab["Ċ"], vocab["<|endoftext|>"]}}},
		Text:    sum(s), Train: counted(encode(s[:len(s)*9/10])), Val: counted(encode(s[len(s)*9/10:])),
		All: counted(encode(s)),
	}
	k.Greedy = []known.Continuation{{IDs: []int{vocab["Ċ"]}, More: likeliest(t, m, []int{vocab["Ċ"]}, 5)}}
	more, err := tok.Decode(likeliest(t, m, encode("The wheel"), 4))
	must(err)
	k.Greedy = append(k.Greedy, known.Continuation{Prompt: "The wheel", Text: more})

	var ids []int
	parts := strings.Split(s, "\n\n")
	for i, part := range parts {
		if i < len(parts)-1 {
			part += "\n\n"
		}
		ids = append(append(ids, vocab["<|endoftext|>"]), encode(part)...)
	}
	k.Batch = &known.Batch{
		Text: sum(s), First: 300, Rows: rows, Width: width, Val: counted(ids[:300]), Train: counted(ids[300:]),
	}
	short, _, err := openAt(dir, width)
	must(err)
	onBatch(t, k.Batch, m, short.Config, ids)
	return k
}

// likeliest returns n tokens, each the likeliest after all tokens before it.
func likeliest(t *testing.T, m *gpt.Model, ids []int, n int) (more []int) {
	t.Helper()
	p, err := graph.Compile(m.Logits)
	if err != nil {
		t.Fatal(err)
	}
	for range n {
		copy(m.Tokens.Ints(), ids)
		if err := p.Run(); err != nil {
			t.Fatal(err)
		}
		best, row := 0, p.Value().Row(len(ids)-1)
		for i := range row.Len() {
			if row.At(i) > row.At(best) {
				best = i
			}
		}
		ids, more = append(ids, best), append(more, best)
	}
	return more
}

// onBatch fills in the results on the batch, with AdamW written out.
func onBatch(t *testing.T, k *known.Batch, from *gpt.Model, c gpt.Config, ids []int) {
	t.Helper()
	g := graph.New(graph.Float64, 1)
	g.Kernels = false
	m, err := gpt.New(g, c, k.Rows)
	if err != nil {
		t.Fatal(err)
	}
	g.SetTraining(false)
	for _, p := range m.Params() {
		x, _ := from.Graph.Leaf(p.Name())
		for i := range p.Tensor().Len() { // of positions the first
			p.Tensor().Set(i, x.Tensor().At(i))
		}
	}
	copy(m.Tokens.Ints(), ids)
	copy(m.Targets.Ints(), ids[1:])
	logits, err := graph.Compile(m.Logits)
	if err != nil {
		t.Fatal(err)
	}
	if err := logits.Run(); err != nil {
		t.Fatal(err)
	}
	k.Logits = append(k.Logits, logits.Value().Floats()[:3]...)
	p, err := graph.Compile(m.Loss, m.Params()...)
	if err != nil {
		t.Fatal(err)
	}
	mean, square := map[string][]float64{}, map[string][]float64{}
	for step := 1; step <= 4; step++ {
		if err := p.Run(); err != nil {
			t.Fatal(err)
		}
		k.Losses = append(k.Losses, p.Loss())
		for _, x := range m.Params() {
			w, dw, name := x.Tensor(), p.Grad(x), x.Name()
			if step == 1 {
				mean[name], square[name] = make([]float64, w.Len()), make([]float64, w.Len())
				if name == "wte.weight" || name == "h.1.ln_2.bias" {
					k.Gradients = append(k.Gradients, known.Gradient{Parameter: name, Values: dw.Floats()[:4]})
				}
			}
			for i := range w.Len() {
				a, b, d := &mean[name][i], &square[name][i], dw.At(i)
				*a, *b = 0.9**a+0.1*d, 0.999**b+0.001*d*d
				s := float64(step)
				update := *a / (1 - math.Pow(0.9, s)) / (math.Sqrt(*b/(1-math.Pow(0.999, s))) + 1e-8)
				w.Set(i, w.At(i)-1e-4*(update+0.01*w.At(i)))
			}
		}
	}
	k.Loss = k.Losses[0]
}

// Every known result of a folder is computed and compared: with the right ones all lines pass, and each wrong one
// makes exactly its own line fail.
func TestCheck(t *testing.T) {
	dir, s := made(t), speech()
	data := filepath.Join(t.TempDir(), "speech.txt")
	if err := os.WriteFile(data, []byte(s), 0o644); err != nil {
		t.Fatal(err)
	}
	asked := func(k known.Model) (out string, failed []string, err error) {
		var b bytes.Buffer
		err = check(t.Context(), options{model: dir, data: data}, []known.Model{k}, &b, &bytes.Buffer{})
		for line := range strings.Lines(b.String()) {
			if what, ok := strings.CutPrefix(line, "FAILED  "); ok {
				failed = append(failed, what)
			}
		}
		return b.String(), failed, err
	}
	k := answers(t, dir, s)
	out, failed, err := asked(k)
	if err != nil || len(failed) > 0 || !strings.Contains(out, "this is random\n") {
		t.Fatalf("%v:\n%s", err, out)
	}
	if got, want := strings.Count(out, "passed  "), 3+2+1+3+3+1+2+1+1+2+3+1+8+4; got != want {
		t.Errorf("got %d lines, want %d:\n%s", got, want, out)
	}
	// The tolerance for the steps is smaller than llm.c's.
	for _, m := range regexp.MustCompile(`loss before step \d: got (\S+), want (\S+)`).FindAllStringSubmatch(out, -1) {
		var got, want float64
		if _, err := fmt.Sscan(m[1], &got); err != nil {
			t.Fatal(err)
		}
		if _, err := fmt.Sscan(m[2], &want); err != nil || !(math.Abs(got-want) <= 2e-5) {
			t.Errorf("%s", m[0])
		}
	}
	k.Parameters++
	k.Files[0].Bytes++
	k.Tokens.IDs[0].IDs[0]++
	k.Tokens.Special[0].IDs[1]--
	k.Tokens.Train.Tokens++
	k.Tokens.Val.SHA256 = sum("")
	k.Tokens.All.Tokens = 0
	k.Greedy[0].More[4]++
	k.Greedy[1].Text = "#" + k.Greedy[1].Text[1:]
	k.Batch.Val.Tokens--
	k.Batch.Train.SHA256 = sum("")
	k.Batch.Logits[2] += 0.02
	k.Batch.Loss += 0.002
	k.Batch.Gradients[1].Values[3] += 4e-5
	k.Batch.Losses[3] = math.NaN()
	wrong := []string{"config.json: ", "parameters: ", `ids of " the": `, `ids of "\n<|endoftext|>": `, "train: ",
		"val: ", "train and val in one: ",
		`going on with ""[`, `going on with "The wheel"[]: `, "llm.c's val.bin: ", "llm.c's train.bin: ",
		"logit 2 of the first token: ", "loss: ",
		"∂L/∂ h.1.ln_2.bias [3]: ", "loss before step 4: "}
	if out, failed, err = asked(k); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("%d of ", len(wrong))) ||
		len(failed) != len(wrong) {
		t.Fatalf("got %v, want %d failures:\n%s", err, len(wrong), out)
	}
	for i, want := range wrong {
		if !strings.HasPrefix(failed[i], want) {
			t.Errorf("got %q, want %q", failed[i], want)
		}
	}
}

// For an unknown model and another text the program prints that, and runs the checks that it can.
func TestCheckUnknown(t *testing.T) {
	dir := made(t)
	data := filepath.Join(t.TempDir(), "speech.txt")
	if err := os.WriteFile(data, []byte(speech()), 0o644); err != nil {
		t.Fatal(err)
	}
	var out, said bytes.Buffer
	if err := run(t.Context(), []string{"-check", "-data", data}, &out, &said); err != nil {
		t.Fatalf("%v:\n%s", err, out.String())
	}
	if got := out.String(); !strings.Contains(got, "no published results") || !strings.Contains(got, "5 of 5 passed") ||
		!strings.Contains(said.String(), "random weights") {
		t.Errorf("got\n%s%s", said.String(), got)
	}
	k := known.Model{
		Layers: 2, Heads: 4, Embedding: 64, Vocab: 512, Files: []known.File{{Name: "none"}},
		Tokens: known.Models()[0].Tokens, Batch: known.Models()[0].Batch,
	}
	k.Tokens.IDs, k.Tokens.Special = nil, nil
	out.Reset()
	if err := check(t.Context(), options{model: dir, data: data}, []known.Model{k}, &out, &said); err != nil {
		t.Fatalf("%v:\n%s", err, out.String())
	}
	for _, want := range []string{
		"none: not checked", "tokens of tinyshakespeare: not checked", "batch of tinyshakespeare: not checked",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("got\n%s\nwant %s", out.String(), want)
		}
	}
}

// The published results are complete: hashes have 64 digits, and lists have the lengths of llm.c's.
func TestPublished(t *testing.T) {
	names := map[string]bool{}
	for _, k := range known.Models() {
		names[k.Name] = true
		hashes := []string{}
		for _, f := range k.Files {
			hashes = append(hashes, f.SHA256)
		}
		if k.Tokens != nil {
			hashes = append(hashes, k.Tokens.Text, k.Tokens.Train.SHA256, k.Tokens.Val.SHA256, k.Tokens.All.SHA256)
		}
		for _, h := range hashes {
			if len(h) != 64 {
				t.Errorf("%s: a hash of %d digits: %s", k.Name, len(h), h)
			}
		}
	}
	b := known.Models()[0].Batch
	if len(b.Logits) != 10 || len(b.Losses) != 10 || len(b.Gradients) != 5 ||
		len(b.Val.SHA256)+len(b.Train.SHA256) != 128 || len(names) != 7 {
		t.Errorf(
			"got %d logits, %d losses, %d gradients, %d models", len(b.Logits), len(b.Losses), len(b.Gradients),
			len(names),
		)
	}
	smallest := gpt.GPT2()
	smallest.Head = "tied"
	for name, c := range map[string]gpt.Config{
		"gpt2": smallest, "distilgpt2": gpt.DistilGPT2(), "SmolLM2-135M": gpt.SmolLM2_135M(),
		"stories15M": gpt.Stories15M(),
	} {
		k := recognise(known.Models(), c)
		if n, _ := c.Count(); k == nil || k.Name != name || n != k.Parameters {
			t.Errorf("%s of %d parameters is taken for %v", name, n, k)
		}
	}
}

// The sections equal llm.c's own files of tinyshakespeare, if the text and the vocabulary are available.
func TestGPT2Sections(t *testing.T) {
	dir, path := os.Getenv("PEDESTRIAN_GPT2"), os.Getenv("PEDESTRIAN_TEXT")
	if dir == "" || path == "" {
		t.Skip(
			"GPT-2's vocabulary and tinyshakespeare are not part of this repository: PEDESTRIAN_GPT2 names a folder " +
				"with the one, PEDESTRIAN_TEXT the other",
		)
	}
	tok, err := tokenizer(dir, "")
	if err != nil {
		t.Fatal(err)
	}
	s, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	ids, err := sections(tok, string(s))
	if err != nil {
		t.Fatal(err)
	}
	k := known.Models()[0].Batch
	if val, train := counted(ids[:k.First]), counted(ids[k.First:]); val != k.Val || train != k.Train {
		t.Errorf("got %v and %v, want %v and %v", val, train, k.Val, k.Train)
	}
}
