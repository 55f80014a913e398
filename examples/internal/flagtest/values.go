package flagtest

import "maps"

// Small returns the flags of a tiny network and a short training of it, in which every setting has an effect.
func Small() []string {
	return []string{"-n_layer", "1", "-n_head", "2", "-n_embd", "8", "-block_size", "8", "-batch_size", "2",
		"-max_iters", "12", "-warmup_iters", "1", "-lr_decay_iters", "12", "-weight_decay", "0.1",
		"-learning_rate", "0.2"}
}

// yarn holds the other flags of a number of YaRN.
const yarn = "with -position rope -rope_scaling yarn -rope_factor 2 -rope_original 9 -qk_size 4"

// longrope holds the other flags of a list of LongRoPE's factors.
const longrope = "with -position rope -rope_scaling longrope -rope_factor 2 -qk_size 4"

// Network returns values for the flags of a gpt.Config that affect the run of Small.
func Network() map[string]string {
	return map[string]string{
		"n_layer": "2", "n_head": "1", "n_embd": "4", "block_size": "10", "vocab_size": "90", "batch_size": "3",
		"max_iters": "9", "warmup_iters": "2", "lr_decay_iters": "3", "weight_decay": "0.3", "dropout": "0.5",
		"eps": "0.1", "qk_size": "6", "v_size": "6", "n_inner": "12", "rope_theta": "4 with -position rope",
		"position": "rope", "attention": "linear", "norm": "rmsnorm", "block": "post", "activation": "relu",
		"head": "tied", "mlp": "swiglu", "qk_norm": "head",
		"attn_gate": "elementwise", "attn_sinks": "learned", "short_conv": "canon_d",
		"value_residual": "learned with -n_layer 2", "skips": "unet with -n_layer 2", "initialization": "zero_proj",
		"xsa": "plain", "hyper_connections": "mhc", "smear": "learned",
		"rope_scaling":          "linear with -position rope -rope_factor 2 -qk_size 4",
		"rope_factor":           "4 with -position rope -rope_scaling linear -qk_size 4",
		"rope_original":         "9 with -position rope -rope_scaling yarn -rope_factor 2 -qk_size 4",
		"rope_beta_fast":        "1.1 " + yarn + " -rope_unrounded -rope_theta 4 -rope_beta_slow 0.1",
		"rope_beta_slow":        "2 " + yarn + " -rope_unrounded -rope_theta 4",
		"rope_unrounded":        "true " + yarn + " -rope_theta 4 -rope_beta_fast 1.1 -rope_beta_slow 0.1",
		"rope_attention_factor": "2 " + yarn,
		"rope_short_factor":     "1,3 " + longrope + " -rope_original 8 -rope_long_factor 1,1",
		"rope_long_factor":      "1,3 " + longrope + " -rope_original 7 -rope_short_factor 1,1",
		"precision":             "bf16", "frozen": "wte.*", "lora_r": "2",
		"lora_alpha": "3 with -lora_r 2", "lora_targets": "c_attn with -lora_r 2",
		"lora_scale": "alpha with -lora_r 2", "lora_fused": "true with -lora_r 2", "window": "2 with -attention window",
		"dilation": "3 with -attention dilated -window 2", "grad_clip": "0.01",
		"sink_tokens":   "1 with -attention window -window 2",
		"global_tokens": "2 with -attention bigbird -window 2",
		"random_keys":   "1 with -attention bigbird -window 2 -global_tokens 1",
		"latent_size":   "3 with -attention mla", "q_latent_size": "2 with -attention mla_rope -position none",
		"rope_size": "4 with -attention mla_rope -position none", "n_kv_head": "1 with -attention gqa",
		"swiglu_limit": "0.01 with -mlp moe_clamped -num_experts 3", "attention_bias": "true", "mlp_bias": "true",
		"num_experts": "3 with -mlp moe", "num_experts_per_tok": "1 with -mlp moe -num_experts 3",
		"n_shared_experts": "1 with -mlp moe -num_experts 3", "norm_topk_prob": "true with -mlp moe -num_experts 3",
		"scoring_func":            "sigmoid with -mlp moe -num_experts 3",
		"router_aux_loss_coef":    "0.5 with -mlp moe -num_experts 3",
		"router_bias_update_rate": "0.01 with -mlp moe -num_experts 3",
		"n_groups":                "2 with -attention mamba2",
		"learning_rate":           "0.1", "min_lr": "0.001", "seed": "3", "optimizer": "sgd",
		"carry":         "true with -attention gla -position none",
		"feature_order": "1 with -attention taylor", "schedule": "linear", "cooldown_iters": "4 with -schedule wsd",
		"muon_momentum": "0.5 with -optimizer muon", "muon_steps": "1 with -optimizer muon",
		"muon_scale":             "spectral with -optimizer muon",
		"precondition_frequency": "2 with -optimizer soap", "shampoo_beta": "0.5 with -optimizer soap",
		"max_precond_dim":        "8 with -optimizer soap",
		"partial_rotary_factor":  "0.5 with -position rope -qk_size 4",
		"no_rope_layer_interval": "2 with -position rope -n_layer 2 -qk_size 4",
		"label_smoothing":        "0.2", "z_loss": "0.1", "n_future_tokens": "3",
		"full_attention_interval": "2 with -attention gqa_window -window 2 -n_layer 2",
		"rope_local_base_freq": "9 with -attention gqa_window -window 2 -n_layer 2 -full_attention_interval 2 " +
			"-position rope -qk_size 4",
		"embedding_multiplier": "2", "attention_multiplier": "2", "residual_multiplier": "2", "logits_scaling": "2",
		"ema": "0.9", "attn_logit_softcapping": "0.1", "final_logit_softcapping": "0.5",
		"parametrization": "mup with -base_width 4", "base_width": "5 with -parametrization mup",
		"base_depth": "3 with -parametrization mup -base_width 4",
		"base_head":  "3 with -parametrization mup -base_width 4",
	}
}

// With returns the values overridden by more.
func With(values map[string]string, more map[string]string) map[string]string {
	all := maps.Clone(values)
	maps.Copy(all, more)
	return all
}
