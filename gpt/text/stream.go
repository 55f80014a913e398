package text

import (
	"iter"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/pkg/errors"
)

// Stream yields the text of ids in pieces, as they come, up to the first stop string, which it leaves out. Joined, the
// pieces are the text that all ids decode to. No piece is empty, and none ends inside a character, although a token
// may be one byte of it; a possible beginning of a stop string is held back until that is decided. Of overlapping stop
// strings the one that ends first counts, and of those that end at the same place the longest.
//
// An error that comes with an id is yielded after the text before it and ends the sequence. The tokenizer must be such
// that Decode of single ids, joined, equals Decode of all of them.
func Stream(tok Tokenizer, ids iter.Seq2[int, error], stop ...string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		if err := checkStream(tok, ids, stop); err != nil {
			yield("", errors.Wrap(err, "stream"))
			return
		}
		held := "" // not yielded yet
		for id, err := range ids {
			piece := ""
			if err == nil {
				piece, err = tok.Decode([]int{id})
			}
			if err != nil {
				if held == "" || yield(held, nil) {
					yield("", err)
				}
				return
			}
			held += piece
			for end := range len(held) + 1 {
				if n := ending(held[:end], stop); n > 0 {
					if end > n {
						yield(held[:end-n], nil)
					}
					return
				}
			}
			if n := decided(held, stop); n > 0 {
				if !yield(held[:n], nil) {
					return
				}
				held = held[n:]
			}
		}
		if held != "" {
			yield(held, nil)
		}
	}
}

func checkStream(tok Tokenizer, ids iter.Seq2[int, error], stop []string) error {
	switch {
	case tok == nil:
		return errors.New("tokenizer: got nil, want one such as Bytes")
	case ids == nil:
		return errors.New("ids: got nil, want a sequence such as Generate's")
	}
	for i, s := range stop {
		if s == "" {
			return errors.Errorf("stop: string %d is empty, want at least one character", i)
		}
	}
	return nil
}

// ending returns the length of the longest stop string that s ends with, or 0 if there is none.
func ending(s string, stop []string) (n int) {
	for _, t := range stop {
		if strings.HasSuffix(s, t) {
			n = max(n, len(t))
		}
	}
	return n
}

// decided returns the length of the part of s before anything that may become a stop string or a character.
func decided(s string, stop []string) int {
	for n := range len(s) {
		if slices.ContainsFunc(stop, func(t string) bool { return strings.HasPrefix(t, s[n:]) }) {
			s = s[:n]
			break
		}
	}
	for n := range len(s) {
		if !utf8.FullRuneInString(s[n:]) {
			return n
		}
	}
	return len(s)
}
