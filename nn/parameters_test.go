package nn

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/graph/fused"
)

// TestParameters: a layer declares exactly the parameters of its equation, with these shapes; without biases it
// declares the same except for the biases. Its inputs can be found by name.
func TestParameters(t *testing.T) {
	d := Dims{Batch: 2, Context: 7, Embd: 6, Heads: 2, QK: 4, V: 5, Inner: 9, Blocks: 2}
	memory := func(at Site) *Memory {
		return NewMemory(at.Sub("memory"), at.Value("z", graph.Normal(1), 2*3, 6), 2, 7, 3, nil)
	}
	decoder := func(make func(at Site, a Attention, m *Memory) Layer) func(at Site) Layer {
		return func(at Site) Layer { return make(at, causal, memory(at)) }
	}
	unmasked := func(make func(at Site) Layer) func(at Site) Layer {
		return func(at Site) Layer { at.Mask = NewMask(at.Sub("own"), d, All{}); return make(at) }
	}
	for name, c := range map[string]struct {
		layer  func(at Site) Layer
		in     string // the place of x, inside the layer
		params string // those that begin with * exist only if the site has biases
	}{
		"LayerNorm":      {func(at Site) Layer { return NewLayerNorm(at) }, "", "weight[6] *bias[6]"},
		"LayerNormSigma": {func(at Site) Layer { return NewLayerNormSigma(at) }, "", "weight[6] *bias[6]"},
		"LayerNormPlain": {func(at Site) Layer { return NewLayerNormPlain(at) }, "", ""},
		"DyT":            {func(at Site) Layer { return NewDyT(at) }, "", "alpha[1] weight[6] *bias[6]"},
		"RMSNorm":        {func(at Site) Layer { return NewRMSNorm(at) }, "", "weight[6]"},
		"Dropout":        {func(at Site) Layer { at.Dropout = 0.2; return NewDropout(at) }, "", ""},
		"Linear": {func(at Site) Layer {
			return NewLinear(
				at.Scope, 6, []int{4, 3}, at.Bias, graph.Normal(1),
			)
		}, "", "weight[6×7] *bias[7]"},
		"LoRA": {func(at Site) Layer {
			return NewLoRA(func(string) bool { return true }, 2, 1)(at.Scope, 6, []int{4, 3}, at.Bias, graph.Normal(1))
		}, "", "weight[6×7] *bias[7] k.lora_d[6×2] k.lora_u[2×4] v.lora_d[6×2] v.lora_u[2×3]"},
		"Scaled": {func(at Site) Layer { return NewScaled(at.Scope, NewMLP(at), 1, 3) }, ".c_fc",
			"c_fc.weight[6×9] *c_fc.bias[9] c_proj.weight[9×6] *c_proj.bias[6]"},
		"ScaledQueries": {func(at Site) Layer {
			return NewScaledQueries(NewLinear, 2)(at.Scope, 6, []int{4, 4, 3}, at.Bias, graph.Normal(1))
		}, "", "weight[6×11] *bias[11]"},
		"Tied": {func(at Site) Layer {
			return NewTied(
				at.Scope, NewEmbedding(at.Sub("wte"), 11, 6),
			)
		}, "", "wte.weight[11×6]"},
		"MLP": {
			func(at Site) Layer { return NewMLP(at) }, ".c_fc",
			"c_fc.weight[6×9] *c_fc.bias[9] c_proj.weight[9×6] *c_proj.bias[6]",
		},
		"GLU": {func(at Site) Layer { return NewGLU(at, SiLU{}) }, ".c_gate",
			"c_gate.weight[6×9] *c_gate.bias[9] c_fc.weight[6×9] *c_fc.bias[9] c_proj.weight[9×6] *c_proj.bias[6]"},
		"MoE": {func(at Site) Layer {
			return NewMoE(experts(at, 1, 2, func(e *Experts) { e.Shared = 3 }))
		}, ".router", "router.weight[6×2] experts.0.c_gate.weight[6×9] experts.0.c_fc.weight[6×9] " +
			"experts.0.c_proj.weight[9×6] experts.1.c_gate.weight[6×9] experts.1.c_fc.weight[6×9] " +
			"experts.1.c_proj.weight[9×6] shared.c_gate.weight[6×27] shared.c_fc.weight[6×27] " +
			"shared.c_proj.weight[27×6]"},
		"Elman": {func(at Site) Layer { return NewElman(at) }, "", "c_input.weight[6×6] *c_input.bias[6] weight[6×6]"},
		"LearnedPositions": {
			func(at Site) Layer { return NewLearnedPositions(positioned(at, 7, 0)) }, "", "weight[7×6]",
		},
		"Sinusoidal": {func(at Site) Layer { return NewSinusoidal(positioned(at, 7, 0), 100) }, "", ""},
		"RoPE":       {func(at Site) Layer { return NewRoPE(positioned(at, 7, 0), 2, 100) }, "", ""},
		"ValueHead":  {func(at Site) Layer { return NewValueHead(at) }, "", "weight[6×1] bias[1]"},
		"SelfAttention": {
			causal, ".c_attn", "c_attn.weight[6×26] *c_attn.bias[26] c_proj.weight[10×6] *c_proj.bias[6]",
		},
		"normed heads": {headNormed(causal), ".c_attn",
			"c_attn.weight[6×26] *c_attn.bias[26] q_norm.weight[4] k_norm.weight[4] c_proj.weight[10×6] " +
				"*c_proj.bias[6]"},
		"normed width": {widthNormed(func(at Site) Layer { return NewGroupedAttention(at, 1, true) }), ".c_attn",
			"c_attn.weight[6×17] c_attn.bias[17] q_norm.weight[8] k_norm.weight[4] c_proj.weight[10×6] " +
				"*c_proj.bias[6]"},
		"gated features": {func(at Site) Layer {
			at.Links.After = []NamedLink{
				{"attn_gate", func(at Site, _ fused.AttentionShape) Link { return NewElementGate(at) }},
			}
			return NewSelfAttention(at)
		}, ".c_attn", "c_attn.weight[6×26] *c_attn.bias[26] c_gate.weight[6×10] *c_gate.bias[10] " +
			"c_proj.weight[10×6] *c_proj.bias[6]"},
		"sinks": {func(at Site) Layer {
			at.Sinks = NewSinks
			return NewSelfAttention(at)
		}, ".c_attn", "c_attn.weight[6×26] *c_attn.bias[26] sinks[2] c_proj.weight[10×6] *c_proj.bias[6]"},
		"gated heads": {func(at Site) Layer {
			at.Links.After = []NamedLink{
				{"attn_gate", func(at Site, _ fused.AttentionShape) Link { return NewHeadGate(at) }},
			}
			return NewSelfAttention(at)
		}, ".c_attn", "c_attn.weight[6×26] *c_attn.bias[26] c_gate.weight[6×2] *c_gate.bias[2] c_proj.weight[10×6] " +
			"*c_proj.bias[6]"},
		"convolved": {func(at Site) Layer { return NewSelfAttention(everyConv(at)) }, ".c_attn",
			"c_attn.weight[6×26] *c_attn.bias[26] c_attn.conv.weight[104] c_proj.weight[10×6] *c_proj.bias[6]"},
		"normed twice": {headNormed(func(at Site) Layer {
			return NewLongformer(at, NewLongformerMask(at.Scope, at.Mask, Dilated{Width: 3, Dilation: []int{1, 1}}))
		}), ".c_attn", "c_attn.weight[6×26] *c_attn.bias[26] q_norm.weight[4] k_norm.weight[4] " +
			"c_attn_global.weight[6×26] *c_attn_global.bias[26] c_attn_global.q_norm.weight[4] " +
			"c_attn_global.k_norm.weight[4] c_proj.weight[10×6] *c_proj.bias[6]"},
		"SigmoidAttention": {
			func(at Site) Layer { return NewSigmoidAttention(at) }, ".c_attn",
			"c_attn.weight[6×26] *c_attn.bias[26] c_proj.weight[10×6] *c_proj.bias[6]",
		},
		"ForgettingAttention": {
			func(at Site) Layer { return NewForgettingAttention(at) }, ".c_attn",
			"c_attn.weight[6×26] *c_attn.bias[26] c_proj.weight[10×6] *c_proj.bias[6] c_forget.weight[6×2] " +
				"*c_forget.bias[2]",
		},
		"gla": {func(at Site) Layer { return NewGLA(at) }, ".c_attn",
			"c_attn.weight[6×26] *c_attn.bias[26] c_decay.down.weight[6×16] c_decay.up.weight[16×8] " +
				"*c_decay.up.bias[8] norm.weight[5] c_gate.weight[6×10] *c_gate.bias[10] c_proj.weight[10×6] " +
				"*c_proj.bias[6]"},
		"retnet": {func(at Site) Layer { return NewRetNet(at) }, ".c_attn",
			"c_attn.weight[6×26] *c_attn.bias[26] norm.weight[5] c_gate.weight[6×10] *c_gate.bias[10] " +
				"c_proj.weight[10×6] *c_proj.bias[6]"},
		"deltanet": {func(at Site) Layer { return NewDeltaNet(at) }, ".c_attn",
			"c_attn.weight[6×26] *c_attn.bias[26] c_attn.conv.weight[104] c_beta.weight[6×2] norm.weight[5] " +
				"c_gate.weight[6×10] *c_gate.bias[10] c_proj.weight[10×6] *c_proj.bias[6]"},
		"deltanet_neg_eigval": {func(at Site) Layer { return NewDeltaNetNegEigval(at) }, ".c_attn",
			"c_attn.weight[6×26] *c_attn.bias[26] c_attn.conv.weight[104] c_beta.weight[6×2] norm.weight[5] " +
				"c_gate.weight[6×10] *c_gate.bias[10] c_proj.weight[10×6] *c_proj.bias[6]"},
		"kda": {func(at Site) Layer { return NewKDA(at) }, ".c_attn",
			"c_attn.weight[6×26] *c_attn.bias[26] c_attn.conv.weight[104] c_decay.down.weight[6×5] " +
				"c_decay.up.weight[5×8] c_decay.up.bias[8] c_decay.a_log[2] c_beta.weight[6×2] norm.weight[5] " +
				"c_gate.down.weight[6×5] c_gate.up.weight[5×10] *c_gate.up.bias[10] c_proj.weight[10×6] " +
				"*c_proj.bias[6]"},
		"mamba2": {func(at Site) Layer { return NewMamba2(at, 1) }, ".c_attn",
			"c_attn.weight[6×18] *c_attn.bias[18] c_attn.conv.weight[72] c_decay.weight[6×2] c_decay.bias[2] " +
				"c_decay.a_log[2] d_skip[2] c_gate.weight[6×10] *c_gate.bias[10] norm.weight[10] " +
				"c_proj.weight[10×6] *c_proj.bias[6]"},
		"mingru": {func(at Site) Layer { return NewMinGRU(at) }, ".c_update",
			"c_decay.weight[6×10] *c_decay.bias[10] c_update.weight[6×10] *c_update.bias[10] c_proj.weight[10×6] " +
				"*c_proj.bias[6]"},
		"rglru": {func(at Site) Layer { return NewRGLRU(at) }, ".c_attn",
			"c_attn.conv.weight[40] c_attn.weight[6×10] *c_attn.bias[10] c_decay.weight[10×10] *c_decay.bias[10] " +
				"c_decay.lambda[10] c_update.weight[10×10] *c_update.bias[10] c_gate.weight[6×10] *c_gate.bias[10] " +
				"c_proj.weight[10×6] *c_proj.bias[6]"},
		"gated_deltanet": {func(at Site) Layer { return NewGatedDeltaNet(at) }, ".c_attn",
			"c_attn.weight[6×26] *c_attn.bias[26] c_attn.conv.weight[104] c_decay.weight[6×2] c_decay.bias[2] " +
				"c_decay.a_log[2] c_beta.weight[6×2] norm.weight[5] c_gate.weight[6×10] *c_gate.bias[10] " +
				"c_proj.weight[10×6] *c_proj.bias[6]"},
		"gated_deltanet_neg_eigval": {func(at Site) Layer { return NewGatedDeltaNetNegEigval(at) }, ".c_attn",
			"c_attn.weight[6×26] *c_attn.bias[26] c_attn.conv.weight[104] c_decay.weight[6×2] c_decay.bias[2] " +
				"c_decay.a_log[2] c_beta.weight[6×2] norm.weight[5] c_gate.weight[6×10] *c_gate.bias[10] " +
				"c_proj.weight[10×6] *c_proj.bias[6]"},
		"DiffAttention": {
			func(at Site) Layer { return NewDiffAttention(at) }, ".c_attn",
			"c_attn.weight[6×26] *c_attn.bias[26] c_proj.weight[10×6] *c_proj.bias[6] lambda_q1[4] lambda_k1[4] " +
				"lambda_q2[4] lambda_k2[4] norm.weight[10]",
		},
		"LinearAttention": {
			func(at Site) Layer { return NewLinearAttention(at) }, ".c_attn",
			"c_attn.weight[6×26] *c_attn.bias[26] c_proj.weight[10×6] *c_proj.bias[6]",
		},
		"TaylorAttention": {
			func(at Site) Layer { return NewTaylorAttention(at) }, ".c_attn",
			"c_attn.weight[6×26] *c_attn.bias[26] c_proj.weight[10×6] *c_proj.bias[6]",
		},
		"Unprojected": {func(at Site) Layer { return NewUnprojected(at) }, "", ""},
		"MLA": {
			func(at Site) Layer { return NewMLA(at, 3) }, ".c_q",
			"c_q.weight[6×8] c_kv_down.weight[6×3] c_k_up.weight[3×8] c_v_up.weight[3×10] c_proj.weight[10×6] " +
				"*c_proj.bias[6]",
		},
		"MLARoPE": {
			func(at Site) Layer { return NewMLARoPE(positioned(at, 7, 0), 3, 5, 2, 100) }, ".c_q_down",
			"c_q_down.weight[6×5] c_q_up.weight[5×8] c_q_rope.weight[5×4] c_kv_down.weight[6×3] c_k_up.weight[3×8] " +
				"c_k_rope.weight[6×2] c_v_up.weight[3×10] c_proj.weight[10×6] *c_proj.bias[6]",
		},
		"MLALatentRoPE": {
			func(at Site) Layer { return NewMLALatentRoPE(positioned(at, 7, 0), 3, 5, 2, 100) }, ".c_q_down",
			"c_q_down.weight[6×5] c_q_up.weight[5×8] c_q_rope.weight[5×4] c_kv_down.weight[6×3] c_k_up.weight[3×8] " +
				"c_k_rope.weight[3×2] c_v_up.weight[3×10] c_proj.weight[10×6] *c_proj.bias[6]",
		},
		"Linformer": {
			unmasked(func(at Site) Layer { return NewLinformer(at, 3) }), ".c_attn",
			"c_attn.weight[6×26] *c_attn.bias[26] c_proj.weight[10×6] *c_proj.bias[6] e.weight[3×7] f.weight[3×7]",
		},
		"Longformer": {func(at Site) Layer {
			return NewLongformer(at, NewLongformerMask(at.Scope, at.Mask, Dilated{Width: 3, Dilation: []int{1, 1}}))
		}, ".c_attn", "c_attn.weight[6×26] *c_attn.bias[26] c_attn_global.weight[6×26] *c_attn_global.bias[26] " +
			"c_proj.weight[10×6] *c_proj.bias[6]"},
		"CrossAttention": {
			func(at Site) Layer { return NewCrossAttention(at, memory(at)) }, ".c_q",
			"c_q.weight[6×8] *c_q.bias[8] c_kv.weight[6×18] *c_kv.bias[18] c_proj.weight[10×6] *c_proj.bias[6]",
		},
		"UnprojectedCross": {func(at Site) Layer { return NewUnprojectedCross(at, memory(at)) }, "", ""},
		"Block": {
			func(at Site) Layer { return NewBlock(at, causal) }, "",
			"ln_1.weight[6] *ln_1.bias[6] attn.c_attn.weight[6×26] *attn.c_attn.bias[26] attn.c_proj.weight[10×6] " +
				"*attn.c_proj.bias[6] ln_2.weight[6] *ln_2.bias[6] mlp.c_fc.weight[6×9] *mlp.c_fc.bias[9] " +
				"mlp.c_proj.weight[9×6] *mlp.c_proj.bias[6]",
		},
		"SandwichBlock": {
			func(at Site) Layer { return NewSandwichBlock(at, causal) }, "",
			"ln_1.weight[6] *ln_1.bias[6] attn.c_attn.weight[6×26] *attn.c_attn.bias[26] attn.c_proj.weight[10×6] " +
				"*attn.c_proj.bias[6] ln_1_post.weight[6] *ln_1_post.bias[6] ln_2.weight[6] *ln_2.bias[6] " +
				"mlp.c_fc.weight[6×9] *mlp.c_fc.bias[9] mlp.c_proj.weight[9×6] *mlp.c_proj.bias[6] " +
				"ln_2_post.weight[6] *ln_2_post.bias[6]",
		},
		"PostPartBlock": {
			func(at Site) Layer { return NewPostPartBlock(at, causal) }, "",
			"ln_1.weight[6] *ln_1.bias[6] attn.c_attn.weight[6×26] *attn.c_attn.bias[26] attn.c_proj.weight[10×6] " +
				"*attn.c_proj.bias[6] ln_2.weight[6] *ln_2.bias[6] mlp.c_fc.weight[6×9] *mlp.c_fc.bias[9] " +
				"mlp.c_proj.weight[9×6] *mlp.c_proj.bias[6]",
		},
		"ParallelBlock": {
			func(at Site) Layer { return NewParallelBlock(at, causal) }, "",
			"ln_1.weight[6] *ln_1.bias[6] attn.c_attn.weight[6×26] *attn.c_attn.bias[26] attn.c_proj.weight[10×6] " +
				"*attn.c_proj.bias[6] mlp.c_fc.weight[6×9] *mlp.c_fc.bias[9] mlp.c_proj.weight[9×6] " +
				"*mlp.c_proj.bias[6]",
		},
		"ParallelTwoBlock": {
			func(at Site) Layer { return NewParallelTwoBlock(at, causal) }, "",
			"ln_1.weight[6] *ln_1.bias[6] attn.c_attn.weight[6×26] *attn.c_attn.bias[26] attn.c_proj.weight[10×6] " +
				"*attn.c_proj.bias[6] ln_2.weight[6] *ln_2.bias[6] mlp.c_fc.weight[6×9] *mlp.c_fc.bias[9] " +
				"mlp.c_proj.weight[9×6] *mlp.c_proj.bias[6]",
		},
		"PostNormBlock": {
			func(at Site) Layer { return NewPostNormBlock(at, causal) }, "",
			"ln_1.weight[6] *ln_1.bias[6] attn.c_attn.weight[6×26] *attn.c_attn.bias[26] attn.c_proj.weight[10×6] " +
				"*attn.c_proj.bias[6] ln_2.weight[6] *ln_2.bias[6] mlp.c_fc.weight[6×9] *mlp.c_fc.bias[9] " +
				"mlp.c_proj.weight[9×6] *mlp.c_proj.bias[6]",
		},
		"DecoderBlock": {
			decoder(func(at Site, a Attention, m *Memory) Layer { return NewDecoderBlock(at, a, m) }), "",
			"ln_1.weight[6] *ln_1.bias[6] attn.c_attn.weight[6×26] *attn.c_attn.bias[26] attn.c_proj.weight[10×6] " +
				"*attn.c_proj.bias[6] ln_cross.weight[6] *ln_cross.bias[6] cross.c_q.weight[6×8] *cross.c_q.bias[8] " +
				"cross.c_kv.weight[6×18] *cross.c_kv.bias[18] cross.c_proj.weight[10×6] *cross.c_proj.bias[6] " +
				"ln_2.weight[6] *ln_2.bias[6] mlp.c_fc.weight[6×9] *mlp.c_fc.bias[9] mlp.c_proj.weight[9×6] " +
				"*mlp.c_proj.bias[6]",
		},
		"PostNormDecoderBlock": {
			decoder(func(at Site, a Attention, m *Memory) Layer { return NewPostNormDecoderBlock(at, a, m) }), "",
			"ln_1.weight[6] *ln_1.bias[6] attn.c_attn.weight[6×26] *attn.c_attn.bias[26] attn.c_proj.weight[10×6] " +
				"*attn.c_proj.bias[6] ln_cross.weight[6] *ln_cross.bias[6] cross.c_q.weight[6×8] *cross.c_q.bias[8] " +
				"cross.c_kv.weight[6×18] *cross.c_kv.bias[18] cross.c_proj.weight[10×6] *cross.c_proj.bias[6] " +
				"ln_2.weight[6] *ln_2.bias[6] mlp.c_fc.weight[6×9] *mlp.c_fc.bias[9] mlp.c_proj.weight[9×6] " +
				"*mlp.c_proj.bias[6]",
		},
	} {
		for _, bias := range []bool{true, false} {
			g := graph.New(graph.Float64, 1)
			at := newSite(g, d)
			at.Bias = bias
			layer := c.layer(at)
			var got []string
			for _, p := range g.Params() {
				got = append(
					got,
					strings.ReplaceAll(fmt.Sprint(strings.TrimPrefix(p.Name(), "h.0."), p.Tensor().Shape), " ", "×"),
				)
			}
			want := slices.DeleteFunc(strings.Fields(c.params), func(p string) bool { return !bias && p[0] == '*' })
			if got, want := strings.Join(got, " "), strings.ReplaceAll(strings.Join(want, " "), "*", ""); got != want {
				t.Errorf("%s, biases %t: got %s, want %s", name, bias, got, want)
			}
			x := g.Root().Value("x", graph.Normal(1), 14, 6)
			layer.Forward(x)
			if err := g.Err(); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			if in, err := g.Entering("h.0" + c.in); name != "UnprojectedCross" && (err != nil ||
				in.Node() != x.Node()) {
				t.Errorf("%s: x does not come in at h.0%s", name, c.in)
			}
			if _, err := g.Entering("h.0"); err != nil {
				t.Errorf("%s: no input", name)
			}
		}
	}
}

