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
	values := flagtest.With(flagtest.Network(), map[string]string{
		"preset": "baby", "model": t.TempDir(), "adapter": adapter, "prompt": "A hen", "data": other,
		"tokenizer": "train:280", "out_dir": filepath.Join(t.TempDir(), "other"), "full": "true",
		"stride": "3", "tokens": "4", "temperature": "9", "top_k": "1", "top_p": "0.1", "min_p": "0.9",
		"repetition_penalty": "9", "resume": "true",
		"weights": "int8", "beta": "3", "group": "4", "updates": "3", "clip": "0.01", "score": "contains",
		"dtype": "Q4_0",
	})
	tuned := flagtest.With(values, map[string]string{
		"lora_fused": "false", "block_size": "6", "batch_size": "1", "decay_lr": "true with -lr_decay_iters 3",
		"warmup_iters":   "1 with -decay_lr -lr_decay_iters 3",
		"lr_decay_iters": "2 with -decay_lr", "min_lr": "0.01 with -decay_lr -lr_decay_iters 3", "max_iters": "2",
		"eval_interval": "1", "eval_iters": "2 with -eval_interval 1",
		"patience":       "1 with -learning_rate 1e-30 -eval_interval 1 -max_iters 9",
		"schedule":       "linear with -decay_lr -lr_decay_iters 3",
		"cooldown_iters": "2 with -decay_lr -schedule wsd -lr_decay_iters 3",
		"lora_r":         "3", "lora_targets": "c_fc", "lora_alpha": "5",
	})
	small := strings.Fields("-max_iters 3 -batch_size 2 -gradient_accumulation_steps 1 -block_size 8 -learning_rate " +
		"0.05 " +
		"-grad_clip 1 -weight_decay 0.1 -model " + model)
	for _, task := range []struct {
		name   string
		args   []string
		values map[string]string
	}{
		{"write", []string{"-model", model, "-prompt", "The wheel", "-tokens", "9"}, values},
		{"eval", []string{"-model", model, "-data", hens, "-block_size", "16"}, values},
		{"merge", []string{"-model", model, "-adapter", adapter, "-out_dir", "DIR/merged"},
			flagtest.With(values, map[string]string{"adapter": t.TempDir()})},
		{"export", []string{"-model", model, "-out_dir", "DIR/model.gguf", "-dtype", "Q8_0"},
			flagtest.With(values, map[string]string{"out_dir": filepath.Join(t.TempDir(), "other.gguf")})},
		{"tune", append(small, "-data", hens, "-out_dir", "DIR/adapter", "-lora_r", "2"), tuned},
		{"dpo", append(small, "-data", pairs, "-out_dir", "DIR/dpo", "-lora_r", "2"),
			flagtest.With(tuned, map[string]string{"data": otherPairs, "batch_size": "4"})},
		{"grpo", append(small, strings.Fields("-data "+prompts+" -model "+trained+" -out_dir DIR/grpo -lora_r 2 "+
			"-group 2 "+
			"-tokens 4 -score contains -updates 2")...),
			flagtest.With(tuned, map[string]string{"batch_size": "4", "tokens": "3",
				"data":  otherPrompts + " with -tokens 2",
				"score": "equal", "group": "4 with -gradient_accumulation_steps 2", "updates": "1"})},
		{"train", append(flagtest.Small(), "-data", hens, "-tokenizer", "train:270", "-out_dir", "DIR/new",
			"-activation", "gelu"),
			flagtest.With(values, map[string]string{"bias": "false", "head": "linear", "decay_lr": "false",
				"tokenizer": "train:260", "preset": "gpt2",
				"eval_interval": "6", "eval_iters": "2 with -eval_interval 6",
				"patience":     "1 with -learning_rate 1e-30 -min_lr 0 -eval_interval 1 -max_iters 9",
				"swiglu_limit": "0.01 with -mlp moe_clamped -num_experts 3 -activation gelu"})},
	} {
		t.Run(task.name, func(t *testing.T) {
			p := flagtest.Program{
				Run: run, Name: "gpt2 " + task.name,
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
			p.Help(t)
			if task.name == "write" {
				p.Refuse(t)
				p.Unread(t)
			}
		})
	}
	for _, name := range []string{"choices", "check", "resume"} {
		flagtest.Program{Run: run, Name: "gpt2 " + name}.Help(t)
	}
}

// A typing mistake is answered by what was meant, or by what is wanted.
func TestTypingMistakes(t *testing.T) {
	flagtest.Program{Run: run}.Mistakes(t, [][2]string{
		{"tun -data x", "did you mean tune?"},
		{"evla", "did you mean eval?"},
		{"eval -date x", "did you mean -data?"},
		{"eval -data x -weights int5", "want bf16, int8 or int4; did you mean int8?"},
		{"grpo -data x -score contain", "did you mean contains?"},
		{"export -out_dir x.gguf -dtype Q8", "did you mean Q8_0?"},
		{"tune -data x -full=maybe", `-full: got "maybe", want true or false`},
		{"write -n_layer 3", "./examples/gpt2 train has it"},
		{"eval -tune x", "it is a command: ./examples/gpt2 tune"},
	})
}
