package field

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Clip is what a message shows of a name or value from a file: its first 64 bytes, and quoted if there is something in
// it that a terminal would not merely show.
func Clip(s string) string { return clip(s, 64) }

func clip(s string, most int) string {
	short, dots := s, ""
	if len(s) > most {
		short, dots = strings.ToValidUTF8(s[:most], ""), "…"
	}
	if !utf8.ValidString(short) || strings.ContainsFunc(short, func(c rune) bool { return !unicode.IsPrint(c) }) {
		short = strconv.Quote(short)
	}
	return short + dots
}

// Said returns an error whose message may quote a file at length, such as encoding/json's, with 256 bytes of it.
func Said(err error) error {
	if err == nil || clip(err.Error(), 256) == err.Error() {
		return err
	}
	return said{err}
}

type said struct{ error }

// Error returns the message, clipped.
func (s said) Error() string { return clip(s.error.Error(), 256) }

// Unwrap returns the error itself.
func (s said) Unwrap() error { return s.error }