// TestHeadsOfNone: features that the heads do not divide are an error, also for 0 heads.
func TestHeadsOfNone(t *testing.T) {
	for _, heads := range []int{0, -2, 4} {
		g := graph.New(graph.Float64, 1)
		at := newSite(g, Dims{Batch: 1, Context: 2, Embd: 6, Heads: heads, Inner: 5, Blocks: 1})
		NewUnprojected(at)
		if err := g.Err(); err == nil || !strings.Contains(
			err.Error(), fmt.Sprintf("%d heads do not divide 6 features", heads),
		) {
			t.Errorf("%d heads: got %v", heads, err)
		}
	}
}

// TestNoHeads: a layer without heads, or of more than any memory holds, never panics.
func TestNoHeads(t *testing.T) {
	for _, heads := range []int{0, 1 << 40} {
		g := graph.New(graph.Float64, 1)
		at := positioned(
			newSite(g, Dims{Batch: 1, Context: 2, Embd: 6, Heads: heads, QK: 2, V: 2, Inner: 5, Blocks: 1}), 2, 0,
		)
		NewMLARoPE(at, 3, 4, 2, 100).Forward(at.Value("x", graph.Normal(1), 2, 6))
		if g.Err() == nil {
			t.Errorf("%d heads: no error", heads)
		}
	}
}

