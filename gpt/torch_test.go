package gpt

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/pedestrian-ml/pedestrian/gpt/checkpoint"
	"github.com/pedestrian-ml/pedestrian/gpt/safetensors"
	"github.com/pedestrian-ml/pedestrian/graph"
)

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
	if testing.Short() {
		t.Skip("PyTorch takes seconds to start")
	}
	python := torch(t)
	written, opened, script := map[string]*Model{}, map[string]*Model{}, []string{"testdata/torch_reference.py"} // by folder
	for name, c := range exportable() {
		for _, dtype := range []string{safetensors.F32, safetensors.BF16} {
			own, err := New(emptyGraph(), c, 1)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			scramble(own.Params(), 4)
			dir := exported(t, own, nil, dtype)
			cp, err := checkpoint.Load(dir)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			m, err := LoadModel(emptyGraph(), cp)
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

// compareWithTorch compares logits and loss of m with those of PyTorch, and its gradients, which own writes like the
// weights.
func compareWithTorch(t *testing.T, m, own *Model, want map[string][]float64) {
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
	if d := relative(logits, want["logits"], 0); !(d <= 2e-5) {
		t.Errorf("%s: the logits are %.1e off PyTorch's, want at most 2e-5", name, d)
	}
	if d := relative([]float64{p.Loss()}, want["loss"], 0); !(d <= 2e-5) {
		t.Errorf("%s: the loss is %v, PyTorch's %v", name, p.Loss(), want["loss"])
	}
	top, grads := 0.0, map[string]graph.Tensor{}
	for _, x := range m.Params() {
		grads[x.Name()] = p.Grad(x)
		top = max(top, largest(p.Grad(x).Floats()))
	}
	for _, x := range own.Params() {
		if err := x.Tensor().Copy(grads[x.Name()]); err != nil {
			t.Fatalf("%s: %s: %v", name, x.Name(), err)
		}
		delete(grads, x.Name())
	}
	got := readTensors(t, filepath.Join(exported(t, own, nil, safetensors.F32), "model.safetensors"))
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
		d := relative(g, want[tensor], top)
		if worst = max(worst, d); !(d <= 1e-4) {
			t.Errorf("%s: the gradient of %s is %.1e off PyTorch's, want at most 1e-4", name, tensor, d)
		}
	}
	t.Logf("%s: logits %.1e, gradients %.1e", name, relative(logits, want["logits"], 0), worst)
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
