package parts

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/nn"
)

// The defaults of sizes and names.
func TestStackDefaults(t *testing.T) {
	got := Library().Design(Stack{NLayer: 2, NHead: 4, NEmbd: 48}).Stack
	want := Stack{NLayer: 2, NHead: 4, NEmbd: 48, QKSize: 12, VSize: 12, NInner: 192, Eps: 1e-5,
		Position: "learned", Attention: "causal", Norm: "layernorm", Block: "pre", Activation: "gelu", MLP: got.MLP,
		Rope: Rope{Theta: 10_000, Scaling: noPart}, Experts: Experts{ScoringFunc: "softmax"}}
	for _, k := range Kinds() {
		want.With.Set(k.Key, noPart)
	}
	want.With.Set("initialization", "scaled_proj")
	if fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", want) || got.MLP != string(MLPs()[0].Name) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	set := want
	set.QKSize, set.VSize, set.NInner, set.Eps, set.Rope.Theta = 1, 2, 3, 4, 5
	if again := Library().Design(set).Stack; again.QKSize != 1 || again.VSize != 2 || again.NInner != 3 ||
		again.Eps != 4 || again.Rope.Theta != 5 {
		t.Errorf("what is set is replaced: %+v", again)
	}
	if none := Library().Design(Stack{}).Stack; none.QKSize != 0 || none.NInner != 0 {
		t.Errorf("of no heads: %+v", none)
	}
	d := got.Dims(3, 7)
	if d != (nn.Dims{Batch: 3, Context: 7, Embd: 48, Heads: 4, QK: 12, V: 12, Inner: 192, Blocks: 2}) {
		t.Errorf("got %+v", d)
	}
}

// The defaults of options, which follow from the sizes of a Stack, also if these are small.
func TestOptionDefaults(t *testing.T) {
	for _, c := range []struct {
		attention string
		embd      int
		want      map[string]int
	}{
		{"mla_rope", 48, map[string]int{"latent_size": 12, "q_latent_size": 24, "rope_size": 6}},
		{"mla_latent_rope", 56, map[string]int{"latent_size": 14, "q_latent_size": 28, "rope_size": 6}},
		{"mla", 48, map[string]int{"latent_size": 12, "q_latent_size": 0}},
		{"mla_rope", 2, map[string]int{"latent_size": 1, "q_latent_size": 1, "rope_size": 2}},
		{"mla_rope", 1, map[string]int{"latent_size": 1, "q_latent_size": 1}},
		{"dilated", 48, map[string]int{"dilation": 1, "global_tokens": 0}},
	} {
		s := Library().Design(Stack{NLayer: 1, NHead: max(1, c.embd/12), NEmbd: c.embd, Attention: c.attention}).Stack
		for name, want := range c.want {
			if got := s.Options.Get(name); got != want {
				t.Errorf("%s of %d features: %s is %d, want %d", c.attention, c.embd, name, got, want)
			}
		}
	}
}

// longRoPE gives s, whose heads have 12 features, the scaling of LongRoPE.
func longRoPE(s *Stack) {
	s.Position, s.Rope.Scaling, s.Rope.Factor, s.Rope.Original = "rope", longrope, 2, 5
	s.Rope.ShortFactor, s.Rope.LongFactor = "1,1,1,1,1,1", "1,2,3,4,5,6"
}

