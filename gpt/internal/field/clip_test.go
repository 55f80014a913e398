package field

import (
	"io"
	"strings"
	"testing"

	"github.com/pkg/errors"
)

// Quotations of a file are short and printable.
func TestClip(t *testing.T) {
	for s, want := range map[string]string{
		"plain ünï":                       "plain ünï",
		"":                                "",
		"\x1b[2J":                         `"\x1b[2J"`,
		"two\nlines":                      `"two\nlines"`,
		"\xff":                            `"\xff"`,
		"\u202egnp":                       `"\u202egnp"`,
		strings.Repeat("a", 7<<20):        strings.Repeat("a", 64) + "…",
		strings.Repeat("\x1b", 7<<20):     `"` + strings.Repeat(`\x1b`, 64) + `"…`,
		strings.Repeat("a", 63) + "üüüüü": strings.Repeat("a", 63) + "…",
	} {
		if got := Clip(s); got != want {
			t.Errorf("got %.300q, want %q", got, want)
		}
	}
	long := errors.Wrap(io.EOF, strings.Repeat("\a", 1000))
	if got := Said(long); !errors.Is(got, io.EOF) || len(got.Error()) > 600 || strings.Contains(got.Error(), "\a") {
		t.Errorf("got %q", got)
	}
	if Said(nil) != nil || Said(io.EOF) != io.EOF {
		t.Error("an error that is short and plain is changed")
	}
}
