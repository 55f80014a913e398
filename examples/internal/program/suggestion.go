package program

import (
	"cmp"
	"flag"
	"io"
	"slices"
	"strings"

	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/internal/spelling"
)

// Suggestion returns what the error of an unknown flag adds: the flag that was probably meant, or the program or the
// command that has the flag.
func (fs *FlagSet) Suggestion(given string) string {
	name := strings.ReplaceAll(strings.ToLower(given), "-", "_")
	for _, name := range elsewhere()[name] {
		if fs.Lookup(name) != nil {
			return "; did you mean -" + name + "?"
		}
	}
	if fs.Lookup(name) != nil {
		return "; did you mean -" + name + "?"
	}
	if other := fs.sister(name); other != "" {
		return other
	}
	var names []string
	fs.VisitAll(func(f *flag.Flag) { names = append(names, f.Name) })
	for old := range fs.old {
		names = append(names, old)
	}
	if meant := spelling.Meant(name, names); meant != "" {
		return "; did you mean -" + cmp.Or(fs.old[meant], meant) + "?"
	}
	return "; -help lists the flags"
}

// sister says which program, with its command, has a flag, or which command has replaced the flag. It looks at the
// commands of this program first, and returns "" if there is none.
func (fs *FlagSet) sister(name string) string {
	program, _, _ := strings.Cut(fs.Name(), " ")
	list := Sisters()
	slices.SortStableFunc(list, func(a, b [2]string) int {
		return cmp.Compare(rank(a[0], program), rank(b[0], program))
	})
	for _, s := range list {
		if strings.HasSuffix(s[0], " "+name) {
			return "; it is a command: ./examples/" + s[0]
		}
	}
	for _, s := range list {
		if slices.Contains(strings.Fields(s[1]), name) {
			return "; ./examples/" + s[0] + " has it"
		}
	}
	config := Flags("", io.Discard)
	new(gpt.Config).Flags(config.FlagSet)
	switch f := config.Lookup(name); {
	case f == nil:
		return ""
	case strings.HasPrefix(name, "lora_"):
		return "; ./examples/gpt2 tune has it"
	case program == "gpt2":
		return "; ./examples/gpt2 train has it"
	}
	return "; ./examples/tinyshakespeare has it"
}

// rank returns 0 for a command of the program, and 1 for others.
func rank(command, program string) int {
	if name, _, _ := strings.Cut(command, " "); name == program {
		return 0
	}
	return 1
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