// Invalid settings are refused with both numbers; settings at the border are allowed.
func TestChecks(t *testing.T) {
	for _, c := range []struct {
		change func(s *Stack)
		want   string // empty for no error
	}{
		{func(s *Stack) {}, ""},
		{func(s *Stack) { s.NHead = 5 }, "n_head: 5 heads do not divide n_embd 48"},
		{func(s *Stack) { s.NHead, s.QKSize = 5, 3 }, "n_head: 5 heads do not divide n_embd 48"},
		{func(s *Stack) { s.NHead, s.VSize = 5, 3 }, "n_head: 5 heads do not divide n_embd 48"},
		{func(s *Stack) { s.NHead, s.QKSize, s.VSize = 5, 3, 3 }, ""},
		{func(s *Stack) {
			s.Position, s.NEmbd = "sinusoidal", 15
			s.NHead = 3
		}, "n_embd: got 15, want an even number, such as 16"},
		{func(s *Stack) { s.Position, s.QKSize = "rope", 7 }, "qk_size: got 7, want an even number, such as 8"},
		{func(s *Stack) { s.Attention = "window" }, "window: got 0, want 1 to block_size 6"},
		{func(s *Stack) { s.Attention = "window"; s.Options.Set("window", 1) }, ""},
		{func(s *Stack) { s.Attention = "window"; s.Options.Set("window", 6) }, ""},
		{
			func(s *Stack) { s.Attention = "window"; s.Options.Set("window", 7) },
			"window: got 7, want 1 to block_size 6",
		},
		{func(s *Stack) { s.Attention = "dilated"; s.Options.Set("window", 2); s.Options.Set("dilation", 6) }, ""},
		{
			func(s *Stack) { s.Attention = "dilated"; s.Options.Set("window", 2); s.Options.Set("dilation", 7) },
			"dilation: got 7, want at most block_size 6",
		},
		{
			func(s *Stack) { s.Attention = "bigbird"; s.Options.Set("window", 2); s.Options.Set("random_keys", 7) },
			"random_keys: got 7, want at most block_size 6",
		},
		{
			func(s *Stack) { s.Attention = "bigbird"; s.Options.Set("window", 2); s.Options.Set("global_tokens", 7) },
			"global_tokens: got 7, want at most block_size 6",
		},
		{
			func(s *Stack) { s.Attention = "mla_rope"; s.Options.Set("rope_size", 3) },
			"rope_size: got 3, want an even number, such as 4",
		},
		{func(s *Stack) { s.Attention = "mla_rope" }, ""},
		{func(s *Stack) {
			s.Attention = "mla_rope"
			s.Position = "rope"
		}, "position: got rope, want another with attention mla_rope"},
		{func(s *Stack) { s.Attention, s.Position = "mla", "rope" }, "position: got rope"},
		{func(s *Stack) { s.Block = "elman" }, ""},
		{func(s *Stack) { s.Block, s.Position = "elman", "sinusoidal" }, ""},
		{func(s *Stack) {
			s.Block = "elman"
			s.Position = "rope"
		}, "position: got rope, want learned, sinusoidal or none with block elman"},
		{func(s *Stack) {
			s.Block = "elman"
			s.Position = "alibi"
		}, "position: got alibi, want learned, sinusoidal or none with block elman"},
		{func(s *Stack) {
			s.Block = "elman"
			s.Norm = "layernorm_sigma"
		}, "norm: got layernorm_sigma, want the default, layernorm, with block elman"},
		{func(s *Stack) {
			s.Block = "elman"
			s.Activation = "relu"
		}, "activation: got relu, want the default, gelu, with block elman"},
		{func(s *Stack) { s.MLP = "swiglu" }, ""},
		{func(s *Stack) { s.MLP, s.Activation, s.NInner = "swiglu", "gelu", 7 }, ""},
		{func(s *Stack) {
			s.MLP = "swiglu"
			s.Activation = "silu"
		}, "activation: got silu, want the default, gelu, with mlp swiglu, which has SiLU"},
		{func(s *Stack) {
			s.MLP, s.Block = "swiglu", "post"
			s.Activation = "relu"
		}, "activation: got relu, want the default, gelu, with mlp swiglu"},
		{func(s *Stack) { s.MLP = "moe" }, ""},
		{func(s *Stack) { s.With.Set("xsa", "plain") }, ""},
		{func(s *Stack) { s.With.Set("xsa", "plian") }, "xsa: got plian, want one of none, plain, learned"},
		{
			func(s *Stack) { s.With.Set("xas", "plain") },
			"xas: got plain: the registry has no such kind of part in With",
		},
		{func(s *Stack) { s.With.Set("qk_norm", "heads") }, "qk_norm: got heads, want one of none, head, width"},
		{func(s *Stack) { s.Sublayers.AttentionBias, s.Sublayers.MLPBias = true, true }, ""},
		{func(s *Stack) {
			s.Sublayers.AttentionBias = true
			s.Bias = true
		}, "attention_bias: got true, want false with bias true"},
		{func(s *Stack) { s.Sublayers.MLPBias, s.Bias = true, true }, "mlp_bias: got true, want false with bias true"},
		{func(s *Stack) {
			s.Sublayers.AttentionBias = true
			s.Attention = "gqa_bias"
		}, "attention_bias: got true, want false with attention gqa_bias"},
		{func(s *Stack) {
			s.Sublayers.AttentionBias, s.Attention = true, "causal,linear"
			s.NLayer = 2
		}, "attention_bias: got true, want false with attention linear"},
		{func(s *Stack) { s.Sublayers.MLPBias, s.MLP = true, "moe" }, "mlp_bias: got true, want false with mlp moe"},
		{func(s *Stack) {
			s.Sublayers.MLPBias = true
			s.Block = "elman"
		}, "mlp_bias: got true, want the default, false, with block elman"},
		{func(s *Stack) {
			s.Sublayers.AttentionBias = true
			s.Block = "elman"
		}, "attention_bias: got true, want the default, false, with block elman"},
		{func(s *Stack) {
			s.MLP, s.Experts.NumExperts = "moe", 3
			s.Experts.NumExpertsPerTok = 4
		}, "num_experts_per_tok: got 4, want at most num_experts 3"},
		{func(s *Stack) {
			s.MLP = "moe"
			s.Experts.NumExperts = 1
		}, "num_experts_per_tok: got 2, want at most num_experts 1"},
		{func(s *Stack) {
			s.MLP, s.Experts.NumExpertsPerTok = "moe", 1
			s.Experts.NormTopKProb = true
		}, "norm_topk_prob: got true, want false with num_experts_per_tok 1"},
		{func(s *Stack) {
			s.MLP = "moe"
			s.Activation = "silu"
		}, "activation: got silu, want the default, gelu, with mlp moe, which has SiLU"},
		{func(s *Stack) { s.MLP = "moe"; s.With.Set("short_conv", "canon_ac") }, ""},
		{
			func(s *Stack) { s.MLP = "moe"; s.With.Set("short_conv", "canon_d") },
			"short_conv: got canon_d, want one without place d with mlp moe",
		},
		{func(s *Stack) { s.MLP, s.Experts.RouterBiasUpdateRate, s.Experts.RouterAuxLossCoef = "moe", 0.01, 0.01 }, ""},
		{func(s *Stack) {
			s.MLP, s.Experts.NumExperts = "moe", 2
			s.Experts.RouterBiasUpdateRate = 0.1
		}, "router_bias_update_rate: got 0.1, want 0 with num_experts_per_tok 2 of num_experts 2"},
		{
			func(s *Stack) { s.Experts.RouterBiasUpdateRate = 0.1 },
			"router_bias_update_rate: got 0.1, want its default with mlp mlp",
		},
		{func(s *Stack) { s.MLP, s.Experts.SwigluLimit = "moe_clamped", 2 }, ""},
		{func(s *Stack) {
			s.MLP = "moe"
			s.Experts.SwigluLimit = 2
		}, "swiglu_limit: got 2, want 0 with mlp moe, which has no limit"},
		{func(s *Stack) { s.Experts.SwigluLimit = 2 }, "swiglu_limit: got 2, want 0 with mlp mlp"},
		{
			func(s *Stack) { s.Experts.NumExperts = 8 },
			"num_experts: got 8, want its default with mlp mlp, which has no experts",
		},
		{func(s *Stack) {
			s.MLP = "swiglu"
			s.Experts.NormTopKProb = true
		}, "norm_topk_prob: got true, want its default with mlp swiglu"},
		{
			func(s *Stack) { s.Experts.RouterAuxLossCoef = 0.1 },
			"router_aux_loss_coef: got 0.1, want its default with mlp mlp",
		},
		{
			func(s *Stack) { s.Experts.ScoringFunc = "sigmoid" },
			"scoring_func: got sigmoid, want its default with mlp mlp",
		},
		{func(s *Stack) { s.Experts.NSharedExperts = 2 }, "n_shared_experts: got 2, want its default"},
		{
			func(s *Stack) { s.Block = "elman"; s.With.Set("qk_norm", "head") },
			"qk_norm: got head, want the default, none, with block elman",
		},
		{
			func(s *Stack) { s.Block = "elman"; s.With.Set("attn_gate", "headwise") },
			"attn_gate: got headwise, want the default, none, with block elman",
		},
		{func(s *Stack) {
			s.Rope.Scaling = "linear"
			s.Rope.Factor = 2
		}, "rope_scaling: got linear, want none with position learned, which is not rope"},
		{func(s *Stack) {
			s.Position, s.Rope.Scaling = "rope", "linear"
			s.Rope.Factor = 1
		}, "rope_factor: got 1, want more than 1 with rope_scaling linear"},
		{func(s *Stack) { s.Position, s.Rope.Factor = "rope", 2 }, "rope_factor: got 2, want 0 with rope_scaling none"},
		{func(s *Stack) {
			s.Position, s.Rope.Scaling = "rope", "yarn"
			s.Rope.Factor = 2
		}, "rope_original: got 0, want the context in training with rope_scaling yarn"},
		{func(s *Stack) {
			s.Position, s.Rope.Scaling = "rope", "linear"
			s.Rope.Factor, s.Rope.Original = 2, 9
		}, "rope_original: got 9, want 0 with rope_scaling linear"},
		{func(s *Stack) { s.Rope.BetaFast = 9 }, "rope_beta_fast: got 9, want its default with rope_scaling none"},
		{func(s *Stack) {
			s.Position, s.Rope.Scaling, s.Rope.Factor, s.Rope.Unrounded = "rope", "linear", 2, true
		}, "rope_unrounded: got true, want its default with rope_scaling linear"},
		{func(s *Stack) { longRoPE(s) }, ""},
		{func(s *Stack) { longRoPE(s); s.Rope.Factor = 0.5 }, ""},
		{
			func(s *Stack) { longRoPE(s); s.Rope.Factor = 0 },
			"rope_factor: got 0, want more than 0 with rope_scaling longrope",
		},
		{
			func(s *Stack) { longRoPE(s); s.Rope.Original = 1 },
			"rope_original: got 1, want at least 2 with rope_scaling longrope",
		},
		{func(s *Stack) { longRoPE(s); s.Rope.ShortFactor = "" }, "rope_short_factor: got 0 factors, want 6"},
		{func(s *Stack) { longRoPE(s); s.Rope.PartialRotaryFactor = 0.5 }, "rope_short_factor: got 6 factors, want 3"},
		{func(s *Stack) { longRoPE(s); s.Rope.LongFactor = "1,2" }, "rope_long_factor: got 2 factors, want 6"},
		{
			func(s *Stack) { longRoPE(s); s.Rope.BetaFast = 9 },
			"rope_beta_fast: got 9, want its default with rope_scaling longrope",
		},
		{
			func(s *Stack) { s.Rope.LongFactor = "1,2" },
			"rope_long_factor: got 1,2, want its default with rope_scaling none",
		},
		{func(s *Stack) {
			s.Position, s.Rope.Scaling, s.Rope.Factor, s.Rope.Original, s.Rope.BetaSlow = "rope", "yarn", 2, 9, 32
		}, "rope_beta_fast: got 32, want more than rope_beta_slow 32"},
		{
			func(s *Stack) { s.Block = "elman"; s.With.Set("value_residual", "learned") },
			"value_residual: got learned, want the default, none, with block elman",
		},
		{
			func(s *Stack) { s.NLayer = 1; s.With.Set("value_residual", "learned") },
			"value_residual: got learned, want none with n_layer 1",
		},
		{
			func(s *Stack) { s.Block = "elman"; s.With.Set("initialization", "zero_proj") },
			"initialization: got zero_proj, want the default, scaled_proj, with block elman",
		},
		{func(s *Stack) { s.NLayer = 1; s.With.Set("skips", "unet") }, "skips: got unet, want none with n_layer 1"},
		{
			func(s *Stack) { s.Block = "elman"; s.With.Set("short_conv", "canon_a") },
			"short_conv: got canon_a, want the default, none, with block elman",
		},
		{func(s *Stack) {
			s.NHead, s.NEmbd = 3, 48
			s.Attention = "diff"
		}, "n_head: got 3, want an even number with attention diff: two heads share a value"},
		{
			func(s *Stack) { s.Attention = "linear"; s.With.Set("attn_gate", "elementwise") },
			"attn_gate: got elementwise, want none with attention linear, which has no gate",
		},
		{
			func(s *Stack) { s.Block = "elman"; s.With.Set("attn_sinks", "learned") },
			"attn_sinks: got learned, want the default, none, with block elman",
		},
		{
			func(s *Stack) { s.Attention = "sigmoid"; s.With.Set("attn_sinks", "learned") },
			"attn_sinks: got learned, want none with attention sigmoid, whose weights are not softmaxes",
		},
		{func(s *Stack) {
			s.Attention = "longformer"
			s.With.Set("attn_sinks", "learned")
			s.Options.Set("window", 2)
			s.Options.Set("dilation", 1)
		}, "attn_sinks: got learned, want none with attention longformer"},
		{
			func(s *Stack) { s.Attention = "mla"; s.With.Set("qk_norm", "head") },
			"qk_norm: got head, want none with attention mla: keys that are normalised",
		},
		{
			func(s *Stack) { s.Attention = "mla_rope"; s.With.Set("qk_norm", "width") },
			"qk_norm: got width, want none with attention mla_rope",
		},
		{func(s *Stack) {
			s.Block = "elman"
			s.MLP = "swiglu"
		}, "mlp: got swiglu, want the default, mlp, with block elman"},
		{func(s *Stack) {
			s.Block = "elman"
			s.Attention = "linear"
		}, "attention: got linear, want the default, causal, with block elman"},
	} {
		s := Stack{NLayer: 2, NHead: 4, NEmbd: 48}
		c.change(&s)
		if err := Library().Design(s).Validate(6); (err == nil) != (c.want == "") || err != nil &&
			!strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%+v: got error %v, want %q", s, err, c.want)
		}
	}
}

