package bpe

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// class is the class of a character in the patterns.
type class uint8

const (
	other  class = iota // punctuation, marks, symbols, and bytes that do not form a character
	space               // \s, Unicode's White_Space
	letter              // \p{L}
	number              // \p{N}
)

var ascii = func() (of [utf8.RuneSelf]class) {
	for c := range of {
		of[c] = classOf(rune(c))
	}
	return of
}()

func classOf(c rune) class {
	switch {
	case unicode.IsSpace(c):
		return space
	case unicode.IsLetter(c):
		return letter
	case unicode.IsNumber(c):
		return number
	}
	return other
}

// first returns the class of the first character of s, which is not empty, and its length in bytes.
func first(s string) (class, int) {
	if s[0] < utf8.RuneSelf {
		return ascii[s[0]], 1
	}
	c, n := utf8.DecodeRuneInString(s) // U+FFFD, a symbol, for a byte that does not form a character
	return classOf(c), n
}

// run returns the end of the characters of the given class in s that begin at byte i, at most most of them.
func run(s string, i int, of class, most int) int {
	for ; i < len(s) && most > 0; most-- {
		c, n := first(s[i:])
		if c != of {
			break
		}
		i += n
	}
	return i
}

// endless is a limit that no run reaches.
const endless = int(^uint(0) >> 1)

// contraction returns the length of 's, 't, 're, 've, 'm, 'll or 'd at the start of s, or 0.
func contraction(s string) int {
	if len(s) < 2 || s[0] != '\'' {
		return 0
	}
	switch s[1] {
	case 's', 't', 'm', 'd':
		return 2
	}
	if len(s) > 2 {
		switch s[1:3] {
		case "re", "ve", "ll":
			return 3
		}
	}
	return 0
}

// ending is contraction for letters of either case.
func ending(s string) int {
	if s == "" || s[0] != '\'' {
		return 0
	}
	return contraction(strings.ToLower(s[:min(len(s), 3)]))
}

// spaces returns the end of the white space that s begins with: all of it if the text ends after it, otherwise all but
// the last character, which belongs to what follows, unless it is the only one. This is \s+(?!\S)|\s+.
func spaces(s string) int {
	last, end := 0, 0
	for end < len(s) {
		c, n := first(s[end:])
		if c != space {
			break
		}
		last, end = end, end+n
	}
	if end == len(s) || last == 0 {
		return end
	}
	return last
}
