package program

import (
	"io"
	"os"
	"strings"
	"unicode/utf8"

	"golang.org/x/term"
)

// columns returns the width of a terminal, or 0 if out is not a terminal.
func columns(out io.Writer) int {
	f, ok := behind(out).(*os.File)
	if !ok {
		return 0
	}
	width, _, err := term.GetSize(int(f.Fd()))
	if err == nil && width == 0 { // unknown
		return 80
	}
	return width
}

// Terminal reports whether a file is a terminal, where somebody types or reads.
func Terminal(f any) bool {
	out, ok := behind(f).(*os.File)
	return ok && term.IsTerminal(int(out.Fd()))
}

// fit returns the fields that fit into the width, padded with spaces to overwrite a longer line. A wide line begins
// with a bar.
func fit(width int, done float64, fields []string) string {
	line := ""
	if width >= 59 {
		cells := width / 8
		full := min(cells, int(done*float64(cells)))
		line = "|" + strings.Repeat("█", full) + strings.Repeat(" ", cells-full) + "| "
	}
	line += fields[0]
	for _, f := range fields[1:] {
		if utf8.RuneCountInString(line)+3+utf8.RuneCountInString(f) > width {
			break
		}
		line += " | " + f
	}
	letters := []rune(line)
	letters = letters[:min(len(letters), max(0, width))]
	return string(letters) + strings.Repeat(" ", max(0, width-len(letters)))
}
