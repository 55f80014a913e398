package bpe

import (
	"strings"
	"unicode/utf8"
)

// byteLevel merges bytes: no text is outside its vocabulary, whatever its encoding (Radford et al. 2019, section 2.2).
type byteLevel struct{ of *[256]int32 }

func (f byteLevel) before(text string, _ bool) string { return text }

func (f byteLevel) symbols(ids []int32, piece string) []int32 {
	for i := range len(piece) {
		ids = append(ids, f.of[piece[i]])
	}
	return ids
}

// metaspace merges characters, and bytes where a character has no token: SentencePiece's encoding (Kudo, Richardson
// 2018) as LLaMA uses it. A text gets a space in front, so that its first word is like any other, and Decode keeps
// that space: a model's continuation begins with the space between two words. Files write tokens with ▁ for the space,
// so that a ▁ in a text is a space too, as in Hugging Face's libraries.
type metaspace struct {
	of      map[rune]int32
	bytes   *[256]int32
	prepend prepend
}

// prepend puts a space before a text, or leaves it as it is. first reports that no token comes before the text.
type prepend func(text string, first bool) string

// spaceAlways returns a space before every text that is not empty.
func spaceAlways(text string, _ bool) string {
	if text == "" {
		return text
	}
	return " " + text
}

// spaceOnce returns a space before every text that does not begin with one.
func spaceOnce(text string, first bool) string {
	if strings.HasPrefix(text, " ") {
		return text
	}
	return spaceAlways(text, first)
}

// spaceFirst does the same as spaceOnce for a text that no token comes before.
func spaceFirst(text string, first bool) string {
	if !first {
		return text
	}
	return spaceOnce(text, first)
}

// spaceNever leaves a text as it is.
func spaceNever(text string, _ bool) string { return text }

func (f metaspace) before(text string, first bool) string {
	return f.prepend(strings.ReplaceAll(text, blank, " "), first)
}

func (f metaspace) symbols(ids []int32, piece string) []int32 {
	for i, c := range piece {
		n := utf8.RuneLen(c)
		if c == utf8.RuneError && !strings.HasPrefix(piece[i:], string(utf8.RuneError)) {
			n = 1
		} else if id, ok := f.of[c]; ok {
			ids = append(ids, id)
			continue
		}
		for _, b := range []byte(piece[i : i+n]) {
			ids = append(ids, f.bytes[b])
		}
	}
	return ids
}
