package bpe

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/pkg/errors"
)

// layout describes how files write the tokens of an encoding, and how a text is prepared for the merges.
type layout struct {
	read  func(token string) (bytes string, ok bool)
	split []cutter
	form  func(ids map[string]int32) (form, error)
}

// byteLevelLayout writes bytes in the visible alphabet.
func byteLevelLayout(split ...cutter) layout {
	return layout{read: bytesOf, split: split, form: func(ids map[string]int32) (form, error) {
		var of [256]int32
		for b, c := range alphabet {
			id, ok := ids[string(c)]
			if !ok {
				return nil, errors.Errorf("vocab: byte 0x%02X, %q, is no token: "+
					"got %d tokens, want all 256 bytes among them",
					b, c, len(ids))
			}
			of[b] = id
		}
		return byteLevel{&of}, nil
	}}
}

// blank is the character that SentencePiece writes for the space.
const blank = "▁"

// metaspaceLayout writes the space as ▁, and a byte that stands for itself as <0x0A>.
func metaspaceLayout(prepend prepend, split ...cutter) layout {
	read := func(token string) (string, bool) {
		if b, ok := byteToken(token); ok {
			return string([]byte{b}), true
		}
		return strings.ReplaceAll(token, blank, " "), true
	}
	return layout{read: read, split: split, form: func(ids map[string]int32) (form, error) {
		f := metaspace{of: map[rune]int32{}, bytes: new([256]int32), prepend: prepend}
		found := 0
		for token, id := range ids {
			if b, ok := byteToken(token); ok {
				f.bytes[b] = id
				found++
			} else if c, _ := utf8.DecodeRuneInString(token); string(c) == token {
				if token == blank {
					c = ' '
				}
				f.of[c] = id
			}
		}
		if found != 256 {
			return nil, errors.Errorf("vocab: got %d of the tokens <0x00> … <0xFF>, want all 256", found)
		}
		return f, nil
	}}
}

// byteToken returns the byte of a token such as <0x0A>.
func byteToken(token string) (b byte, ok bool) {
	if len(token) != 6 || token[:3] != "<0x" || token[5] != '>' || strings.ToUpper(token[3:5]) != token[3:5] {
		return 0, false
	}
	n, err := strconv.ParseUint(token[3:5], 16, 8)
	return byte(n), err == nil
}

// splitBlanks cuts before every space.
func splitBlanks(s string) int {
	if i := strings.IndexByte(s[1:], ' '); i >= 0 {
		return i + 1
	}
	return len(s)
}
