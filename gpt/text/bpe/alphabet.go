package bpe

import "unicode/utf8"

// alphabet holds the characters that stand for the 256 bytes in GPT-2's files: visible characters stand for
// themselves, the others are numbered in order from U+0100 on, so no token contains white space or control characters.
var alphabet = func() (of [256]rune) {
	next := rune(256)
	for b := range of {
		switch {
		case b >= '!' && b <= '~', b >= 0xA1 && b <= 0xAC, b >= 0xAE:
			of[b] = rune(b)
		default:
			of[b] = next
			next++
		}
	}
	return of
}()

// visible returns s written in the alphabet.
func visible(s string) string {
	out := make([]byte, 0, 2*len(s))
	for i := range len(s) {
		out = utf8.AppendRune(out, alphabet[s[i]])
	}
	return string(out)
}

// bytesOf returns the inverse of visible; ok is false if s has a character that stands for no byte.
func bytesOf(s string) (out string, ok bool) {
	list := make([]byte, 0, len(s))
	for _, c := range s {
		if int(c) >= len(inverse) || inverse[c] < 0 {
			return "", false
		}
		list = append(list, byte(inverse[c]))
	}
	return string(list), true
}

// inverse holds the byte of each character of the alphabet, or −1.
var inverse = func() (of [256 + 68]int16) {
	for c := range of {
		of[c] = -1
	}
	for b, c := range alphabet {
		of[c] = int16(b)
	}
	return of
}()
