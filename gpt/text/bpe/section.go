package bpe

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/dlclark/regexp2"
	"github.com/pkg/errors"
	"golang.org/x/text/unicode/norm"
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

// patterns holds the splitters of frequent regular expressions, which are faster than an engine. Each of them matches
// any character, so that it makes no difference whether a file isolates its matches or removes the text between them.
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
	composition, normalizer := f.Normalizer.composition()
	l, err := f.plainLayout(normalizer)
	if composition != nil {
		l = composedLayout(*composition, l)
	}
	return l, err
}

// plainLayout returns the layout without a form of Unicode.
func (f fileJSON) plainLayout(n *section) (layout, error) {
	if f.Model.ByteFallback {
		return f.metaspace(n)
	}
	if n != nil {
		return layout{}, errors.Errorf("normalizer: got %.64q, want one of %q or none with bytes",
			n.Type, slices.Sorted(maps.Keys(compositions)))
	}
	if f.PreTokenizer == nil {
		return layout{}, errors.New("pre_tokenizer: got none, want ByteLevel, or byte_fallback of the model")
	}
	split, err := f.PreTokenizer.cutters()
	if err != nil {
		return layout{}, errors.WithMessage(err, "pre_tokenizer")
	}
	if last := f.PreTokenizer.last(); last.Type != "ByteLevel" {
		return layout{}, errors.Errorf("pre_tokenizer: got %.64q, "+
			"want ByteLevel, by itself or as the last of a Sequence",
			last.Type)
	}
	return byteLevelLayout(split...), nil
}

// compositions holds the normal forms of Unicode.
var compositions = map[string]norm.Form{"NFC": norm.NFC, "NFD": norm.NFD, "NFKC": norm.NFKC, "NFKD": norm.NFKD}

// composition returns the normal form of Unicode that a normalizer begins with, if any, and the rest of the normalizer.
func (s *section) composition() (*norm.Form, *section) {
	switch s = s.only(); {
	case s == nil:
		return nil, nil
	case s.Type == "Sequence":
		form, first := s.Normalizers[0].composition()
		if form != nil && first == nil {
			rest := section{Type: "Sequence", Normalizers: s.Normalizers[1:]}
			return form, rest.only()
		}
		return nil, s
	}
	if form, ok := compositions[s.Type]; ok {
		return &form, nil
	}
	return nil, s
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

// cutters returns the cutters of a pre-tokenizer over bytes.
func (s section) cutters() (list []cutter, err error) {
	switch {
	case s.Type == "Sequence":
		for i, part := range s.PreTokenizers {
			inner, err := part.cutters()
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
		return []cutter{splitter(splitGPT2)}, nil
	case s.Type == "Digits" && !s.IndividualDigits:
		return nil, errors.New("individual_digits: got false, want true")
	case s.Type == "Digits":
		return []cutter{splitter(splitDigits)}, nil
	case s.Type == "Split":
		by, err := s.cutter()
		return []cutter{by}, errors.WithMessage(err, "Split")
	}
	return nil, errors.Errorf("type: got %.64q, want ByteLevel, Digits, Split or a Sequence of these", s.Type)
}

// cutter returns the cutter of a Split.
func (s section) cutter() (cutter, error) {
	switch _, ok := behaviors[s.Behavior]; {
	case !ok:
		return nil, errors.Errorf("behavior: got %.64q, want Isolated, Removed, MergedWithPrevious, MergedWithNext or "+
			"Contiguous", s.Behavior)
	case s.Behavior == "Removed" && !s.Invert:
		return nil, errors.New("behavior: got Removed, and invert false, which loses text")
	case s.Pattern.Regex == "" && s.Pattern.String == "":
		return nil, errors.New("pattern: got none, want a Regex or a String")
	}
	if by, ok := patterns[s.Pattern.Regex]; ok && (s.Behavior == "Isolated" || s.Behavior == "Removed") {
		return by, nil
	}
	pattern := s.Pattern.Regex
	if pattern == "" {
		pattern = regexp2.Escape(s.Pattern.String)
	}
	by, err := newRegex(pattern, s.Behavior, s.Invert)
	return by, errors.WithMessagef(err, "pattern %.200q", pattern)
}

// metaspace returns the layout of a model over characters, which files describe in one of two ways: by a normalizer
// that writes ▁ for the space, or by a pre-tokenizer Metaspace.
func (f fileJSON) metaspace(n *section) (layout, error) {
	switch p := f.PreTokenizer; {
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
	var split []cutter
	if s.Split == nil || *s.Split {
		split = []cutter{splitter(splitBlanks)}
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
