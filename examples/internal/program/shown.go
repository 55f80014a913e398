package program

import (
	"strconv"
	"strings"
	"unicode"
)

// Shown returns the message of an error, which may quote a file, for a terminal: unprintable characters are escaped,
// and messages longer than 4096 bytes are cut.
func Shown(err error) string {
	const most = 4096
	var b strings.Builder
	for _, c := range err.Error() {
		switch quoted := strconv.QuoteRune(c); {
		case b.Len() >= most:
			return b.String() + "…"
		case unicode.IsPrint(c) || c == '\n' || c == '\t':
			b.WriteRune(c)
		default:
			b.WriteString(quoted[1 : len(quoted)-1])
		}
	}
	return b.String()
}
