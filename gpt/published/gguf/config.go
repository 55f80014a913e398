package gguf

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/pkg/errors"
)

const (
	architectureKey = "general.architecture"
	tokensName      = "token_embd.weight"
	headName        = "output.weight"
	factorsName     = "rope_freqs.weight"
	positionsName   = "position_embd.weight"
	routerName      = "blk.#.ffn_gate_inp.weight"
)

// architectureOf returns the architecture whose name, in a file or as a model_type, is given: of several the last for a
// file with experts, otherwise the first.
func architectureOf(given string, experts bool, name func(architecture) string) (found architecture, err error) {
	var names []string
	for _, a := range architectures() {
		if name(a) == given && (found.name == "" || experts && a.experts) {
			found = a
		}
		if !slices.Contains(names, name(a)) {
			names = append(names, name(a))
		}
	}
	if found.name == "" {
		err = errors.Errorf("got %.80q, want one of %s", given, strings.Join(names, ", "))
	}
	return found, err
}

// architecture returns the architecture of a file.
func (f *File) architecture() (architecture, error) {
	v, ok := f.Find(architectureKey)
	if !ok {
		return architecture{}, errors.Errorf("%s is missing", architectureKey)
	}
	name, err := v.Text()
	if err != nil {
		return architecture{}, errors.WithMessage(err, architectureKey)
	}
	experts := f.size(architecture{name: name}, "expert_count") > 0
	a, err := architectureOf(name, experts, func(a architecture) string { return a.name })
	return a, errors.WithMessage(err, architectureKey)
}

// config returns the keys of config.json. A key that may change what the network computes, and has no counterpart
// there, is an error.
func (f *File) config(a architecture) (object, error) {
	config := object{"model_type": a.modelType(), "tie_word_embeddings": true}
	for key, value := range a.implied {
		config[key] = value
	}
	var rest []Key
	for _, k := range f.Keys {
		name, own := strings.CutPrefix(k.Name, a.name+".")
		top, _, _ := strings.Cut(k.Name, ".")
		switch {
		case own:
			if theirs, ok := find(a.keys, name); ok {
				number, err := k.json()
				if err != nil {
					return nil, errors.WithMessagef(err, "key %.80q", k.Name)
				}
				config[theirs] = number
				continue
			}
			rest = append(rest, Key{name, k.Value})
		case k.Name == "general.type" && k.String() != `"model"`,
			k.Name == "split.count" && k.String() != "1" && k.String() != "0":
			return nil, errors.Errorf("key %.80q: got %s, want the file of a complete model", k.Name, k)
		case top != "general" && top != "tokenizer" && top != "quantize" && top != "split":
			return nil, errors.Errorf("key %.80q: got %s, want none: the key is not supported, "+
				"and may change what the network computes", k.Name, k)
		}
	}
	for _, t := range f.Tensors {
		switch {
		case t.Name == headName:
			config["tie_word_embeddings"] = false
		case t.Name == tokensName && config["vocab_size"] == nil && len(t.Shape) == 2:
			config["vocab_size"] = t.Shape[0]
		}
		if key, ok := find(a.biases, t.Name); ok {
			config[key] = true
		}
	}
	f.defaults(a, config)
	if err := f.checkRest(a, config, rest); err != nil {
		return nil, err
	}
	if err := f.rope(a, config, rest); err != nil {
		return nil, err
	}
	return config, f.checkMissing(a)
}

// checkMissing returns an error if a key of the architecture is missing, because a default could be another network's.
// llama.cpp does not open such files either. The exceptions are the keys for which llama.cpp has defaults, which
// config.json has too, or which defaults sets: head_count for head_count_kv, embedding_length/head_count for
// key_length, 10000 for rope.freq_base, and 10000 for rope.freq_base_swa of Gemma 3, no window, except 4096 for
// Gemma 2, and the caps 50 and 30 for Gemma 2 (llama-model.cpp, load_hparams). The embedding has the vocabulary.
func (f *File) checkMissing(a architecture) error {
	optional := []string{
		"vocab_size", "attention.head_count_kv", "attention.key_length", "rope.freq_base", "rope.freq_base_swa",
		"attention.sliding_window", "attn_logit_softcapping", "final_logit_softcapping",
	}
	var names []string
	for _, k := range a.fixed {
		names = append(names, k.Name)
	}
	for _, p := range a.keys {
		if !slices.Contains(optional, p.ours) {
			names = append(names, p.ours)
		}
	}
	for _, name := range names {
		if _, ok := f.Find(a.name + "." + name); !ok {
			return errors.Errorf("key %q is missing, and has no default", a.name+"."+name)
		}
	}
	return nil
}

