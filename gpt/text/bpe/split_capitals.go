package bpe

import (
	"unicode"
	"unicode/utf8"
)

// splitCapitals implements the patterns of gpt-oss, which cut a word before a capital that follows a small letter, with
// endings of words, and of Mistral's Tekken, without. Numbers are cut after the given number of digits. With U for
// [\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}] and L for [\p{Ll}\p{Lm}\p{Lo}\p{M}]:
//
//	[^\r\n\p{L}\p{N}]?U*L+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?U+L*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}
//	| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+
func splitCapitals(digits int, endings bool) splitter {
	return func(s string) int {
		of, n := first(s)
		if of == number {
			return run(s, n, number, digits-1)
		}
		starts := []int{0} // of the letters
		if of != letter && s[0] != '\r' && s[0] != '\n' {
			starts = []int{n, 0}
		}
		for _, word := range []func(s string) int{smallWord, capitalWord} {
			for _, i := range starts {
				if n := word(s[i:]); n > 0 && endings {
					return i + n + ending(s[i+n:])
				} else if n > 0 {
					return i + n
				}
			}
		}
		i := 0
		if s[0] == ' ' {
			i = 1
		}
		if end := run(s, i, other, endless); end > i {
			for end < len(s) && (s[end] == '\r' || s[end] == '\n' || s[end] == '/') {
				end++
			}
			return end
		}
		return newlines(s)
	}
}

// letterCase reports whether a character is of U and of L. Letters without case, modifiers and marks are of both.
func letterCase(c rune) (upper, lower bool) {
	switch {
	case c < utf8.RuneSelf:
		return c >= 'A' && c <= 'Z', c >= 'a' && c <= 'z'
	case unicode.Is(unicode.Ll, c):
		return false, true
	case unicode.In(c, unicode.Lu, unicode.Lt):
		return true, false
	}
	both := unicode.In(c, unicode.Lm, unicode.Lo, unicode.M)
	return both, both
}

// capitals returns the end of the characters of U that s begins with, and the end of the last of them that is of L
// too, or 0.
func capitals(s string) (end, last int) {
	for end < len(s) {
		c, n := utf8.DecodeRuneInString(s[end:])
		upper, lower := letterCase(c)
		if !upper {
			break
		}
		if end += n; lower {
			last = end
		}
	}
	return end, last
}

// smalls returns the end of the characters of L in s from byte i on.
func smalls(s string, i int) int {
	for i < len(s) {
		c, n := utf8.DecodeRuneInString(s[i:])
		if _, lower := letterCase(c); !lower {
			break
		}
		i += n
	}
	return i
}

// smallWord returns the length of U*L+ at the start of s, or 0. If no character of L follows the characters of U, the
// last of these that is of L too takes its place.
func smallWord(s string) int {
	end, last := capitals(s)
	if n := smalls(s, end); n > end {
		return n
	}
	return last
}

// capitalWord returns the length of U+L* at the start of s, or 0.
func capitalWord(s string) int {
	end, _ := capitals(s)
	if end == 0 {
		return 0
	}
	return smalls(s, end)
}
