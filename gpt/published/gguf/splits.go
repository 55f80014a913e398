package gguf

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/pedestrian-ml/pedestrian/gpt/internal/field"
	"github.com/pkg/errors"
)

// split is a published way to split a text before its bytes are merged.
type split struct {
	names    []string // of tokenizer.ggml.pre, of which the first is written
	patterns []string // each divides the words of the pattern before; none stands for GPT-2's
	digits   bool     // every digit is a word
	composed bool     // letters and their accents are composed first (NFC)
	whole    bool     // a word that is a token is not merged from its parts
}

// splits returns the ways that are read and written.
func splits() []split {
	const contraction = `(?i:'s|'t|'re|'ve|'m|'ll|'d)`
	const word, rest = contraction + `|[^\r\n\p{L}\p{N}]?\p{L}+|`, `| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`
	const upper, lower = `[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]`, `[\p{Ll}\p{Lm}\p{Lo}\p{M}]`
	const start, end = `[^\r\n\p{L}\p{N}]?`, `| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+`
	capitals := func(after, numbers string) string { // words end before a capital
		return start + upper + `*` + lower + `+` + after + `|` + start + upper + `+` + lower + `*` + after + `|` +
			numbers + end
	}
	return []split{
		{names: []string{"gpt-2", "phi-2", "mpt", "olmo", "gptneox"}},
		{names: []string{"smollm", "refact", "starcoder", "codeshell"}, digits: true},
		{names: []string{"command-r"}, digits: true, composed: true},
		{names: []string{"llama-bpe", "llama3", "llama-v3"},
			patterns: []string{word + `\p{N}{1,3}` + rest}, whole: true},
		{names: []string{"dbrx", "smaug-bpe"}, patterns: []string{word + `\p{N}{1,3}` + rest}},
		{names: []string{"qwen2"}, patterns: []string{word + `\p{N}` + rest}, composed: true},
		{names: []string{"deepseek-r1-qwen"}, patterns: []string{word + `\p{N}` + rest}},
		{names: []string{"gpt-4o"}, patterns: []string{capitals(contraction+`?`, `\p{N}{1,3}`)}, whole: true},
		{names: []string{"deepseek-v3"}, patterns: []string{`\p{N}{1,3}`, `[一-龥぀-ゟ゠-ヿ]+`,
			"[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\r\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+|" +
				" ?[\\p{P}\\p{S}]+[\r\n]*|\\s*[\r\n]+|\\s+(?!\\S)|\\s+"}},
		{names: []string{"tekken"}, patterns: []string{capitals(``, `\p{N}`)}, whole: true},
	}
}

// splitNames returns all names.
func splitNames() (names []string) {
	for _, s := range splits() {
		names = append(names, s.names...)
	}
	return names
}

// section is a pre-tokenizer or a normalizer of a tokenizer.json.
type section struct {
	Type          string    `json:"type"`
	PreTokenizers []section `json:"pretokenizers"`
	Normalizers   []section `json:"normalizers"`
	UseRegex      *bool     `json:"use_regex"`
	Prepend       string    `json:"prepend"`
	Prefix        string    `json:"prepend_scheme"`
	Pattern       struct {
		String, Regex string
	} `json:"pattern"`
}

// only returns the first of a sequence of one, or the section itself.
func (s section) only() section {
	if all := append(s.PreTokenizers, s.Normalizers...); len(all) == 1 {
		return all[0]
	}
	return s
}

// splitOf returns the way to split a text that a tokenizer.json describes.
func splitOf(pre, normalizer json.RawMessage, whole bool) (split, error) {
	var first, before section
	if err := errors.WithMessage(field.UnmarshalPart(orNull(pre), &first), "pre_tokenizer"); err != nil {
		return split{}, err
	}
	if err := errors.WithMessage(field.UnmarshalPart(orNull(normalizer), &before), "normalizer"); err != nil {
		return split{}, err
	}
	found := split{composed: before.only().Type == "NFC", whole: whole}
	steps := []section{first}
	if first.Type == "Sequence" {
		steps = first.PreTokenizers
	}
	nothing := before.Type == "" || before.Type == "Sequence" && len(before.Normalizers) == 0
	known := found.composed || nothing
	for i, s := range steps {
		switch plain := s.UseRegex != nil && !*s.UseRegex; {
		case s.Type == "ByteLevel" && i == len(steps)-1 && plain == (len(found.patterns) > 0):
		case s.Type == "Split" && i == len(found.patterns) && i < len(steps)-1:
			found.patterns = append(found.patterns, s.Pattern.Regex)
		case s.Type == "Digits" && i == 0 && len(steps) == 2:
			found.digits = true
		default:
			known = false
		}
	}
	i := slices.IndexFunc(splits(), func(s split) bool {
		return slices.Equal(s.patterns, found.patterns) && s.digits == found.digits && s.composed == found.composed &&
			s.whole == found.whole
	})
	if !known || i < 0 {
		return found, errors.Errorf("pre_tokenizer: got %.200s with normalizer %.80s and ignore_merges %t, "+
			"want one of %s", pre, orNull(normalizer), whole, strings.Join(splitNames(), ", "))
	}
	return splits()[i], nil
}

// orNull returns null instead of nothing.
func orNull(data json.RawMessage) json.RawMessage {
	if len(data) == 0 {
		return json.RawMessage("null")
	}
	return data
}
