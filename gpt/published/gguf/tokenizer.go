package gguf

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/pkg/errors"
)

// The types of tokens in tokenizer.ggml.token_type.
const (
	normalToken  = 1
	unknownToken = 2
	controlToken = 3
	userToken    = 4
	unusedToken  = 5
	byteToken    = 6
)

const (
	tokenizerPrefix = "tokenizer.ggml."
	maxToken        = 1 << 10 // bytes
	blank           = "▁"     // stands for the space
)

// object is an object of JSON.
type object = map[string]any

// tokenizer returns the content of tokenizer.json, or nil if the file has no tokenizer.
func (f *File) tokenizer() (object, error) {
	model, ok := f.Find(tokenizerPrefix + "model")
	if !ok {
		return nil, nil
	}
	name, err := model.Text()
	if err != nil {
		return nil, errors.WithMessage(err, "tokenizer.ggml.model")
	}
	tokens, types, err := f.tokens()
	if err != nil {
		return nil, err
	}
	vocab, added := object{}, []object{}
	for id, token := range tokens {
		if _, twice := vocab[token]; twice {
			return nil, errors.Errorf("tokenizer.ggml.tokens: %.64q appears twice", token)
		}
		vocab[token] = id
		if of := types[id]; of != normalToken && of != byteToken {
			added = append(added, object{"id": id, "content": token, "special": of != userToken})
		}
	}
	file := object{"added_tokens": added}
	bpe := object{"type": "BPE", "vocab": vocab}
	file["model"] = bpe
	switch name {
	case "gpt2":
		err = f.bytePairs(file, bpe)
	case "llama":
		err = f.pieces(file, bpe, tokens, types)
	default:
		err = errors.Errorf("tokenizer.ggml.model: got %.80q, want gpt2 or llama", name)
	}
	return file, err
}

// padding returns the name of the token that stands for a row of the embedding without a token, as the converter of
// llama.cpp names it (convert_hf_to_gguf.py, get_vocab_base). llama.cpp wants as many tokens as rows.
func padding(id int) string { return fmt.Sprintf("[PAD%d]", id) }

// unpadded returns the number of tokens without the padding that follows them.
func unpadded(tokens []string, types []int) int {
	n := len(tokens)
	for n > 1 && types[n-1] == unusedToken && tokens[n-1] == padding(n-1) {
		n--
	}
	return n
}

// tokens returns all tokens with their types, without the padding that follows them.
func (f *File) tokens() (tokens []string, types []int, err error) {
	list, _ := f.Find(tokenizerPrefix + "tokens")
	if tokens, err = list.Strings(); err != nil {
		return nil, nil, errors.WithMessage(err, "tokenizer.ggml.tokens")
	}
	for id, token := range tokens {
		if len(token) == 0 || len(token) > maxToken || !utf8.ValidString(token) {
			return nil, nil, errors.Errorf("tokenizer.ggml.tokens: id %d: got %.64q, want 1 to %d bytes of UTF-8",
				id, token, maxToken)
		}
	}
	of, ok := f.Find(tokenizerPrefix + "token_type")
	if !ok {
		return tokens, slices.Repeat([]int{normalToken}, len(tokens)), nil
	}
	if types, err = of.Ints(); err == nil && len(types) != len(tokens) {
		err = errors.Errorf("got %d, want one for each of %d tokens", len(types), len(tokens))
	}
	if err != nil {
		return nil, nil, errors.WithMessage(err, "tokenizer.ggml.token_type")
	}
	n := unpadded(tokens, types)
	return tokens[:n], types[:n], nil
}

// bytePairs completes a tokenizer of byte pairs, which the key pre tells how to split a text.
func (f *File) bytePairs(file, model object) error {
	list, _ := f.Find(tokenizerPrefix + "merges")
	merges, err := list.Strings()
	if err != nil {
		return errors.WithMessage(err, "tokenizer.ggml.merges")
	}
	model["merges"] = merges
	pre, ok := f.Find(tokenizerPrefix + "pre")
	if !ok {
		return errors.New("tokenizer.ggml.pre is missing: want the name of the way to split a text, such as gpt-2")
	}
	name, err := pre.Text()
	if err != nil {
		return errors.WithMessage(err, "tokenizer.ggml.pre")
	}
	i := slices.IndexFunc(splits(), func(s split) bool { return slices.Contains(s.names, name) })
	if i < 0 {
		return errors.Errorf("tokenizer.ggml.pre: got %.80q, want one of %s", name, strings.Join(splitNames(), ", "))
	}
	by := splits()[i]
	level := object{"type": "ByteLevel", "add_prefix_space": false, "use_regex": len(by.patterns) == 0}
	file["pre_tokenizer"] = level
	switch {
	case by.digits:
		digits := object{"type": "Digits", "individual_digits": true}
		file["pre_tokenizer"] = object{"type": "Sequence", "pretokenizers": []object{digits, level}}
	case len(by.patterns) > 0:
		var list []object
		for _, pattern := range by.patterns {
			list = append(list, object{"type": "Split", "pattern": object{"Regex": pattern}, "behavior": "Isolated",
				"invert": false})
		}
		file["pre_tokenizer"] = object{"type": "Sequence", "pretokenizers": append(list, level)}
	}
	if by.composed {
		file["normalizer"] = object{"type": "NFC"}
	}
	if by.whole {
		model["ignore_merges"] = true
	}
	return nil
}

