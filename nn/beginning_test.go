package nn

import (
	"math"
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/graph"
)

// TestBeginning: gains start at 1, shifts and contributions to the residual stream that should start small at 0,
// weights at N(0, 0.02²), the last of a sublayer at N(0, 0.02²/2L) for L blocks, and some as defined by their layers.
func TestBeginning(t *testing.T) {
	const blocks, latent, queries, d = 3, 40, 32, 48
	dims := Dims{Batch: 1, Context: 44, Embd: d, Heads: 3, QK: 16, V: 20, Inner: 60, Blocks: blocks}
	own := map[string]float64{ // by layer and parameter
		"Elman c_input.weight": 1 / math.Sqrt(d), "Elman weight": 0.5 / math.Sqrt(d),
		"Linformer e.weight": 1 / math.Sqrt(latent), "Linformer f.weight": 1 / math.Sqrt(latent),
		"ValueHead weight": 0, "LoRA lora_u": 0,
	}
	for name, layer := range map[string]func(at Site){
		"LayerNorm": func(at Site) { NewLayerNorm(at) }, "LayerNormSigma": func(at Site) { NewLayerNormSigma(at) },
		"Embedding": func(at Site) { NewEmbedding(at.Scope, 50, d) }, "LearnedPositions": func(at Site) { NewLearnedPositions(positioned(at, 44, 0)) },
		"SelfAttention": func(at Site) { causal(at) }, "MLP": func(at Site) { NewMLP(at) }, "SwiGLU": func(at Site) { NewSwiGLU(at) }, "Elman": func(at Site) { NewElman(at) },
		"MLA": func(at Site) { NewMLA(at, latent) }, "MLARoPE": func(at Site) { NewMLARoPE(positioned(at, 44, 0), latent, queries, 20, 100) },
		"MLALatentRoPE":  func(at Site) { NewMLALatentRoPE(positioned(at, 44, 0), latent, queries, 20, 100) },
		"CrossAttention": func(at Site) { NewCrossAttention(at, NewMemory(at.Sub("memory"), graph.Expr{}, 1, 44, 7, nil)) },
		"Linformer":      func(at Site) { at.Mask = NewMask(at.Sub("own"), dims, All{}); NewLinformer(at, latent) },
		"ValueHead":      func(at Site) { NewValueHead(at) },
		"LoRA": func(at Site) {
			NewLoRA(func(string) bool { return true }, 20, 1)(at.Scope, d, []int{50}, true, graph.Normal(0.02))
		},
	} {
		g := graph.New(graph.Float64, 1)
		layer(newSite(g, dims))
		if err := g.Err(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for _, p := range g.Params() {
			x, short := p.Tensor().Floats(), strings.TrimPrefix(p.Name(), "h.0.")
			var mean, std float64
			for _, v := range x {
				mean += v / float64(len(x))
			}
			for _, v := range x {
				std += (v - mean) * (v - mean) / float64(len(x))
			}
			std = math.Sqrt(std)
			want, center := 0.02, 0.0
			switch named, ok := own[name+" "+short]; {
			case ok:
				want = named
			case strings.HasPrefix(name, "LayerNorm"):
				if want = 0; short == "weight" {
					center = 1
				}
			case strings.HasSuffix(short, "bias"):
				want = 0
			case short == "c_q_up.weight", short == "c_q_rope.weight":
				want = 1 / math.Sqrt(queries)
			case short == "c_k_up.weight", short == "c_v_up.weight", name+short == "MLALatentRoPEc_k_rope.weight":
				want = 1 / math.Sqrt(latent)
			case strings.HasSuffix(short, "c_proj.weight"):
				want = 0.02 / math.Sqrt(2*blocks)
			}
			if !(math.Abs(std-want) <= 0.12*want+1e-12) || !(math.Abs(mean-center) <= 0.15*want+1e-12) {
				t.Errorf("%s: %s begins at %.3g ± %.3g, want %.3g ± %.3g", name, short, mean, std, center, want)
			}
		}
	}
	r := NewRollout(newSite(graph.New(graph.Float64, 1), dims).Scope, 3, 2)
	if r.Returns.Tensor().At(2) != 0 || r.Weights.Tensor().At(2) != 1 || r.LogProbs.Tensor().At(2) != 0 {
		t.Error("a rollout begins with returns and log probabilities of 0, and every action counts once")
	}
}

// TestAfterFailure: a layer passes a failure on, and so does a mask without rules.
func TestAfterFailure(t *testing.T) {
	for _, kernels := range []bool{true, false} {
		g := graph.New(graph.Float64, 1)
		g.Kernels = kernels
		at := newSite(g, shapes[0])
		at.Failf("first")
		x := at.Value("x", graph.Normal(1), 12, 8)
		NewCrossEntropy(at.Scope).Forward(x, at.Ints("y", 12, 8, -1))
		if err := g.Err(); err == nil || !strings.Contains(err.Error(), "first") {
			t.Errorf("got %v", err)
		}
	}
	g := graph.New(graph.Float64, 1)
	NewMask(g.Root(), Dims{Batch: 1}, Causal{}).requireCausal(g.Root())
}

// TestOneRandomKey: a single random key is drawn once for all heads, as several are.
func TestOneRandomKey(t *testing.T) {
	g := graph.New(graph.Float64, 1)
	NewMask(g.Root(), Dims{Batch: 1, Context: 4, Heads: 2}, All{All{Causal{}, BigBird{Width: 1, Random: 1}}, Dilated{Width: 3, Dilation: []int{1, 2}}})
	if err := g.Err(); err == nil || !strings.Contains(err.Error(), "1 random keys") {
		t.Errorf("got %v", err)
	}
}
