package bpe

import (
	"strings"
	"time"
)

// cutter cuts a text into the pieces that are encoded separately.
type cutter interface {
	// cut calls do for each piece of s. It returns an error if it takes longer than until.
	cut(s string, until time.Time, do func(piece string)) error
}

// splitter is a cutter that returns the length of the first piece of a non-empty text.
type splitter func(s string) int

func (f splitter) cut(s string, _ time.Time, do func(piece string)) error {
	for len(s) > 0 {
		n := f(s)
		do(s[:n])
		s = s[n:]
	}
	return nil
}

// pieces calls do for each piece of s. If there are several cutters, each one cuts the pieces of the one before it.
func pieces(s string, by []cutter, until time.Time, do func(piece string)) (err error) {
	switch len(by) {
	case 0:
		do(s)
		return nil
	case 1:
		return by[0].cut(s, until, do)
	}
	wrong := by[0].cut(s, until, func(piece string) {
		if err == nil {
			err = pieces(piece, by[1:], until, do)
		}
	})
	if err == nil {
		err = wrong
	}
	return err
}

// splitGPT2 implements the pattern of GPT-2 (Radford et al. 2019, section 2.2):
//
//	's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
func splitGPT2(s string) int {
	if n := contraction(s); n > 0 {
		return n
	}
	i := 0
	if s[0] == ' ' && len(s) > 1 {
		i = 1
	}
	of, n := first(s[i:])
	if of == space {
		return spaces(s)
	}
	return run(s, i+n, of, endless)
}

// splitNumbers implements the pattern of Llama 3, which cuts numbers after three digits, and of Qwen 2, after each:
//
//	(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+
func splitNumbers(digits int) splitter {
	return func(s string) int {
		if n := ending(s); n > 0 {
			return n
		}
		of, n := first(s)
		switch {
		case of == letter:
			return run(s, n, letter, endless)
		case of == number:
			return run(s, n, number, digits-1)
		case s[0] != '\r' && s[0] != '\n':
			if end := run(s, n, letter, endless); end > n {
				return end
			}
		}
		i := 0
		if s[0] == ' ' {
			i = 1
		}
		if end := run(s, i, other, endless); end > i {
			return lineEnds(s, end)
		}
		return newlines(s)
	}
}

// lineEnds returns the end of the line ends that begin at byte i.
func lineEnds(s string, i int) int {
	for i < len(s) && (s[i] == '\r' || s[i] == '\n') {
		i++
	}
	return i
}

// newlines implements \s*[\r\n]+|\s+(?!\S)|\s+: white space up to its last line end, otherwise as in GPT-2.
func newlines(s string) int {
	end := run(s, 0, space, endless)
	if last := strings.LastIndexAny(s[:end], "\r\n"); last >= 0 {
		return last + 1
	}
	return spaces(s)
}

// splitDigits cuts numbers off, each digit by itself.
func splitDigits(s string) int {
	of, n := first(s)
	if of == number {
		return n
	}
	for n < len(s) {
		of, width := first(s[n:])
		if of == number {
			break
		}
		n += width
	}
	return n
}