// pieces completes a tokenizer of SentencePiece's: characters, with ▁ for the space, are merged to the token with the
// highest score. Every way to split a token into two is a merge of it.
func (f *File) pieces(file, model object, tokens []string, types []int) error {
	list, _ := f.Find(tokenizerPrefix + "scores")
	scores, err := list.Floats()
	if all, _ := f.Find(tokenizerPrefix + "tokens"); err == nil && len(scores) != all.n {
		err = errors.Errorf("got %d, want one for each of %d tokens", len(scores), all.n)
	}
	if err != nil {
		return errors.WithMessage(err, "tokenizer.ggml.scores")
	}
	model["merges"], model["byte_fallback"] = pieceMerges(tokens, types, scores), true
	write := object{"type": "Replace", "pattern": object{"String": " "}, "content": blank}
	prefix, ok := f.Find(tokenizerPrefix + "add_space_prefix")
	if !ok || prefix.String() == "true" {
		first := object{"type": "Prepend", "prepend": blank}
		write = object{"type": "Sequence", "normalizers": []object{first, write}}
	}
	file["normalizer"] = write
	return nil
}

// pieceMerges returns all ways to split the tokens into two, the ways of the highest score first.
func pieceMerges(tokens []string, types []int, scores []float64) [][2]string {
	ids := make(map[string]int, len(tokens))
	for id, token := range tokens {
		if types[id] == normalToken {
			ids[token] = id
		}
	}
	type merge struct{ whole, left, right int }
	var merges []merge
	for whole, token := range tokens {
		if types[whole] != normalToken {
			continue
		}
		for at := range token {
			left, ok := ids[token[:at]]
			right, too := ids[token[at:]]
			if at > 0 && ok && too {
				merges = append(merges, merge{whole, left, right})
			}
		}
	}
	slices.SortStableFunc(merges, func(a, b merge) int {
		return cmp.Or(cmp.Compare(scores[b.whole], scores[a.whole]), cmp.Compare(a.whole, b.whole),
			cmp.Compare(a.left, b.left), cmp.Compare(a.right, b.right))
	})
	list := make([][2]string, len(merges))
	for i, m := range merges {
		list[i] = [2]string{tokens[m.left], tokens[m.right]}
	}
	return list
}

// ends returns the tokens with which a model ends a text or a turn, without one that no text has.
func (f *File) ends() (ids []int, err error) {
	list, _ := f.Find(tokenizerPrefix + "tokens")
	tokens, _ := list.Strings() // tokenizer reports the error
	for _, name := range []string{"eos_token_id", "eot_token_id", "eom_token_id"} {
		v, ok := f.Find(tokenizerPrefix + name)
		if !ok {
			continue
		}
		id, err := v.Int()
		if err != nil {
			return nil, errors.WithMessage(err, tokenizerPrefix+name)
		}
		if !slices.Contains(ids, id) && (id < 0 || id >= len(tokens) || !inNoText(tokens[id])) {
			ids = append(ids, id)
		}
	}
	return ids, nil
}

// settings returns the content of tokenizer_config.json: the first and last tokens of a text, whether texts begin with
// the first, and the template of conversations.
func (f *File) settings() (object, error) {
	list, _ := f.Find(tokenizerPrefix + "tokens")
	tokens, err := list.Strings()
	if err != nil {
		return nil, nil // tokenizer reports it, if there is a tokenizer
	}
	file := object{}
	for key, name := range map[string]string{"bos_token_id": "bos_token", "eos_token_id": "eos_token"} {
		v, ok := f.Find(tokenizerPrefix + key)
		if !ok {
			continue
		}
		id, err := v.Int()
		if err == nil && (id < 0 || id >= len(tokens)) {
			err = errors.Errorf("got %d, want one of %d tokens", id, len(tokens))
		}
		if err != nil {
			return nil, errors.WithMessage(err, tokenizerPrefix+key)
		}
		if !inNoText(tokens[id]) {
			file[name] = tokens[id]
		}
	}
	model, _ := f.Find(tokenizerPrefix + "model")
	name, _ := model.Text() // tokenizer has checked it
	file["add_bos_token"] = name == "llama"
	if v, ok := f.Find(tokenizerPrefix + "add_bos_token"); ok {
		if file["add_bos_token"], err = v.Bool(); err != nil {
			return nil, errors.WithMessage(err, tokenizerPrefix+"add_bos_token")
		}
	}
	if v, ok := f.Find(tokenizerPrefix + "chat_template"); ok {
		if file["chat_template"], err = v.Text(); err != nil {
			return nil, errors.WithMessage(err, tokenizerPrefix+"chat_template")
		}
	}
	return file, nil
}
