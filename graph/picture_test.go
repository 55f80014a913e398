package graph_test

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/nn"
)

var update = flag.Bool("update", false, "write testdata again")

// golden compares with a file in testdata.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), string(got)); d != "" {
		t.Errorf("%s differs (-want +got); -update writes it again\n%s", name, d)
	}
}

// transformer returns a differentiated model of one block, so that there is a backward pass to omit.
func transformer(t *testing.T, kernels, tied bool, dropout float64) *graph.Graph {
	t.Helper()
	g := graph.New(graph.Float64, 1)
	g.Kernels = kernels
	d := nn.Dims{Batch: 2, Context: 3, Embd: 4, Heads: 2, QK: 2, V: 3, Inner: 10, Blocks: 1}
	const vocabulary = 7
	root := g.Root()
	at := nn.Site{
		Scope:     root,
		Dims:      d,
		Style:     nn.Style{Affine: nn.NewLinear, Bias: true, Eps: 1e-5, Dropout: dropout},
		Attending: nn.Attending{Mask: nn.NewMask(root, d, nn.Causal{})},
		Sublayers: nn.Sublayers{Act: nn.GELU{}},
	}
	n := d.Batch * d.Context
	tokens := root.Ints("tokens", n, vocabulary, -1)
	targets := root.Ints("targets", n, vocabulary, -1)
	positions := root.Ints("positions", n, d.Context, -1)
	wte := nn.NewEmbedding(root.Sub("wte"), vocabulary, d.Embd)
	x := wte.Forward(tokens).In(root).Add(nn.NewEmbedding(root.Sub("wpe"), d.Context, d.Embd).Forward(positions))
	x = nn.NewBlock(at.At("h.0"), func(at nn.Site) nn.Layer { return nn.NewSelfAttention(at) }).Forward(x)
	x = nn.NewLayerNorm(at.At("ln_f")).Forward(x)
	var head nn.Layer
	if tied {
		head = nn.NewTied(root.Sub("lm_head"), wte)
	} else {
		head = nn.NewLinear(root.Sub("lm_head"), d.Embd, []int{vocabulary}, true, graph.Normal(0.02))
	}
	loss := nn.NewCrossEntropy(root.Sub("loss")).Forward(head.Forward(x), targets)
	if _, err := graph.Compile(loss, g.Params()...); err != nil {
		t.Fatal(err)
	}
	return g
}

func TestDot(t *testing.T) {
	for _, c := range []struct {
		file, scope string
		kernels     bool
	}{
		{"block_kernels.dot", "h.0", true},
		{"layernorm_spelled.dot", "h.0.ln_1", false},
		{"block_spelled.dot", "h.0", false},
		{"model_kernels.dot", "", true},
	} {
		t.Run(c.file, func(t *testing.T) {
			var first, again bytes.Buffer
			for _, b := range []*bytes.Buffer{&first, &again} {
				if err := transformer(t, c.kernels, false, 0).Dot(b, c.scope); err != nil {
					t.Fatal(err)
				}
			}
			if first.String() != again.String() {
				t.Error("the same model drawn twice gives different bytes")
			}
			golden(t, c.file, first.Bytes())
		})
	}
}

// TestDotLeavesTheBackwardPassOut draws a model before and after differentiation.
func TestDotLeavesTheBackwardPassOut(t *testing.T) {
	g := graph.New(graph.Float64, 1)
	w := g.Root().Sub("layer").Param("weight", graph.Normal(1), 3, 4)
	loss := w.Mean().Exp().Mul(w.Sum()).SumAll()
	var before, after bytes.Buffer
	if err := g.Dot(&before, ""); err != nil {
		t.Fatal(err)
	}
	if _, err := graph.Compile(loss, w); err != nil {
		t.Fatal(err)
	}
	if err := g.Dot(&after, ""); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(before.String(), after.String()); d != "" {
		t.Errorf("differentiation changes the picture:\n%s", d)
	}
	if !strings.Contains(before.String(), `label="exp\n(3, 1)"`) {
		t.Errorf("no exponential in the picture:\n%s", &before)
	}
}

// TestDotOfAnyScope draws every prefix of a path, including one that is not a layer.
func TestDotOfAnyScope(t *testing.T) {
	g := transformer(t, false, true, 0)
	for _, scope := range []string{"h", "h.0", "h.0.attn", "h.0.attn.c_attn", "loss"} {
		var b bytes.Buffer
		if err := g.Dot(&b, scope); err != nil {
			t.Fatal(err)
		}
		if open, shut := strings.Count(b.String(), "{"), strings.Count(b.String(), "}"); open != shut || open < 2 {
			t.Errorf("%s: %d frames opened, %d closed", scope, open, shut)
		}
	}
}

func TestDotOfNothing(t *testing.T) {
	g := transformer(t, true, false, 0)
	err := g.Dot(&bytes.Buffer{}, "h.1")
	if err == nil || err.Error() != `no operation in "h.1"; did you mean h.0?` {
		t.Errorf("got %v", err)
	}
	err = g.Dot(&bytes.Buffer{}, "h.0.atn")
	if err == nil || !strings.HasSuffix(err.Error(), "did you mean h.0.attn?") {
		t.Errorf("got %v", err)
	}
}

func TestSummary(t *testing.T) {
	for _, c := range []struct {
		file string
		tied bool
	}{{"summary.txt", false}, {"summary_tied.txt", true}} {
		for _, kernels := range []bool{true, false} { // the same layers either way; dropout has no row
			for _, dropout := range []float64{0, 0.1} {
				var got bytes.Buffer
				if err := transformer(t, kernels, c.tied, dropout).Summary(&got); err != nil {
					t.Fatal(err)
				}
				golden(t, c.file, got.Bytes())
			}
		}
	}
}

// TestSummaryCountsEveryParameter has an adapter whose place no operation names, and a layer that is never used.
func TestSummaryCountsEveryParameter(t *testing.T) {
	g := graph.New(graph.Float64, 1)
	root := g.Root()
	x := root.Value("x", graph.Normal(1), 5, 4)
	adapted := nn.NewLoRA(func(string) bool { return true }, 2, 1)
	adapted(root.Sub("h.0.attn").Sub("c_attn"), 4, []int{3, 3, 3}, false, graph.Normal(1)).Forward(x)
	nn.NewLinear(root.Sub("idle"), 40, []int{50}, false, graph.Normal(1))
	var got bytes.Buffer
	if err := g.Summary(&got); err != nil {
		t.Fatal(err)
	}
	want := "" +
		"layer             output   parameters\n" +
		"h.0.attn.c_attn   (5, 9)      78\n" +
		"idle              unused   2,000\n" +
		"total                      2,078\n"
	if d := cmp.Diff(want, got.String()); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
}
