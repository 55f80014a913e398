package published_test

import (
	"bytes"
	"path/filepath"
	"slices"
	"testing"

	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/checkpoint"
	"github.com/pedestrian-ml/pedestrian/gpt/internal/gpttest"
	"github.com/pedestrian-ml/pedestrian/gpt/peft"
	"github.com/pedestrian-ml/pedestrian/gpt/published"
	"github.com/pedestrian-ml/pedestrian/gpt/safetensors"
	"github.com/pedestrian-ml/pedestrian/graph"
)

// loadModel builds the model of a checkpoint.
func loadModel(g *graph.Graph, cp *checkpoint.Checkpoint) (*gpt.Model, error) {
	s, err := published.SourceOf(cp)
	if err != nil {
		return nil, err
	}
	return s.Model(g)
}

// sourceOf returns the source of a checkpoint.
func sourceOf(t testing.TB, cp *checkpoint.Checkpoint) gpt.Source {
	t.Helper()
	s, err := published.SourceOf(cp)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// adapterOf returns the adapter of a model, saved in a folder and read again.
func adapterOf(t testing.TB, m *gpt.Model) *peft.Adapter {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "adapter")
	if err := peft.Save(dir, m, "base"); err != nil {
		t.Fatal(err)
	}
	a, err := peft.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func sameWeights(t *testing.T, got, want *gpt.Model) {
	t.Helper()
	g, w := got.Params(), want.Params()
	if len(g) != len(w) {
		t.Fatalf("%d parameters, want %d", len(g), len(w))
	}
	for i := range w {
		if g[i].Name() != w[i].Name() || !slices.Equal(g[i].Tensor().Floats(), w[i].Tensor().Floats()) {
			t.Errorf("%s is not %s", g[i].Name(), w[i].Name())
		}
	}
}

// encoded returns tensors as the bytes of a file.
func encoded(t *testing.T, list []safetensors.Tensor) []byte {
	t.Helper()
	return gpttest.Written(t, func(w *bytes.Buffer) error { return safetensors.Write(w, list, nil) })
}

// decoded returns the tensors that a model writes.
func decoded(t *testing.T, m *gpt.Model) []safetensors.Tensor {
	t.Helper()
	list, _, err := safetensors.Read(gpttest.Written(t, func(w *bytes.Buffer) error { return m.WriteWeights(w) }))
	if err != nil {
		t.Fatal(err)
	}
	return list
}
