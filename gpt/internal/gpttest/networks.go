package gpttest

import (
	"math"
	"path/filepath"
	"testing"

	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/parts"
	"github.com/pedestrian-ml/pedestrian/gpt/published"
	"github.com/pedestrian-ml/pedestrian/gpt/text"
	"github.com/pedestrian-ml/pedestrian/gpt/text/chat"
)

// Networks returns small networks of every published family.
func Networks() map[string]gpt.Config {
	with := func(change func(c *gpt.Config)) gpt.Config {
		c := Tiny()
		c.QKSize, c.VSize, c.VocabSize = 0, 0, 41
		change(&c)
		return c
	}
	llama := func(c *gpt.Config) {
		c.Position, c.Norm, c.MLP, c.Activation = "rope", "rmsnorm", "swiglu", ""
		c.Eps, c.Rope.Theta, c.NInner = 1e-6, 500, 24
		c.NHead, c.NEmbd = 4, 24
	}
	gemma := func(c *gpt.Config) {
		llama(c)
		c.MLP, c.Block, c.Head = "geglu_tanh", "sandwich", "tied"
		c.Attention, c.EmbeddingMultiplier = "gqa_window", math.Sqrt(24)
		c.Options.Set("n_kv_head", 2)
		c.Options.Set("window", 3)
	}
	return map[string]gpt.Config{
		"gpt2": with(func(c *gpt.Config) { c.Bias = true }), "gpt2 without biases": with(func(c *gpt.Config) {}),
		"gpt2, untied, narrow": with(func(c *gpt.Config) {
			c.Head, c.Activation, c.NInner = "linear", "gelu_tanh", 23
		}),
		"llama":             with(llama),
		"llama, wide heads": with(func(c *gpt.Config) { llama(c); c.QKSize, c.VSize, c.Head = 10, 10, "linear" }),
		"llama, groups": with(func(c *gpt.Config) {
			llama(c)
			c.Attention = "gqa"
			c.Options.Set("n_kv_head", 2)
		}),
		"llama, scaled": with(func(c *gpt.Config) {
			llama(c)
			c.Rope.Scaling, c.Rope.Factor, c.Rope.Original = "llama3", 3, 30
		}),
		"llama, yarn": with(func(c *gpt.Config) {
			llama(c)
			c.Rope.Scaling, c.Rope.Factor, c.Rope.Original, c.Rope.BetaFast, c.Rope.BetaSlow = "yarn", 4, 5, 3, 0.5
			c.Rope.Unrounded, c.Rope.AttentionFactor = true, 1.25
		}),
		"llama, with biases": with(func(c *gpt.Config) {
			llama(c)
			c.Sublayers.AttentionBias, c.Sublayers.MLPBias, c.Attention = true, true, "gqa"
			c.Options.Set("n_kv_head", 2)
		}),
		"llama, with biases of the MLP": with(func(c *gpt.Config) { llama(c); c.Sublayers.MLPBias = true }),
		"arcee, biases": with(func(c *gpt.Config) {
			llama(c)
			c.MLP, c.Activation, c.Attention, c.Bias, c.Head = "", "relu2", "gqa", true, "tied"
		}),
		"qwen3_moe, biases": with(func(c *gpt.Config) {
			llama(c)
			c.Attention, c.MLP, c.Experts.NumExperts = "gqa", "moe", 4
			c.Experts.NumExpertsPerTok, c.Sublayers.AttentionBias = 2, true
			c.With.Set("qk_norm", "head")
		}),
		"cohere, biases": with(func(c *gpt.Config) {
			llama(c)
			c.Norm, c.Attention, c.Block = "layernorm", "gqa", "parallel"
			c.LogitsScaling, c.Sublayers.AttentionBias, c.Head = 4, true, "tied"
		}),
		"qwen2": with(func(c *gpt.Config) { llama(c); c.Attention = "gqa_bias"; c.Options.Set("n_kv_head", 1) }),
		"qwen2, linear": with(func(c *gpt.Config) {
			llama(c)
			c.Attention, c.Rope.Scaling = "gqa_bias", "linear"
			c.Rope.Factor = 2.5
		}),
		"qwen3": with(func(c *gpt.Config) {
			llama(c)
			c.Attention, c.QKSize, c.VSize = "gqa", 10, 10
			c.With.Set("qk_norm", "head")
			c.Options.Set("n_kv_head", 2)
		}),
		"qwen3, yarn": with(func(c *gpt.Config) {
			llama(c)
			c.Attention, c.Rope.Scaling, c.Rope.Factor, c.Rope.Original = "gqa", "yarn", 4, 5
			c.With.Set("qk_norm", "head")
		}),
		"smollm3": with(func(c *gpt.Config) {
			llama(c)
			c.NLayer, c.Attention, c.Rope.NoRopeLayerInterval = 4, "gqa", 2
			c.Options.Set("n_kv_head", 2)
		}),
		"mistral": with(func(c *gpt.Config) {
			llama(c)
			c.Attention = "gqa_window"
			c.Options.Set("n_kv_head", 2)
			c.Options.Set("window", 3)
		}),
		"gemma2": with(func(c *gpt.Config) {
			gemma(c)
			c.NLayer, c.Sublayers.AttnLogitSoftcapping, c.LogitCap, c.AttentionMultiplier = 4, 5, 3, 0.5
			c.Options.Set("full_attention_interval", 2)
		}),
		"gemma3_text": with(func(c *gpt.Config) {
			gemma(c)
			c.NLayer, c.Rope.LocalBaseFreq, c.Rope.Scaling, c.Rope.Factor = 3, 20, "linear", 8
			c.With.Set("qk_norm", "head")
			c.Options.Set("full_attention_interval", 3)
		}),
		"phi3": with(func(c *gpt.Config) {
			llama(c)
			c.Attention, c.Head, c.Rope.PartialRotaryFactor, c.QKSize, c.VSize = "gqa", "linear", 0.75, 8, 8
			c.Options.Set("n_kv_head", 2)
		}),
		"phi3, longrope": with(func(c *gpt.Config) {
			llama(c)
			c.Attention, c.Head, c.Rope.PartialRotaryFactor, c.QKSize, c.VSize = "gqa", "linear", 0.75, 8, 8
			c.Rope.Scaling, c.Rope.Factor, c.Rope.Original = "longrope", 2, 4
			c.Rope.ShortFactor, c.Rope.LongFactor = "1,1.5,2", "1.25,4,9.5"
		}),
		"phi3, longrope of a longer context": with(func(c *gpt.Config) { // whose first tokens alone are read
			llama(c)
			c.Attention, c.Head, c.QKSize, c.VSize = "gqa", "linear", 8, 8
			c.Rope.Scaling, c.Rope.Factor, c.Rope.Original = "longrope", 32, 6
			c.Rope.ShortFactor, c.Rope.LongFactor = "1,1.5,2,3", "1.25,4,9.5,7"
		}),
		"phi3, longrope of a short context": with(func(c *gpt.Config) {
			llama(c)
			c.Attention, c.Head, c.QKSize, c.VSize, c.Rope.AttentionFactor = "gqa", "linear", 8, 8, 1.2
			c.Rope.Scaling, c.Rope.Factor, c.Rope.Original = "longrope", 0.5, 16
			c.Rope.ShortFactor, c.Rope.LongFactor = "1,1.5,2,3", "1.25,4,9.5,7"
		}),
		"gpt_neox": with(func(c *gpt.Config) {
			c.Bias, c.Position, c.Block = true, "rope", "parallel_two"
			c.Head, c.Rope.PartialRotaryFactor = "linear_no_bias", 0.25
			c.NHead, c.NEmbd, c.NInner = 3, 24, 31
		}),
		"gpt_neox, one after the other": with(func(c *gpt.Config) {
			c.Bias, c.Position, c.NHead = true, "rope", 3
			c.NEmbd, c.Rope.PartialRotaryFactor, c.Rope.Theta = 24, 0.5, 500
		}),
		"gpt_neo": with(func(c *gpt.Config) {
			c.Bias, c.Attention, c.NLayer = true, "alternating_proj_bias", 3
			c.AttentionMultiplier, c.Activation = 1, "gelu_tanh"
			c.Options.Set("window", 3)
		}),
		"opt": with(func(c *gpt.Config) { c.Bias, c.Activation, c.Head = true, "relu", "linear_no_bias" }),
		"granite": with(func(c *gpt.Config) {
			llama(c)
			c.Attention = "gqa"
			c.Multipliers = parts.Multipliers{
				EmbeddingMultiplier: 12, AttentionMultiplier: 0.015625, ResidualMultiplier: 0.22, LogitsScaling: 8,
			}
			c.Options.Set("n_kv_head", 2)
		}),
		"gemma": with(func(c *gpt.Config) {
			llama(c)
			c.MLP, c.Head, c.Attention = "geglu_tanh", "tied", "gqa"
			c.EmbeddingMultiplier, c.QKSize, c.VSize = math.Sqrt(24), 10, 10
		}),
		"olmo": with(func(c *gpt.Config) {
			llama(c)
			c.Norm, c.Attention, c.Eps = "layernorm_plain", "gqa", 1e-5
			c.Options.Set("n_kv_head", 2)
		}),
		"phi": with(func(c *gpt.Config) {
			c.Bias, c.Position, c.Block, c.Head, c.Rope.PartialRotaryFactor = true, "rope", "parallel", "linear", 0.5
			c.NHead, c.NEmbd, c.NInner, c.Activation = 3, 24, 31, "gelu_tanh"
		}),
		"arcee": with(func(c *gpt.Config) {
			llama(c)
			c.MLP, c.Activation, c.Attention = "", "relu2", "gqa"
			c.Rope.Scaling, c.Rope.Factor, c.Rope.Original = "yarn", 4, 5
			c.Options.Set("n_kv_head", 2)
		}),
		"glm": with(func(c *gpt.Config) {
			llama(c)
			c.Attention, c.Head, c.Rope.PartialRotaryFactor, c.QKSize, c.VSize = "gqa_bias", "linear", 0.5, 8, 8
			c.Options.Set("n_kv_head", 2)
		}),
		"glm4": with(func(c *gpt.Config) {
			llama(c)
			c.Attention, c.Head, c.Block = "gqa_bias", "linear", "sandwich"
			c.Rope.PartialRotaryFactor, c.QKSize, c.VSize = 0.5, 8, 8
			c.Options.Set("n_kv_head", 2)
		}),
		"qwen3, windows": with(func(c *gpt.Config) {
			llama(c)
			c.NLayer, c.Attention = 4, "gqa_window"
			c.With.Set("qk_norm", "head")
			c.Options.Set("window", 3)
			c.Options.Set("full_attention_interval", 2)
		}),
		"cohere": with(func(c *gpt.Config) {
			llama(c)
			c.Norm, c.Attention, c.Block, c.LogitsScaling, c.Head = "layernorm", "gqa", "parallel", 4, "tied"
			c.Options.Set("n_kv_head", 2)
		}),
		"starcoder2": with(func(c *gpt.Config) {
			c.Bias, c.Position, c.Attention = true, "rope", "gqa_window"
			c.Activation, c.NHead, c.NEmbd = "gelu_tanh", 4, 24
			c.Options.Set("n_kv_head", 2)
			c.Options.Set("window", 3)
		}),
		"gpt_bigcode": with(func(c *gpt.Config) {
			c.Bias, c.Attention, c.Activation, c.NInner = true, "gqa", "gelu_tanh", 23
			c.Options.Set("n_kv_head", 1)
		}),
		"olmo2": with(func(c *gpt.Config) {
			llama(c)
			c.Attention, c.Block = "gqa", "post_part"
			c.With.Set("qk_norm", "width")
			c.Options.Set("n_kv_head", 2)
		}),
		"mixtral": with(func(c *gpt.Config) {
			llama(c)
			c.Attention, c.MLP, c.Experts.NumExperts = "gqa_window", "moe", 5
			c.Experts.NumExpertsPerTok, c.Experts.NormTopKProb = 2, true
			c.Options.Set("n_kv_head", 2)
			c.Options.Set("window", 3)
		}),
		"gpt_oss": with(func(c *gpt.Config) {
			llama(c)
			c.Attention, c.MLP, c.Experts.NumExperts = "gqa_window", "moe_clamped", 5
			c.Experts.NumExpertsPerTok, c.Experts.NormTopKProb, c.Experts.SwigluLimit = 2, true, 0.4
			c.Sublayers.AttentionBias, c.QKSize, c.VSize, c.NInner, c.Head = true, 8, 8, 10, "linear_no_bias"
			c.With.Set("attn_sinks", "learned")
			c.Rope.Scaling, c.Rope.Factor, c.Rope.Original, c.Rope.Unrounded = "yarn", 4, 5, true
			c.Options.Set("n_kv_head", 2)
			c.Options.Set("window", 3)
			c.Options.Set("full_attention_interval", 2)
		}),
		"gpt_oss, plain": with(func(c *gpt.Config) {
			llama(c)
			c.Attention, c.MLP, c.Experts.NumExperts = "gqa", "moe_clamped", 3
			c.Experts.NumExpertsPerTok, c.Experts.NormTopKProb = 2, true
			c.Experts.RouterAuxLossCoef = 0.5
			c.With.Set("attn_sinks", "learned")
		}),
		"qwen3_moe": with(func(c *gpt.Config) {
			llama(c)
			c.Attention, c.QKSize, c.VSize, c.MLP = "gqa", 10, 10, "moe"
			c.With.Set("qk_norm", "head")
			c.Experts.NumExperts, c.Experts.NumExpertsPerTok, c.Experts.NormTopKProb = 12, 3, true
			c.Options.Set("n_kv_head", 2)
		}),
		"olmoe": with(func(c *gpt.Config) {
			llama(c)
			c.Attention, c.MLP, c.Experts.NumExperts, c.Experts.NumExpertsPerTok = "gqa", "moe", 4, 2
			c.With.Set("qk_norm", "width")
			c.Experts.RouterAuxLossCoef = 0.25
			c.Options.Set("n_kv_head", 2)
		}),
	}
}

// Exported returns the folder of a model.
func Exported(t testing.TB, m *gpt.Model, tok text.Tokenizer, dtype string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "model")
	if err := published.Export(t.Context(), dir, m, tok, dtype, chat.Template{}); err != nil {
		t.Fatal(err)
	}
	return dir
}
