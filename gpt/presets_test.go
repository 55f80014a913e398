package gpt

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The presets are the published recipes, number by number, each written as its differences from the first.
func TestPresets(t *testing.T) {
	const shakespeare = `{"block_size":64,"vocab_size":0,"n_layer":4,"n_head":4,"n_embd":128,"dropout":0,"bias":false,"qk_size":0,
		"v_size":0,"n_inner":0,"eps":0,"rope_theta":0,"lora_r":0,"lora_alpha":0,"lora_targets":[],"lora_scale":"","position":"learned",
		"attention":"causal","norm":"layernorm","block":"pre","activation":"gelu","head":"tied","window":16,"dilation":0,"global_tokens":1,
		"random_keys":2,"latent_size":0,"q_latent_size":0,"rope_size":0,"batch_size":12,"gradient_accumulation_steps":1,
		"learning_rate":0.001,"max_iters":2000,"optimizer":"adamw","weight_decay":0.1,"beta1":0.9,"beta2":0.99,"grad_clip":1,
		"decay_lr":true,"warmup_iters":100,"lr_decay_iters":2000,"min_lr":0.0001,"eval_interval":250,"eval_iters":20,
		"log_interval":1,"seed":1337,"out_dir":"out","threads":0,"kernels":true,"recompute":false}`
	const gpt2 = `"block_size":1024,"vocab_size":50257,"n_head":12,"n_embd":768,"bias":true,"window":256,
		"gradient_accumulation_steps":40,"learning_rate":0.0006,"min_lr":0.00006,"beta2":0.95,"max_iters":600000,
		"lr_decay_iters":600000,"warmup_iters":2000,"eval_interval":2000,"eval_iters":200`
	for _, c := range []struct {
		name      string
		got       Config
		otherwise string
	}{
		{"Shakespeare", Shakespeare(), `{}`},
		{"Baby", Baby(), `{"block_size":256,"n_layer":6,"n_head":6,"n_embd":384,"window":64,"dropout":0.2,"batch_size":64,
			"max_iters":5000,"lr_decay_iters":5000,"eval_iters":200,"log_interval":10}`},
		{"GPT2", GPT2(), `{"n_layer":12,"activation":"gelu_tanh",` + gpt2 + `}`},
		{"DistilGPT2", DistilGPT2(), `{"n_layer":6,"activation":"gelu_tanh",` + gpt2 + `}`},
		{"Paper", Paper(), `{"n_layer":1,"head":"linear",` + gpt2 + `}`},
	} {
		data, err := json.Marshal(c.got)
		if err != nil {
			t.Fatal(err)
		}
		var got, want map[string]any
		for text, into := range map[string]*map[string]any{string(data): &got, shakespeare: &want} {
			if err := json.Unmarshal([]byte(text), into); err != nil {
				t.Fatal(err)
			}
		}
		if err := json.Unmarshal([]byte(c.otherwise), &want); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
}