// Dilations rise evenly from the first head to the last, windows are symmetric, and only the odd blocks of alternating
// attention have one.
func TestVisibleKeys(t *testing.T) {
	at := nn.Site{
		Scope: graph.New(graph.Float64, 1).Root(),
		Dims:  nn.Dims{Batch: 1, Context: 12, Embd: 10, Heads: 5, QK: 2, V: 2, Blocks: 2},
		Style: nn.Style{Affine: nn.NewLinear},
	}
	var o Options
	o.Set("window", 3)
	o.Set("dilation", 4)
	o.Set("global_tokens", 2)
	v := dilatedWindow(at, o)
	if v.Width != 5 || !slices.Equal(v.Dilation, []int{1, 1, 2, 3, 4}) || !slices.Equal(v.Global, []int{0, 1}) {
		t.Errorf("got %+v", v)
	}
	at.Heads = 1
	if v := dilatedWindow(at, o); !slices.Equal(v.Dilation, []int{1}) {
		t.Errorf("one head has dilations %v", v.Dilation)
	}
	at.Heads = 5
	at.Mask = nn.NewMask(at.Scope.Sub("whole"), at.Dims, nn.Causal{})
	attention := alternating(at, Stack{Options: o})
	for block, far := range []bool{true, false, true, false} {
		at := at
		at.Block, at.Scope = block, at.Scope.Sub("h.%d", block)
		x := at.Value("x", graph.Normal(1), 12, 10)
		p, err := graph.Compile(attention(at).Forward(x))
		if err != nil {
			t.Fatal(err)
		}
		row := func() []float64 { // of query 9
			if err := p.Run(); err != nil {
				t.Fatal(err)
			}
			return p.Value().Row(9).Floats()
		}
		sees := func(key int) bool {
			before := row()
			x.Tensor().Set(key*10, x.Tensor().At(key*10)+1)
			return !slices.Equal(row(), before)
		}
		if a, b, c := sees(2), sees(7), sees(10); a != far || !b || c {
			t.Errorf("block %d: query 9 sees key 2 %t, key 7 %t, key 10 %t, want %t, true, false", block, a, b, c, far)
		}
	}
}

