package main

import (
	"path/filepath"
	"testing"

	"github.com/pedestrian-ml/pedestrian/examples/internal/flagtest"
)

// Every flag has an effect or is refused by name, and so are meaningless numbers.
func TestEveryFlag(t *testing.T) {
	p := flagtest.Program{
		Run:  run,
		Name: "translate",
		Args: func(dir string) []string { return small(dir, "-length_penalty", "1") },
		Values: map[string]string{"preset": "llama", "model": t.TempDir(),
			"out_dir": t.TempDir(), "data": filepath.Join(t.TempDir(), "none"), "resume": "true", "translate": "two",
			"source_unit": "characters", "target_unit": "words", "held_out": "0.2", "below": "250", "tests": "9",
			"beams":          "1",
			"length_penalty": "9", "minutes": "1e-9", "eval_interval": "2", "log_interval": "1", "seed": "3",
			"source_size": "9", "target_size": "99", "source_vocab": "99", "target_vocab": "99",
			"position": "none", "attention": "linear", "norm": "rmsnorm", "block": "post", "activation": "relu",
			"mlp": "swiglu", "qk_norm": "width", "attn_gate": "headwise", "attn_sinks": "learned",
			"short_conv": "canon_ac", "value_residual": "learned with -n_layer 2", "skips": "embedding with -n_layer 2",
			"xsa": "plain", "hyper_connections": "mhc", "smear": "learned", "initialization": "zero_proj",
			"rope_scaling":  "linear with -position rope -rope_factor 2 -qk_size 4",
			"rope_factor":   "4 with -position rope -rope_scaling linear -qk_size 4",
			"rope_original": "9 with -position rope -rope_scaling yarn -rope_factor 2 -qk_size 4",
			"rope_beta_fast": "1.1 with -position rope -rope_scaling yarn -rope_factor 2 -rope_original 9 -qk_size " +
				"4 -rope_unrounded -rope_theta 4 -rope_beta_slow 0.1",
			"rope_beta_slow": "2 with -position rope -rope_scaling yarn -rope_factor 2 -rope_original 9 -qk_size 4 " +
				"-rope_unrounded " +
				"-rope_theta 4", "rope_unrounded": "true with -position rope -rope_scaling yarn -rope_factor 2 " +
				"-rope_original 9 -qk_size 4 -rope_theta 4 -rope_beta_fast 1.1 -rope_beta_slow 0.1",
			"rope_attention_factor": "2 with -position rope -rope_scaling yarn -rope_factor 2 -rope_original 9 " +
				"-qk_size 4", "rope_short_factor": "1,3 with -position rope -rope_scaling longrope -rope_factor 2 " +
				"-qk_size 4 -rope_original 99 -rope_long_factor 1,1",
			"rope_long_factor": "1,3 with -position rope -rope_scaling longrope -rope_factor 2 -qk_size 4 " +
				"-rope_original 2 -rope_short_factor 1,1", "muon_scale": "spectral with -optimizer muon",
			"partial_rotary_factor":  "0.5 with -position rope -qk_size 4",
			"no_rope_layer_interval": "2 with -position rope -n_layer 2",
			"swiglu_limit":           "0.01 with -mlp moe_clamped -num_experts 3", "attention_bias": "true",
			"mlp_bias": "true", "label_smoothing": "0.2", "z_loss": "0.1",
			"precision": "bf16", "frozen": "encoder.*", "optimizer": "sgd", "grad_clip": "0.001", "dropout": "0.5",
			"eps":     "0.1",
			"qk_size": "4", "v_size": "4", "n_inner": "8", "rope_theta": "4 with -position rope", "lr_decay_iters": "3",
			"ema": "0.9", "patience": "1 with -eval_interval 2", "scoring_func": "sigmoid with -mlp moe -num_experts 3",
			"schedule": "linear", "cooldown_iters": "2 with -schedule wsd", "n_head": "1",
			"window": "2 with -attention window", "n_layer": "2",
		},
		Unseen: map[string]string{
			"mixed_keys": "of texts of one length",

			"rope_local_base_freq": "of attention gqa_window, which only a decoder has",
			"threads":              "the same bits",
			"kernels":              "the same but for rounding",
			"recompute":            "the same bits",
			"memory_limit":         "a limit that the run stays below",
			"shard_optimizer":      "of several ranks",
		},
	}
	p.Check(t)
	p.Refuse(t)
	p.Help(t)
	p.Unread(t)
	p.Closed(t)
}

// A typing mistake is answered by what was meant, or by what is wanted.
func TestTypingMistakes(t *testing.T) {
	flagtest.Program{Run: run}.Mistakes(t, [][2]string{
		{"-source_unit word", "did you mean words?"},
		{"-attention linformr", "did you mean linformer?"},
	})
}
