package program

import (
	"flag"
	"strings"

	"github.com/pedestrian-ml/pedestrian/internal/spelling"
)

// suggestion returns "; did you mean -…?" for the error of an unknown flag, or "" if no flag is similar.
func suggestion(fs *flag.FlagSet, err error) string {
	given, unknown := strings.CutPrefix(err.Error(), "flag provided but not defined: -")
	if !unknown {
		return ""
	}
	given = strings.ReplaceAll(strings.ToLower(given), "-", "_")
	for _, name := range elsewhere()[given] {
		if fs.Lookup(name) != nil {
			return "; did you mean -" + name + "?"
		}
	}
	var names []string
	fs.VisitAll(func(f *flag.Flag) { names = append(names, f.Name) })
	if meant := spelling.Meant(given, names); meant != "" {
		return "; did you mean -" + meant + "?"
	}
	return ""
}

// elsewhere maps the names that other tools use for a flag to its possible names here.
func elsewhere() map[string][]string {
	names := map[string][]string{}
	for name, others := range map[string]string{
		"learning_rate": "lr max_lr", "min_lr": "lr_min", "weight_decay": "wd",
		"grad_clip":    "max_grad_norm clip_grad_norm clip",
		"max_iters":    "steps max_steps num_steps iters iterations train_steps epochs num_train_epochs",
		"warmup_iters": "warmup warmup_steps", "lr_decay_iters": "decay_steps",
		"gradient_accumulation_steps": "grad_accum accumulation_steps grad_accumulation",
		"batch_size":                  "bs micro_batch_size per_device_train_batch_size",
		"n_layer":                     "layers num_layers num_hidden_layers depth",
		"n_head":                      "heads num_heads num_attention_heads",
		"n_embd":                      "d_model dim hidden_size embed_dim n_embed width",
		"n_kv_head":                   "num_key_value_heads kv_heads", "n_inner": "d_ff intermediate_size ffn_dim",
		"block_size": "context context_length ctx ctx_len seq_len max_seq_len max_length n_ctx n_positions",
		"tokens":     "max_new_tokens max_tokens n_predict num_tokens", "temperature": "temp", "prompt": "start text",
		"out_dir": "output_dir output out save_dir", "data": "dataset input input_file corpus train_file",
		"checkpoint": "model ckpt load", "model": "checkpoint ckpt", "precision": "dtype",
		"threads": "num_threads n_threads cores",
		"lora_r":  "rank lora_rank r", "resume": "init_from continue resume_from_checkpoint",
		"eval_interval": "eval_every eval_steps", "log_interval": "log_every logging_steps", "seed": "random_seed",
		"activation": "act hidden_act", "vocab_size": "n_vocab", "beams": "num_beams beam_size",
	} {
		for other := range strings.FieldsSeq(others) {
			names[other] = append(names[other], name)
		}
	}
	return names
}