// Linformer's keys are mixtures of all tokens, so a model that requires a causal attention refuses it.
func TestRejectCausal(t *testing.T) {
	if err := rejectCausal(nn.Dims{}, Stack{Attention: "linformer"}); err == nil ||
		!strings.HasPrefix(err.Error(), "attention: got linformer") {
		t.Errorf("got error %v", err)
	}
}

// The smallest sizes that are allowed.
func TestSizeFields(t *testing.T) {
	s := Stack{NLayer: 1, NHead: 1, NEmbd: 1}
	if err := s.SizeFields().Check(); err != nil {
		t.Error(err)
	}
	s.NLayer = 0
	if err := s.SizeFields().Check(); err == nil || !strings.HasPrefix(err.Error(), "n_layer: got 0") {
		t.Errorf("got error %v", err)
	}
}

// Links stand in the order in which checkpoints hold their parameters: a value residual before norms of queries and
// keys, and exclusion before a gate.
func TestLinksKeepTheirOrder(t *testing.T) {
	s := Stack{With: Choose("qk_norm", "head")}
	s.With.Set("value_residual", "learned")
	s.With.Set("attn_gate", "headwise")
	s.With.Set("xsa", "plain")
	names := ""
	links := s.Links(Kinds())
	for _, l := range append(links.Before, links.After...) {
		names += l.Name + " "
	}
	if want := "value_residual qk_norm xsa attn_gate "; names != want {
		t.Errorf("got %q, want %q", names, want)
	}
}
