package bpe

import (
	"encoding/json"

	"github.com/pkg/errors"
)

// section is a normalizer or a pre-tokenizer of a tokenizer.json, with the fields of all types.
type section struct {
	Type             string    `json:"type"`
	AddPrefixSpace   bool      `json:"add_prefix_space"`
	UseRegex         *bool     `json:"use_regex"`
	IndividualDigits bool      `json:"individual_digits"`
	Pattern          pattern   `json:"pattern"`
	Behavior         string    `json:"behavior"`
	Invert           bool      `json:"invert"`
	Replacement      string    `json:"replacement"`
	PrependScheme    string    `json:"prepend_scheme"`
	Split            *bool     `json:"split"`
	Prepend          string    `json:"prepend"`
	Content          string    `json:"content"`
	PreTokenizers    []section `json:"pretokenizers"`
	Normalizers      []section `json:"normalizers"`
}

// pattern is the text to search for: a string or a regular expression.
type pattern struct{ String, Regex string }

// patterns holds the splitters of the supported regular expressions. Each of them matches any character, so that it
// makes no difference whether a file isolates its matches or removes the text between them.
var patterns = map[string]splitter{
	contractionPattern + `| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`: splitGPT2,
	wordPattern + `\p{N}{1,3}` + restPattern:                                   splitNumbers(3),
	wordPattern + `\p{N}` + restPattern:                                        splitNumbers(1),
	capitalPattern(`(?i:`+contractionPattern+`)?`, `\p{N}{1,3}`):               splitCapitals(3, true),
	capitalPattern(``, `\p{N}`):                                                splitCapitals(1, false),
}

// capitalPattern returns the pattern of splitCapitals with the endings of words and the pattern of numbers.
func capitalPattern(ending, numbers string) string {
	const start = `[^\r\n\p{L}\p{N}]?`
	const upper, lower = `[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]`, `[\p{Ll}\p{Lm}\p{Lo}\p{M}]`
	return start + upper + `*` + lower + `+` + ending + `|` + start + upper + `+` + lower + `*` + ending +
		`|` + numbers + `| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+`
}

const (
	contractionPattern = `'s|'t|'re|'ve|'m|'ll|'d`
	wordPattern        = `(?i:` + contractionPattern + `)|[^\r\n\p{L}\p{N}]?\p{L}+|`
	restPattern        = `| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`
)

// layout returns the layout that normalizer and pre-tokenizer describe together.
func (f fileJSON) layout() (layout, error) {
	if f.Model.ByteFallback {
		return f.metaspace()
	}
	composes := false
	if n := f.Normalizer.only(); n != nil {
		if composes = n.Type == "NFC"; !composes {
			return layout{}, errors.Errorf("normalizer: got %.64q, want NFC or none with bytes", n.Type)
		}
	}
	if f.PreTokenizer == nil {
		return layout{}, errors.New("pre_tokenizer: got none, want ByteLevel, or byte_fallback of the model")
	}
	split, err := f.PreTokenizer.splitters()
	if err != nil {
		return layout{}, errors.WithMessage(err, "pre_tokenizer")
	}
	if last := f.PreTokenizer.last(); last.Type != "ByteLevel" {
		return layout{}, errors.Errorf("pre_tokenizer: got %.64q, "+
			"want ByteLevel, by itself or as the last of a Sequence",
			last.Type)
	}
	l := byteLevelLayout(split...)
	if composes {
		l = composedLayout(l)
	}
	return l, nil
}

// only returns the normalizer of a Sequence of one, nil for a Sequence of none, or s itself.
func (s *section) only() *section {
	switch {
	case s == nil || s.Type != "Sequence" || len(s.Normalizers) > 1:
		return s
	case len(s.Normalizers) == 0:
		return nil
	}
	return &s.Normalizers[0]
}

// last returns the last of a Sequence, or s itself.
func (s section) last() section {
	if n := len(s.PreTokenizers); s.Type == "Sequence" && n > 0 {
		return s.PreTokenizers[n-1]
	}
	return s
}

