package main

import (
	"context"
	"io"
	"testing"

	"github.com/pedestrian-ml/pedestrian/examples/internal/flagtest"
)

// Every flag has an effect or is refused by name, and so are meaningless numbers.
func TestEveryFlag(t *testing.T) {
	p := flagtest.Program{
		Name: "graph",
		Run: func(_ context.Context, args []string, stdout, stderr io.Writer) error {
			return run(args, stdout, stderr)
		},
		Args: func(string) []string {
			return []string{
				"-n_layer", "1", "-n_head", "2", "-n_embd", "8", "-block_size", "8", "-vocab_size", "9", "-batch_size",
				"2", "-dot", "all",
			}
		},
		Values: flagtest.With(
			flagtest.Network(),
			map[string]string{"head": "linear", "dot": "h.0", "activation": "relu", "preset": "stories15m"},
		),
		Unseen: map[string]string{
			"n_head":   "a number within an operation",
			"dilation": "a number of the mask", "global_tokens": "a number of the mask",
			"sink_tokens": "a number of the mask", "random_keys": "a number of the mask",
			"eps":                    "a number within an operation",
			"rope_theta":             "a number within an operation",
			"rope_attention_factor":  "a number within an operation",
			"rope_beta_fast":         "a number within an operation",
			"rope_beta_slow":         "a number within an operation",
			"rope_unrounded":         "a setting of an operation",
			"rope_short_factor":      "numbers within an operation",
			"rope_long_factor":       "numbers within an operation",
			"partial_rotary_factor":  "a number within an operation",
			"lora_alpha":             "a number within an operation",
			"lora_scale":             "a number within an operation",
			"attn_logit_softcapping": "a number within an operation",
			"num_experts_per_tok":    "a number within an operation",
			"norm_topk_prob":         "a setting of an operation",
			"scoring_func":           "a setting of an operation",
			"swiglu_limit":           "a number within an operation",
			"initialization":         "the values of parameters",
			"memory_limit":           "a limit that the graph stays below",
		},
	}
	p.Check(t)
	p.Refuse(t)
	p.Help(t)
	p.Unread(t)
}

// A typing mistake is answered by what was meant, or by what is wanted.
func TestTypingMistakes(t *testing.T) {
	flagtest.Program{Run: func(_ context.Context, args []string, stdout, stderr io.Writer) error {
		return run(args, stdout, stderr)
	}}.Mistakes(t, [][2]string{
		{"-preset babby", "did you mean baby?"},
		{"-n_heads 3", "did you mean -n_head?"},
	})
}
