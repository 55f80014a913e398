package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/parts"
)

// interrupted is a context that ends after a number of checks, which is a number of steps.
type interrupted struct {
	context.Context
	left int
	end  func()
}

func (c *interrupted) Err() error {
	if c.left--; c.left == 0 {
		c.end()
	}
	return c.Context.Err()
}

// Ctrl-C during the training of the adapters saves them.
func TestInterruptedTuningIsKept(t *testing.T) {
	dir := t.TempDir()
	c := recipe()
	o, err := parse(&c, small(t, dir, "-max_iters", "100000000"), io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	b, err := begin(t.Context(), c, o, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	tuned, err := b.fineTune(t.Context(), c, o, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	reason := errors.New("interrupt")
	ctx, cancel := context.WithCancelCause(t.Context())
	if err := tuned.keep(ctx, reason); err != reason {
		t.Errorf("no signal: got error %v", err)
	}
	third := &interrupted{ctx, 3, func() { cancel(reason) }}
	err = tuned.keep(third, tuned.train(third, io.Discard, io.Discard))
	if !errors.Is(err, reason) || !strings.Contains(err.Error(), "saved the adapters of step 2") || tuned.Done != 2 {
		t.Fatalf("step %d: got error %v", tuned.Done, err)
	}
	var want bytes.Buffer
	if err := tuned.Model.WriteAdapters(&want); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(filepath.Join(dir, "adapter.safetensors")); err != nil || !bytes.Equal(got, want.Bytes()) {
		t.Errorf("adapter.safetensors: %v, %d bytes, want %d of the adapters", err, len(got), want.Len())
	}
}

// A result is not replaced; without it the base of an earlier run is tuned again, unchanged.
func TestUsedDirectory(t *testing.T) {
	dir := t.TempDir()
	args := small(t, dir)
	if err := run(t.Context(), args, io.Discard, io.Discard); err != nil {
		t.Fatal(err)
	}
	refused(t, args, "out_dir", dir, "adapter.safetensors", "another -out_dir")
	if err := os.Remove(filepath.Join(dir, "adapter.safetensors")); err != nil {
		t.Fatal(err)
	}
	refused(t, args, "out_dir", dir, "merged", "another -out_dir")
	if err := os.RemoveAll(filepath.Join(dir, "merged")); err != nil {
		t.Fatal(err)
	}
	manifest := filepath.Join(dir, "base", "step-00000003", "manifest.json")
	before, err := os.Stat(manifest)
	if err != nil {
		t.Fatal(err)
	}
	var said bytes.Buffer
	if err := run(t.Context(), args, io.Discard, &said); err != nil {
		t.Fatal(err)
	}
	after, err := os.Stat(manifest)
	if err != nil || !os.SameFile(before, after) || !strings.Contains(said.String(), "from an earlier run") {
		t.Errorf("%v; printed %q, want the earlier base", err, said.String())
	}
}

// Only the network of the base's Config is used.
func TestTuningIsTheRecipe(t *testing.T) {
	var network gpt.Config
	network.Stack = parts.Stack{
		NLayer: 4, NHead: 5, NEmbd: 6, Dropout: 0.7, Bias: true, Position: "a", Attention: "b", Norm: "c", Block: "d", Activation: "e",
		MLP: "g", QKSize: 15, VSize: 16, NInner: 17, Eps: 0.18, RopeTheta: 19,
	}
	network.BlockSize, network.VocabSize, network.Head = 2, 3, "f"
	for i, name := range []string{"window", "dilation", "global_tokens", "random_keys", "latent_size", "q_latent_size", "rope_size"} {
		network.Options.Set(name, 8+i)
	}
	trained := network
	trained.Optimizer, trained.LoraScale, trained.LoraTargets, trained.MaxIters, trained.Recompute = "sgd", "alpha", []string{"c_fc"}, 7, true
	got := beginning{config: trained}.tuning()
	r := recipe()
	if got.Optimizer != r.Optimizer || got.LoraScale != r.LoraScale || got.LoraTargets != nil || got.MaxIters != r.MaxIters || got.Recompute {
		t.Errorf("got %+v, want the training of the recipe", got)
	}
	network.Adapters = r.Adapters
	if !reflect.DeepEqual(got.Network, network.Network) {
		t.Errorf("got %+v, want the network's %+v with the recipe's adapters", got.Network, network.Network)
	}
}