// json returns a number, or a truth value, as JSON represents it: a float32 in its shortest form.
func (v Value) json() (any, error) {
	if b, err := v.Bool(); err == nil {
		return b, nil
	}
	if v.list || !v.numeric() {
		return nil, errors.Errorf("got %s, want a number", v)
	}
	return json.Number(v.String()), nil
}

// head returns the number of features of a head, or 0.
func (f *File) head(a architecture) int {
	if n := f.size(a, "attention.key_length"); n > 0 {
		return n
	}
	return f.size(a, "embedding_length") / max(1, f.size(a, "attention.head_count"))
}

// defaults sets the keys whose defaults differ in files and folders.
func (f *File) defaults(a architecture, config object) {
	head, heads := f.head(a), f.size(a, "attention.head_count")
	values := map[string]any{"rope.freq_base": 10_000, "rope.freq_base_swa": 10_000}
	if heads > 0 && head > 0 {
		values["attention.head_count_kv"], values["attention.key_length"] = heads, head
	}
	if a.name != "gemma2" { // 4096 in both
		values["attention.sliding_window"] = nil
	}
	for _, p := range a.keys {
		if value, ok := values[p.ours]; ok && config[p.theirs] == nil {
			config[p.theirs] = value
		}
	}
	if a.share != "" {
		config[a.share] = 1
	}
	switch window, ok := find(a.keys, "attention.sliding_window"); {
	case ok && fmt.Sprint(config[window]) == "0": // as some write that there is none
		config[window] = nil
	case a.name == "gemma3" && config[window] == nil: // no block has one
		config["sliding_window_pattern"] = 1
	}
	large := map[string]int{"gemma2": 46, "gemma3": 62} // blocks of the models whose scores are divided otherwise
	blocks, gemma := large[a.name]
	switch {
	case gemma && f.size(a, "block_count") == blocks && heads > 0:
		config["query_pre_attn_scalar"] = f.size(a, "embedding_length") / heads
	case gemma:
		config["query_pre_attn_scalar"] = config["head_dim"]
	}
}

// checkRest checks the keys that config.json expresses by others.
func (f *File) checkRest(a architecture, config object, rest []Key) error {
	head := f.head(a)
	for _, k := range rest {
		if i := slices.IndexFunc(a.fixed, func(w Key) bool { return w.Name == k.Name }); i >= 0 {
			if want := a.fixed[i]; k.String() != want.String() {
				return errors.Errorf("key %.80q: got %s, want %s", a.name+"."+k.Name, k, want)
			}
			continue
		}
		var want float64
		switch k.Name {
		case "rope.dimension_count", "attention.value_length", "attention.key_length":
			want = float64(head)
			if n, err := k.Int(); a.share != "" && k.Name == "rope.dimension_count" && err == nil && head > 0 {
				share := float64(n) / float64(head)
				if config[a.share] = share; int(share*float64(head)) == n {
					continue
				}
			}
		case "attention.head_count_kv":
			want = float64(f.size(a, "attention.head_count"))
		case "rope.scaling.type", "rope.scaling.factor", "rope.scaling.original_context_length":
			continue
		case "rope.scaling.attn_factor":
			want = 1
		case "attention.sliding_window_pattern": // a window in all but every k-th block
			want = float64(a.window)
		case "expert_count", "expert_used_count", "expert_shared_count", "attention.clamp_kqv":
			want = 0
		case "expert_gating_func": // a softmax
			want = 1
		case "feed_forward_length": // of blocks without experts, of which there are none
			if a.experts {
				continue
			}
			fallthrough
		case "rope.scaling.finetuned", "attention.causal": // of the training; all networks here are causal
			finetuned := k.Name == "rope.scaling.finetuned" && a.name != "granite" // which does not rotate without it
			if finetuned || k.String() == "true" {
				continue
			}
			fallthrough
		default:
			return errors.Errorf("key %.80q: got %s, want none: the key is not supported, "+
				"and may change what the network computes", a.name+"."+k.Name, k)
		}
		if got, err := k.Float(); err != nil || got != want {
			return errors.Errorf("key %.80q: got %s, want %v", a.name+"."+k.Name, k, want)
		}
	}
	return nil
}

// size returns a whole number of the architecture, or 0.
func (f *File) size(a architecture, name string) int {
	v, _ := f.Find(a.name + "." + name)
	n, err := v.Int()
	if err != nil {
		return 0
	}
	return n
}

// find returns the name in a folder of a name in a GGUF file.
func find(list []pair, ours string) (theirs string, ok bool) {
	for _, p := range list {
		if p.ours == ours {
			return p.theirs, true
		}
	}
	return "", false
}
