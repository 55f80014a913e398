package gpt

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/pedestrian-ml/pedestrian/gpt/safetensors"
	"github.com/pedestrian-ml/pedestrian/graph"
)

// torch is an interpreter that has PyTorch; without one the test is skipped.
func torch(t *testing.T) string {
	t.Helper()
	const look = "import importlib.util, sys; sys.exit(importlib.util.find_spec('torch') is None)"
	for _, name := range []string{"python3", "/usr/bin/python3"} {
		if exec.Command(name, "-c", look).Run() == nil {
			return name
		}
	}
	t.Skip("PyTorch, which is to agree, is not installed: apt-get install python3-torch")
	return ""
}

// PyTorch, told nothing of this library, reads the folders that it publishes, of every family, and computes the same
// logits and the same gradient of every tensor.
func TestPyTorchAgrees(t *testing.T) {
	if testing.Short() {
		t.Skip("PyTorch takes seconds to start")
	}
	python, root := torch(t), t.TempDir()
	models, script := map[string]*Model{}, []string{"testdata/torch_reference.py"}
	for name, change := range map[string]func(*Config){
		"gpt2":        func(c *Config) { c.Head, c.Activation = "tied", "gelu_tanh" },
		"gpt2, erf":   func(c *Config) { c.Head, c.Activation, c.NInner, c.NLayer = "tied", "gelu", 31, 1 },
		"gpt2, plain": func(c *Config) { c.Head = "tied" },
	} {
		var c Config
		c.BlockSize, c.VocabSize, c.NLayer, c.NHead, c.NEmbd, c.Bias = 7, 23, 3, 4, 24, true
		change(&c)
		m, err := New(graph.New(graph.Float32, 3), c, 2)
		if err != nil {
			t.Fatal(err)
		}
		scramble(m.Params(), 4)
		for i := range m.Tokens.Ints() {
			m.Tokens.Ints()[i], m.Targets.Ints()[i] = (i*i+5)%23, (i*7+i*i*i)%23
		}
		dir := filepath.Join(root, name)
		publish(t, m, dir)
		tokens, targets := slices.Collect(slices.Chunk(m.Tokens.Ints(), 7)), slices.Collect(slices.Chunk(m.Targets.Ints(), 7))
		asked, err := json.Marshal(map[string][][]int{"tokens": tokens, "targets": targets})
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "asked.json"), asked, 0o644); err != nil {
			t.Fatal(err)
		}
		models[name], script = m, append(script, dir)
	}
	if out, err := exec.Command(python, script...).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for name, m := range models {
		dir := filepath.Join(root, name)
		want := readTensors(t, filepath.Join(dir, "torch.safetensors"))
		compareWithTorch(t, name, m, want)
	}
}

// compareWithTorch holds logits and loss of m against those of PyTorch, and its gradients, published as weights are.
func compareWithTorch(t *testing.T, name string, m *Model, want map[string][]float64) {
	t.Helper()
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
	if d := relative(logits, want["logits"], 0); !(d <= 2e-5) {
		t.Errorf("%s: the logits are %.1e off PyTorch's, want at most 2e-5", name, d)
	}
	if d := relative([]float64{p.Loss()}, want["loss"], 0); !(d <= 2e-5) {
		t.Errorf("%s: the loss is %v, PyTorch's %v", name, p.Loss(), want["loss"])
	}
	other, err := New(graph.New(graph.Float32, 3), m.Config, 2)
	if err != nil {
		t.Fatal(err)
	}
	whole := 0.0
	for i, x := range m.Params() {
		whole = max(whole, largest(p.Grad(x).Floats()))
		if err := other.Params()[i].Tensor().Copy(p.Grad(x)); err != nil {
			t.Fatal(err)
		}
	}
	dir := filepath.Join(t.TempDir(), "gradients")
	publish(t, other, dir)
	got := readTensors(t, filepath.Join(dir, "model.safetensors"))
	if len(want) != len(got)+2 { // logits and loss
		t.Errorf("%s: %d tensors, PyTorch has %d gradients", name, len(got), len(want)-2)
	}
	for tensor, g := range got {
		if d := relative(g, want[tensor], whole); !(d <= 1e-4) {
			t.Errorf("%s: the gradient of %s is %.1e off PyTorch's, want at most 1e-4", name, tensor, d)
		}
	}
}

// publish writes m into a new folder in Hugging Face's form.
func publish(t *testing.T, m *Model, dir string) {
	t.Helper()
	var weights bytes.Buffer
	config, err := m.Config.HuggingFace()
	if err != nil {
		t.Fatal(err)
	}
	if err := m.WriteWeights(&weights); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{"config.json": config, "model.safetensors": weights.Bytes()} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
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