// splitters returns the splitters of a pre-tokenizer over bytes.
func (s section) splitters() (list []splitter, err error) {
	switch {
	case s.Type == "Sequence":
		for i, part := range s.PreTokenizers {
			inner, err := part.splitters()
			if err == nil && part.Type == "Sequence" {
				err = errors.New("got a Sequence in a Sequence, want ByteLevel, Digits or Split")
			}
			if err != nil {
				return nil, errors.WithMessagef(err, "%d", i)
			}
			list = append(list, inner...)
		}
		return list, nil
	case s.Type == "ByteLevel" && s.AddPrefixSpace:
		return nil, errors.New("add_prefix_space: got true, want false")
	case s.Type == "ByteLevel" && s.UseRegex != nil && !*s.UseRegex:
		return nil, nil
	case s.Type == "ByteLevel":
		return []splitter{splitGPT2}, nil
	case s.Type == "Digits" && !s.IndividualDigits:
		return nil, errors.New("individual_digits: got false, want true")
	case s.Type == "Digits":
		return []splitter{splitDigits}, nil
	case s.Type == "Split" && (s.Behavior != "Isolated" || s.Invert) && (s.Behavior != "Removed" || !s.Invert):
		return nil, errors.Errorf("Split: got behavior %.64q and invert %t, "+
			"want Isolated and false or Removed and true", s.Behavior, s.Invert)
	case s.Type == "Split":
		if by, ok := patterns[s.Pattern.Regex]; ok {
			return []splitter{by}, nil
		}
		return nil, errors.Errorf("Split: pattern: got %.200q, want that of GPT-2, Llama 3, Qwen 2, gpt-oss or Tekken",
			s.Pattern.Regex+s.Pattern.String)
	}
	return nil, errors.Errorf("type: got %.64q, want ByteLevel, Digits, Split or a Sequence of these", s.Type)
}

// metaspace returns the layout of a model over characters, which files describe in one of two ways: by a normalizer
// that writes ▁ for the space, or by a pre-tokenizer Metaspace.
func (f fileJSON) metaspace() (layout, error) {
	switch n, p := f.Normalizer.only(), f.PreTokenizer; {
	case p != nil && n == nil && p.Type == "Metaspace":
		return p.metaspace()
	case p != nil && !(n != nil && n.blank() && p.Type == "Split" && p.Pattern == pattern{String: " "}):
		// A Split at spaces, as in Gemma, finds none after the normalizer.
		return layout{}, errors.Errorf("pre_tokenizer: got %.64q with byte_fallback, want Metaspace alone, or none",
			p.Type)
	case n == nil:
		return layout{}, errors.New("normalizer and pre_tokenizer: got neither with byte_fallback, " +
			"want one that writes ▁ for the space")
	case n.blank():
		return metaspaceLayout(spaceNever), nil
	case n.Type == "Sequence" && len(n.Normalizers) == 2 && n.Normalizers[1].blank() &&
		n.Normalizers[0].Type == "Prepend" && n.Normalizers[0].Prepend == blank:
		return metaspaceLayout(spaceAlways), nil
	default:
		text, _ := json.Marshal(n)
		return layout{}, errors.Errorf("normalizer: got %.200s, want Prepend ▁ and Replace the space by ▁", text)
	}
}

// blank reports whether a normalizer only writes ▁ for the space.
func (s section) blank() bool {
	return s.Type == "Replace" && s.Pattern == pattern{String: " "} && s.Content == blank
}

func (s section) metaspace() (layout, error) {
	if s.Replacement != blank {
		return layout{}, errors.Errorf("pre_tokenizer: replacement: got %.64q, want %q", s.Replacement, blank)
	}
	var split []splitter
	if s.Split == nil || *s.Split {
		split = []splitter{splitBlanks}
	}
	switch {
	case s.PrependScheme == "never" || s.PrependScheme == "" && !s.AddPrefixSpace:
		return metaspaceLayout(spaceNever, split...), nil
	case s.PrependScheme == "first":
		return metaspaceLayout(spaceFirst, split...), nil
	case s.PrependScheme == "always", s.PrependScheme == "":
		return metaspaceLayout(spaceOnce, split...), nil
	}
	return layout{}, errors.Errorf("pre_tokenizer: prepend_scheme: got %.64q, want always, first or never",
		s.PrependScheme)
}
