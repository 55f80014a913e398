package field

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Clip returns the form in which a message shows a name or value from a file: its first 64 bytes, quoted if they
// contain characters that a terminal would not simply print.
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

// Said returns an error whose message is clipped to 256 bytes, for errors that may quote a file at length, such as
// errors of encoding/json.
func Said(err error) error {
	if err == nil || clip(err.Error(), 256) == err.Error() {
		return err
	}
	return clipped{err}
}

type clipped struct{ error }

// Error returns the message, clipped.
func (s clipped) Error() string { return clip(s.error.Error(), 256) }

// Unwrap returns the original error.
func (s clipped) Unwrap() error { return s.error }
