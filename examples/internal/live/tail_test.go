package live

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestTail checks the lines that are read of a file: only complete lines, also with carriage returns; all lines of a
// file that was rewritten in place and is longer than before; no line that is too long.
func TestTail(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lines")
	tl, got := tail{path: path, longest: 1 << 17}, ""
	want := func(want string) {
		t.Helper()
		got = ""
		must(t, tl.more(func() { got += "again " }, func(l json.RawMessage) { got += string(l) + " " }))
		if got != want {
			t.Errorf("got %.100q, want %q", got, want)
		}
	}
	want("")
	add(t, path, "1\r\n{\"a\":\r2}\r\n\n3")
	want(`1 {"a":2} `)
	add(t, path, "4\n")
	want("34 ")
	must(t, os.WriteFile(path, []byte("5\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n6\n"), 0o644))
	want("again 5 6 ")
	add(t, path, `"`+strings.Repeat("x", tl.longest))
	want("")
	add(t, path, strings.Repeat("x", tl.longest)+"\"\n7\n")
	want("7 ")
	opens := tl.opens
	want("")
	if tl.opens != opens {
		t.Error("an unchanged file was opened")
	}
	must(t, os.Truncate(path, 2))
	want("again 5 ")
}
