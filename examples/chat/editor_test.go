package main

import (
	"bytes"
	"io"
	"strings"
	"testing"
)

// A line is edited with the keys of a shell, and earlier lines come back. Ctrl-C drops a line, and Ctrl-D ends the
// input. A line that is too long is refused.
func TestEditor(t *testing.T) {
	const up, left, back = "\x1b[A", "\x1b[D", "\x7f"
	const ctrlA, ctrlC, ctrlD, ctrlK, ctrlW = "\x01", "\x03", "\x04", "\x0b", "\x17"
	keys := "Hxllo" + strings.Repeat(left, 3) + back + "e\r" + // Hello
		"two words" + ctrlW + "letters\r" + // two letters
		up + up + "!\r" + // Hello!
		"gone" + ctrlC +
		"é日" + ctrlA + "<\r" + // <é日
		"all" + ctrlA + ctrlK + "\r" +
		up + up + up + "\r" + // the history is kept: the fourth is Hello!
		strings.Repeat("x", longestTyped) + "\r" +
		ctrlD
	var out bytes.Buffer
	e := newEditor(strings.NewReader(keys), &out, nil)
	for i, want := range []line{
		{"Hello", nil}, {"two letters", nil}, {"Hello!", nil}, {"", errInterrupted}, {"<é日", nil}, {"", nil},
		{"Hello!", nil}, {"", errLong}, {"", io.EOF},
	} {
		got, err := e.line()
		if got != want.text || err != want.err {
			t.Errorf("line %d: got %q, %v, want %q, %v", i, got, err, want.text, want.err)
		}
	}
	if !strings.HasPrefix(out.String(), prompt+"H") {
		t.Errorf("got %.40q, want the prompt and what is typed", out.String())
	}
}
