package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/examples/internal/flagtest"
)

// Every flag does something in each of the program's tasks, or is refused by name, and so is a number that means
// nothing.
func TestEveryFlag(t *testing.T) {
	model := made(t)
	hens := written(t, strings.Repeat("the hen has a nest\n", 60))
	other := written(t, strings.Repeat("another text of two lines\n", 60))
	adapter := filepath.Join(t.TempDir(), "adapter")
	called(t, "-model", model, "-tune", hens, "-max_iters", "1", "-batch_size", "1", "-gradient_accumulation_steps",
		"1",
		"-block_size", "8", "-lora_r", "2", "-out_dir", adapter)
	pairs := written(t, strings.Repeat(`{"prompt": "the hen", "chosen": " has a nest", "rejected": " has"}`+"\n"+
		`{"prompt": "the cow", "chosen": " is", "rejected": " was"}`+"\n", 6))
	otherPairs := written(
		t, strings.Repeat(`{"prompt": "the hen", "chosen": " is", "rejected": " has a nest"}`+"\n", 12),
	)
	otherPrompts := written(t, strings.Repeat(`{"prompt": "the cow", "answer": "e"}`+"\n", 12))
	prompts := written(t, strings.Repeat(`{"prompt": "the hen", "answer": "a"}`+"\n", 12))
	trained := filepath.Join(t.TempDir(), "trained") // whose answers get different rewards
	called(
		t,
		append(
			flagtest.Small(), "-train", hens, "-tokenizer", "train:260", "-out_dir", trained, "-max_iters", "40",
			"-learning_rate", "0.01",
		)...,
	)
	unseen := map[string]string{
		"threads":         "the same bits",
		"kernels":         "the same but for rounding",
		"recompute":       "the same bits",
		"memory_limit":    "a limit that the run stays below",
		"shard_optimizer": "of several ranks",
		"model":           "the same weights in another folder",
		"template":        "of conversations, which these texts are not; TestTemplateOfMessages",
	}
	alone := flagtest.With(flagtest.Network(), map[string]string{
		"preset": "baby", "model": t.TempDir(), "adapter": t.TempDir(), "prompt": "A hen", "eval": other,
		"choices": other, "tune": other, "train": other, "data": other,
		"tokenizer": "train:280", "out_dir": filepath.Join(t.TempDir(), "other"), "full": "true", "check": "true",
		"stride": "3", "tokens": "4", "temperature": "9", "top_k": "1", "top_p": "0.1", "min_p": "0.9",
		"repetition_penalty": "9",
		"weights":            "int8", "dpo": other, "grpo": other, "beta": "3", "group": "4", "length": "3",
		"score": "contains", "updates": "3", "clip": "0.01",
		"export": filepath.Join(t.TempDir(), "model.gguf"), "dtype": "BF16",
	})
	for name, value := range alone { // the network is the folder's or of a published family, without other attentions
		alone[name], _, _ = strings.Cut(value, " with ")
	}
	tuned := flagtest.With(alone, map[string]string{
		"lora_fused": "false", "block_size": "6", "batch_size": "1", "decay_lr": "true with -lr_decay_iters 3",
		"warmup_iters":   "1 with -decay_lr -lr_decay_iters 3",
		"lr_decay_iters": "2 with -decay_lr", "min_lr": "0.01 with -decay_lr -lr_decay_iters 3", "max_iters": "2",
		"eval_interval": "1", "eval_iters": "2 with -eval_interval 1",
		"patience":       "1 with -learning_rate 1e-30 -eval_interval 1 -max_iters 9",
		"schedule":       "linear with -decay_lr -lr_decay_iters 3",
		"cooldown_iters": "2 with -decay_lr -schedule wsd -lr_decay_iters 3",
	})
	small := []string{"-max_iters", "3", "-batch_size", "2", "-gradient_accumulation_steps", "1", "-block_size", "8",
		"-learning_rate", "0.05", "-grad_clip", "1", "-weight_decay", "0.1"}
	for _, task := range []struct {
		name   string
		args   []string
		values map[string]string
	}{
		{
			"write", []string{"-model", model, "-prompt", "The wheel", "-tokens", "9"},
			flagtest.With(alone, map[string]string{"adapter": adapter}),
		},
		{
			"eval", []string{"-model", model, "-eval", hens, "-block_size", "16"},
			flagtest.With(alone, map[string]string{"adapter": adapter}),
		},
		{"merge", []string{"-model", model, "-adapter", adapter, "-merge", "-out_dir", "DIR/merged"},
			flagtest.With(alone, map[string]string{"merge": "false"})},
		{"export", []string{"-model", model, "-export", "DIR/model.gguf", "-dtype", "Q8_0"},
			flagtest.With(alone, map[string]string{"adapter": adapter, "dtype": "Q4_0"})},
		{"tune", append(small, "-model", model, "-tune", hens, "-out_dir", "DIR/adapter", "-lora_r", "2"),
			flagtest.With(tuned, map[string]string{"lora_r": "3", "lora_targets": "c_fc", "lora_alpha": "5"})},
		{"dpo",
			append(small, "-model", model, "-dpo", pairs, "-out_dir", "DIR/dpo", "-lora_r", "2"),
			flagtest.With(tuned, map[string]string{
				"lora_r": "3", "lora_targets": "c_fc", "lora_alpha": "5", "dpo": otherPairs, "patience": "1",
				"eval_iters": "2", "batch_size": "4"})},
		{"grpo", append(
			small, "-model", trained, "-grpo", prompts, "-out_dir", "DIR/grpo", "-lora_r", "2", "-group", "2",
			"-length", "4", "-score", "contains", "-updates", "2",
		),
			flagtest.With(tuned, map[string]string{"lora_r": "3", "lora_targets": "c_fc", "lora_alpha": "5",
				"grpo": otherPrompts, "patience": "1", "eval_iters": "2", "batch_size": "4",
				"score": "equal", "group": "4 with -gradient_accumulation_steps 2", "updates": "1"})},
		{
			"full", append(small, "-model", model, "-tune", hens, "-full", "-out_dir", "DIR/full"),
			flagtest.With(tuned, map[string]string{"full": "false"}),
		},
		{"train", append(flagtest.Small(), "-train", hens, "-tokenizer", "train:270", "-out_dir", "DIR/new"),
			flagtest.With(alone, map[string]string{"bias": "false", "head": "linear", "decay_lr": "false",
				"tokenizer": "train:260", "preset": "gpt2",
				"eval_interval": "6", "eval_iters": "2 with -eval_interval 6",
				"patience": "1 with -learning_rate 1e-30 -min_lr 0 -eval_interval 1 -max_iters 9"})},
	} {
		t.Run(task.name, func(t *testing.T) {
			p := flagtest.Program{
				Run: run,
				Args: func(dir string) (given []string) {
					for _, a := range task.args {
						given = append(given, strings.ReplaceAll(a, "DIR", dir))
					}
					return given
				},
				Values: task.values,
				Unseen: unseen,
			}
			p.Check(t)
			if task.name == "write" {
				p.Refuse(t)
				p.Unread(t)
			}
		})
	}
}