// TestConstructorsDeclare: a layer's constructor declares all its parameters, and the mask whose numbers it adds to
// scores. Forward declares nothing more.
func TestConstructorsDeclare(t *testing.T) {
	d := Dims{Batch: 2, Context: 6, Embd: 8, Heads: 2, QK: 4, V: 5, Inner: 3, Blocks: 1}
	memory := func(at Site) *Memory {
		return NewMemory(at.Sub("memory"), at.Value("z", graph.Normal(1), 2*7, 8), 2, 6, 7, nil)
	}
	for name, c := range map[string]struct {
		layer func(at Site) Layer
		adds  bool // adds the mask to scores
	}{
		"SelfAttention":   {causal, true},
		"Unprojected":     {func(at Site) Layer { return NewUnprojected(at) }, true},
		"MLA":             {func(at Site) Layer { return NewMLA(at, 3) }, true},
		"MLARoPE":         {func(at Site) Layer { return NewMLARoPE(positioned(at, 6, 0), 3, 4, 6, 100) }, true},
		"LinearAttention": {func(at Site) Layer { return NewLinearAttention(at) }, false},
		"TaylorAttention": {func(at Site) Layer { return NewTaylorAttention(at) }, false},
		"gla":             {func(at Site) Layer { return NewGLA(at) }, false},
		"gated_deltanet":  {func(at Site) Layer { return NewGatedDeltaNet(at) }, false},
		"mingru":          {func(at Site) Layer { return NewMinGRU(at) }, false},
		"rglru":           {func(at Site) Layer { return NewRGLRU(at) }, false},
		"mamba2":          {func(at Site) Layer { return NewMamba2(at, 2) }, false},
		"Block":           {func(at Site) Layer { return NewBlock(at, causal) }, true},
		"PostNormBlock":   {func(at Site) Layer { return NewPostNormBlock(at, causal) }, true},
		"DecoderBlock":    {func(at Site) Layer { return NewDecoderBlock(at, causal, memory(at)) }, true},
		"Elman":           {func(at Site) Layer { return NewElman(at) }, false},
	} {
		g := graph.New(graph.Float32, 1)
		at := newSite(g, d)
		l := c.layer(at)
		params := len(g.Params())
		_, mask := g.Leaf("mask")
		if mask != c.adds {
			t.Errorf("%s: its constructor declares the mask: %t, want %t", name, mask, c.adds)
		}
		l.Forward(at.Value("x", graph.Normal(1), 12, 8))
		if err := g.Err(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if _, mask = g.Leaf("mask"); mask != c.adds || len(g.Params()) != params {
			t.Errorf("%s: Forward declares the mask or %d parameters", name, len(g.Params())-params)
		}
	}
}

// TestMixing: the cost of combining tokens, for sizes whose products are unique.
func TestMixing(t *testing.T) {
	d := Dims{Batch: 2, Context: 11, Embd: 14, Heads: 7, QK: 2, V: 5, Inner: 3, Blocks: 1}
	memory := func(at Site) *Memory { return NewMemory(at.Sub("memory"), graph.Expr{}, 2, 11, 13, nil) }
	const causalKeys = (6*6 + 5*11) / 11.0 // in two tiles, of six queries and of five
	for name, c := range map[string]struct {
		layer func(at Site) Layer
		want  float64
	}{
		"SelfAttention":   {causal, causalKeys * 7 * (2 + 5)},
		"LinearAttention": {func(at Site) Layer { return NewLinearAttention(at) }, 2 * 7 * 2 * 5},
		"gla":             {func(at Site) Layer { return NewGLA(at) }, 2 * 7 * 2 * 5},
		"mingru":          {func(at Site) Layer { return NewMinGRU(at) }, 7 * 5},
		"rglru":           {func(at Site) Layer { return NewRGLRU(at) }, 7 * 5},
		"mamba2":          {func(at Site) Layer { return NewMamba2(at, 7) }, 2 * 7 * 2 * 5},
		"retnet":          {func(at Site) Layer { return NewRetNet(at) }, 2 * 7 * 2 * 5},
		"deltanet":        {func(at Site) Layer { return NewDeltaNet(at) }, 3 * 7 * 2 * 5},
		"neg_eigval":      {func(at Site) Layer { return NewDeltaNetNegEigval(at) }, 3 * 7 * 2 * 5},
		"kda":             {func(at Site) Layer { return NewKDA(at) }, 3 * 7 * 2 * 5},
		"gated_deltanet":  {func(at Site) Layer { return NewGatedDeltaNet(at) }, 3 * 7 * 2 * 5},
		"TaylorAttention": {func(at Site) Layer { return NewTaylorAttention(at) }, 2 * 7 * 2 * 5},
		"MLA":             {func(at Site) Layer { return NewMLA(at, 3) }, causalKeys * 7 * (2 + 5)},
		"MLARoPE": {
			func(at Site) Layer { return NewMLARoPE(positioned(at, 11, 0), 3, 4, 6, 100) },
			causalKeys * 7 * (2 + 6 + 5),
		},
		"MLALatentRoPE": {
			func(at Site) Layer { return NewMLALatentRoPE(positioned(at, 11, 0), 3, 4, 6, 100) },
			causalKeys * 7 * (2 + 6 + 5),
		},
		"CrossAttention":   {func(at Site) Layer { return NewCrossAttention(at, memory(at)) }, 13 * 7 * (2 + 5)},
		"Unprojected":      {func(at Site) Layer { return NewUnprojected(at) }, 2 * causalKeys * 14},
		"UnprojectedCross": {func(at Site) Layer { return NewUnprojectedCross(at, memory(at)) }, 2 * 13 * 14},
		"Linformer": {func(at Site) Layer {
			at.Mask = NewMask(at.Sub("other"), d, All{})
			return NewLinformer(at, 3)
		}, 2 * 3 * 7 * (2 + 5)},
		"Longformer": {func(at Site) Layer {
			rule := Dilated{Width: 3, Dilation: []int{1, 1, 1, 1, 1, 1, 1}}
			return NewLongformer(at, NewLongformerMask(at.Scope, at.Mask, rule))
		}, 2 * 21 * 7 * (2 + 5) / 11.0}, // with itself and the token before it
	} {
		g := graph.New(graph.Float32, 1)
		l, ok := c.layer(newSite(g, d)).(Mixing)
		if err := g.Err(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if !ok {
			t.Errorf("%s does not report the cost of combining tokens", name)
		} else if got := l.Mixing(); !(math.Abs(got-c.want) <= 1e-12*c.want) {
			t.Errorf("%s: got %g, want %g", name, got, c.want)
		}
	}
	for _, p := range pointers {
		if l, ok := p.(Mixing); ok && l.Mixing() != 0 {
			t.Errorf("%T of nil: got %v, want 0", l, l.Mixing())
		}
	}
	if got := overKeys(math.MaxInt, math.MaxInt, math.MaxInt, math.MaxInt); !(got > 1e50) {
		t.Errorf("sizes that no machine has: got %g", got)
	}
}

// The mean number of keys counts the tiles of the kernel, or of the visible keys where it gathers them, and T without
// kernels. A mask that takes long to look at costs nothing.
func TestMaskKeys(t *testing.T) {
	d := Dims{Batch: 2, Context: 1024, Embd: 8, Heads: 2, QK: 4, V: 4, Inner: 3, Blocks: 1}
	short := d
	short.Context = 64
	huge := d
	huge.Context = 1 << 24
	for _, c := range []struct {
		d    Dims
		rule Visibility
		want float64
	}{
		{d, Causal{}, (1024 + 64) / 2.0}, {short, Causal{}, (64 + 32) / 2.0}, {d, All{}, 1024},
		{d, Padding{[]int{3, 5}}, 1024},
		{d, All{Causal{}, Padding{[]int{3, 5}}}, (1024 + 64) / 2.0},
		{d, Window{16}, 64 + 15 - 15/16.0}, {d, All{Causal{}, Window{16}}, 64 + 15 - 15/16.0}, {d, Window{1024}, (1024 +
			64) / 2.0},
		{d, SinkWindow{16, 4}, 64 + 15 - 15/16.0 + 4*15/16.0},
		{d, All{Causal{}, BigBird{Width: 3, Global: []int{0}, Random: 2}}, 0},
		{d, All{Causal{}, Dilated{Width: 5, Dilation: []int{1, 4}}}, 0},
		{huge, Causal{}, (1<<24 + 64) / 2.0}, {huge, everyOther{}, 1 << 24}, {short, nil, 64}, {short, broken{}, 64},
	} {
		g := graph.Outline(graph.Float32)
		m := NewMask(g.Root(), c.d, c.rule)
		got := m.meanKeys()
		tolerance := 1e-12
		if c.want == 0 { // by counting rows of the mask itself
			tolerance = 0.05
			rows := []int{8, 24, 40, 104, 1016}
			rules := drawKeys(rulesOf(c.rule), c.d)
			for head := range 2 {
				for _, i := range rows {
					for j := range c.d.Context {
						if visible(rules, head, 0, i, j) {
							c.want += 1 / float64(2*len(rows))
						}
					}
				}
			}
		}
		if !(math.Abs(got-c.want) <= tolerance*c.want) || c.rule == (Causal{}) && got != c.want {
			t.Errorf("%d tokens, %T%+v: got %g keys, want %g", c.d.Context, c.rule, c.rule, got, c.want)
		}
		g.Kernels = false
		if got := m.meanKeys(); got != float64(c.d.Context) {
			t.Errorf("%d tokens, %+v, without kernels: got %g keys, want all", c.d.Context, c.rule, got)
		}
	}
}

// The mean of the visible keys is the exact one of at most 64 queries, at even distances, and of fewer in a context
// that takes long. A query of BigBird sees as many random keys as are left.
func TestMeanVisible(t *testing.T) {
	for _, c := range []struct {
		tokens, queries, random int
		rules                   []Visibility
	}{
		{5, 5, 0, []Visibility{Causal{}, Dilated{Width: 3, Dilation: []int{1, 2}}}},
		{100, 64, 0, []Visibility{everyOther{}}},
		{9, 9, 2, []Visibility{Causal{}, BigBird{Width: 3, Global: []int{0}, Random: 2}}},
		{7, 7, 3, []Visibility{Causal{}, BigBird{Width: 1, Random: 3}, Padding{[]int{6}}}},
		{1 << 18, 16, 0, []Visibility{everyOther{}}},
		{1 << 18, 8, 0, []Visibility{Dilated{Width: 3, Dilation: []int{1, 2}}}},
		{1 << 18, 4, 0, []Visibility{BigBird{Width: 1, Global: []int{1, 2, 3}}}},
		{1 << 18, 4, 0, []Visibility{Dilated{Width: 1, Dilation: []int{1, 1}, Global: []int{1}}}},
	} {
		want := 0.0
		for k := range c.queries {
			i := (2*k + 1) * c.tokens / (2 * c.queries)
			for head := range 2 {
				hidden := 0 // keys that are hidden by BigBird alone
				for j := range c.tokens {
					all, others := true, true
					for _, v := range c.rules {
						_, big := v.(BigBird)
						sees := visible([]Visibility{v}, head, 0, i, j)
						all, others = all && sees, others && (big || sees)
					}
					if all {
						want++
					} else if others {
						hidden++
					}
				}
				want += float64(min(hidden, c.random))
			}
		}
		want /= 2 * float64(c.queries)
		if got := meanVisible(c.rules, Dims{Context: c.tokens, Heads: 2}); got != want {
			t.Errorf("%d tokens, %+v: got a mean of %v keys, want %v", c.tokens, c.rules, got, want)
		}
	}
	for _, tokens := range []int{1 << 22, 1<<22 + 1} { // one query of two heads would be too many numbers
		if got := meanVisible(
			[]Visibility{Dilated{Width: 1, Dilation: []int{1, 1}}}, Dims{Context: tokens, Heads: 2},
		); got != float64(tokens) {
			t.Errorf("%d tokens: got %v keys, want all", tokens, got)
		}
	}
	if got := meanVisible([]Visibility{sightless{}}, Dims{Context: 3, Heads: 1}); got != 3 {
		t.Errorf("no visible key: got %v, want all 3", got)
	}
}

// everyOther lets a query attend to keys at even distances, broken panics.
type everyOther struct{}
type broken struct{}

func (everyOther) Visible(_, i, j int) bool { return (i-j)%2 == 0 }
func (broken) Visible(_, _, _ int) bool     { panic("no rule") }

// output runs y and returns a copy of the result.
func output(t *testing.T, y graph.Expr) graph.Tensor {
	t.Helper()
	p, err := graph.Compile(y)
	if err != nil {
		t.Fatalf("%+v", err)
	}
	if err := p.Run(); err != nil {
		t.Fatal(err)
	}
	return p.Value().Clone()
}

// adapted returns attention and an MLP with adapters, and the same model without them on the same numbers.
func adapted(t *testing.T, kernels bool) (y, base graph.Expr, adapters []*LoRA) {
	t.Helper()
	g := graph.New(graph.Float64, 5)
	g.Kernels = kernels
	build := func(g *graph.Graph, affine Affine) graph.Expr {
		at := newSite(g, shapes[0])
		at.Affine = func(s graph.Scope, in int, out []int, bias bool, init graph.Init) Layer {
			l := affine(s, in, out, bias, init)
			if l, ok := l.(*LoRA); ok {
				adapters = append(adapters, l)
			}
			return l
		}
		x := g.Root().Value("x", graph.Normal(1), at.Batch*at.Context, at.Embd)
		return NewMLP(at.At("mlp")).Forward(NewSelfAttention(at.At("attn")).Forward(x))
	}
	targets := func(path string) bool { return strings.HasSuffix(path, "c_attn") || strings.HasSuffix(path, "c_fc") }
	y = build(g, NewLoRA(targets, 2, 0.7))
	return y, build(g.Sibling(), NewLinear), adapters
}

// TestI26StartsAsTheBase: u is 0, so the adapter adds nothing, to the bit.
func TestI26StartsAsTheBase(t *testing.T) {
	for _, kernels := range []bool{true, false} {
		y, base, _ := adapted(t, kernels)
		if e := distance(output(t, y), output(t, base), 0); e != 0 {
			t.Errorf("kernels %t: distance %.2g, want 0", kernels, e)
		}
	}
}

// TestI26MergeKeepsTheFunction: after merging, the base alone computes the function.
func TestI26MergeKeepsTheFunction(t *testing.T) {
	for _, kernels := range []bool{true, false} {
		y, base, adapters := adapted(t, kernels)
		rng, pairs := rand.New(rand.NewPCG(1, 2)), 0
		for _, l := range adapters {
			for _, a := range l.Adapters {
				pairs++
				u := a.Up.Tensor()
				for i := range u.Len() {
					u.Set(i, rng.NormFloat64())
				}
			}
		}
		if pairs != 4 { // q, k and v of c_attn, and c_fc
			t.Errorf("%d adapters, want 4", pairs)
		}
		before, plain := output(t, y), output(t, base)
		if e := distance(before, plain, 0); !(e > 1e-3) {
			t.Errorf("kernels %t: the adapters change the result by %.2g only", kernels, e)
		}
		for _, l := range adapters {
			l.Merge()
		}
		for what, after := range map[string]graph.Tensor{"merged": output(t, y), "the base alone": output(t, base)} {
			if e := distance(after, before, 0); !(e <= 1e-12) {
				t.Errorf("kernels %t, %s: distance %.2g, want ≤ 1e-12", kernels, what, e)
			}
		}
		for _, l := range adapters {
			for _, a := range l.Adapters {
				for i, v := range a.Up.Tensor().Floats() {
					if v != 0 || math.Signbit(v) {
						t.Fatalf("%s[%d] is %v after merging, want 0", a.Up.Name(), i, v)
					}
				}
			}
		}
	}
}

// A layer with other shapes than NewLoRA's stays unchanged.
func TestMergeLeavesWhatIsTorn(t *testing.T) {
	for name, tear := range map[string]func(a *Adapter, other graph.Expr){
		"no d":           func(a *Adapter, _ graph.Expr) { a.Down = graph.Expr{} },
		"other inputs":   func(a *Adapter, other graph.Expr) { a.Down = other },
		"other outputs":  func(a *Adapter, other graph.Expr) { a.Up = other },
		"fewer columns":  func(a *Adapter, _ graph.Expr) { a.To-- },
		"before columns": func(a *Adapter, _ graph.Expr) { a.From, a.To = a.From-1, a.To-1 },
		"behind columns": func(a *Adapter, _ graph.Expr) { a.From, a.To = a.From+1, a.To+1 },
	} {
		s := graph.New(graph.Float64, 1).Root()
		l := NewLoRA(func(string) bool { return true }, 2, 1)(s, 3, []int{5}, false, graph.Normal(1)).(*LoRA)
		before := l.Base.Weight.Tensor().Floats()
		for i := range l.Adapters[0].Up.Tensor().Len() {
			l.Adapters[0].Up.Tensor().Set(i, 1)
		}
		tear(&l.Adapters[0], s.Param("other", graph.Const(1), 2, 4))
		l.Merge()
		if after := l.Base.Weight.Tensor().Floats(); !slices.Equal(before, after) {
			t.Errorf("%s: the weight has changed", name)
		}
	}
}

func everywhere(string) bool { return true }

// TestLoRAIsKernels: with kernels for all operations, a block with adapters can drop its activations; training then
// gives the same bits in less memory.
func TestLoRAIsKernels(t *testing.T) {
	d := Dims{Batch: 2, Context: 9, Embd: 8, Heads: 2, QK: 3, V: 5, Inner: 13, Blocks: 3}
	train := func(places ...string) (loss float64, grads [][]float64, bytes int) {
		g := graph.New(graph.Float64, 7)
		x := g.Root().Value("x", graph.Normal(1), d.Batch*d.Context, d.Embd)
		at := newSite(g, d)
		at.Affine, at.Dropout = NewLoRA(everywhere, 2, 0.7), 0.2
		for _, name := range []string{"a", "b", "c"} {
			x = NewBlock(at.At(name), causal).Forward(x)
		}
		g.Recompute(places...)
		p, err := graph.Compile(NewCrossEntropy(g.Root()).Forward(x, ids(at, d.Embd, -1)), g.Params()...)
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Run(); err != nil {
			t.Fatal(err)
		}
		for _, w := range g.Params() {
			grads = append(grads, p.Grad(w).Floats())
		}
		return p.Loss(), grads, g.Bytes()
	}
	loss, grads, kept := train()
	again, grads2, bytes := train("h.0.a", "h.0.b", "h.0.c")
	if again != loss {
		t.Errorf("loss %v, without recomputation %v", again, loss)
	}
	if diff := cmp.Diff(grads, grads2); diff != "" {
		t.Errorf("gradients differ")
	}
	if !(bytes < kept) {
		t.Errorf("%d bytes with recomputation, %d without", bytes, kept)
	}
}

// TestDiffAttentionSizes: differential attention has up to 2²⁰ features of all heads, twice as many as an attention of
// the same heads.
func TestDiffAttentionSizes(t *testing.T) {
	for _, features := range []int{1 << 9, 1<<9 + 1} {
		for _, d := range []Dims{{QK: features, V: 1}, {QK: 1, V: features}} {
			g := graph.Outline(graph.Float32)
			d.Batch, d.Context, d.Embd, d.Heads, d.Blocks = 1, 2, 2, 1<<10, 1
			NewDiffAttention(newSite(g, d))
			if err := g.Err(); (err == nil) != (features == 1<<9) {
				t.Errorf("%+v: got error %v", d, err)
			}
		}
	}
}

// halved is the layer of the first half of the features.
type halved struct{}

func (halved) Forward(x graph.Expr) graph.Expr {
	n := x.Shape()[len(x.Shape())-1]
	return x.Columns(0, n/2)
}

// TestHeadIn: a head has the rows of its input and another number of columns. A failed input stays one.
func TestHeadIn(t *testing.T) {
	for _, c := range []struct {
		shape   []int
		columns int
		ok      bool
	}{{[]int{3, 4}, 2, true}, {[]int{3, 4}, 3, false}, {nil, 2, false}} {
		g := graph.New(graph.Float64, 1)
		x := g.Root().Value("x", graph.Normal(1), c.shape...)
		if c.shape == nil {
			x = x.MatMul(x)
		}
		HeadIn(g.Root(), "head", halved{}, c.columns)(x)
		if err := g.Err(); (err == nil) != c.ok {
			t.Errorf("%v to %d columns: got error %v", c.shape, c.columns, err)
		}
	}
}

// TestLoRABlocks: adapters are for one to three blocks of columns.
func TestLoRABlocks(t *testing.T) {
	for n := range 5 {
		g := graph.New(graph.Float64, 1)
		NewLoRA(func(string) bool { return true }, 2, 1)(
			g.Root().Sub("l"), 3, slices.Repeat([]int{2}, n), false, graph.Normal(1),
		)
		err := g.Err()
		if (err == nil) != (1 <= n && n <= 3) || n > 3 &&
			!strings.Contains(err.Error(), "l: 4 blocks of columns: adapters are for 1 … 3") {
			t.Errorf("%d blocks: got error %v", n, err)
		}
	}
}

// TestTiedToNothing: a head without an embedding is an error, and so is what it computes.
func TestTiedToNothing(t *testing.T) {
	g := graph.New(graph.Float64, 1)
	l := NewTied(g.Root().Sub("head"), nil)
	if err := g.Err(); err == nil || err.Error() != "head: no embedding whose weight to share" {
		t.Errorf("got error %v", err)
	}
	l.Forward(g.Root().Value("x", graph.Normal(1), 2, 3))
}
