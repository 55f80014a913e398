package field

import (
	"encoding/json"
	"flag"
	"strings"
	"testing"
)

// held is an Int stored in a map.
type held map[string]int

func (h held) Get() int   { return h["n"] }
func (h held) Set(n int)  { h["n"] = n }
func (h held) Read(n int) { h["n"] = n }

// An Int has a flag, JSON and a domain like any other field.
func TestInt(t *testing.T) {
	h := held{"n": 7}
	l := List{New("depth", h, UpTo(9), "how deep")}
	fs := flag.NewFlagSet("", flag.ContinueOnError)
	fs.SetOutput(new(strings.Builder))
	l.Flags(fs)
	if f := fs.Lookup("depth"); f.DefValue != "7" || f.Usage != "how deep" {
		t.Errorf("flag: got %+v", f)
	}
	if err := fs.Parse([]string{"-depth", "8"}); err != nil || h["n"] != 8 {
		t.Errorf("got %d, %v", h["n"], err)
	}
	if err := fs.Parse([]string{"-depth", "x"}); err == nil ||
		!strings.Contains(err.Error(), `invalid value "x" for flag -depth: parse error`) {
		t.Errorf("got %v", err)
	}
	data, err := json.Marshal(l)
	if err != nil || string(data) != `{"depth":8}` {
		t.Errorf("got %s, %v", data, err)
	}
	if err := l.Decode([]byte(`{"depth":9}`), nil); err != nil || h["n"] != 9 || l.Check() != nil {
		t.Errorf("got %d, %v, %v", h["n"], err, l.Check())
	}
	if err := l.Decode([]byte(`{"depth":1.5}`), nil); err == nil ||
		err.Error() != "depth: got 1.5, want a whole number, 0 to 9" {
		t.Errorf("got %v", err)
	}
	if h.Set(10); l.Check() == nil || l.Check().Error() != "depth: got 10, want a whole number, 0 to 9" {
		t.Errorf("got %v", l.Check())
	}
}

// An optional field is written only if it is not empty, 0 or a default.
func TestOptional(t *testing.T) {
	var name string
	n := 3
	l := List{New("mlp", &name, Any(), "").Optional(), New("n", &n, Any(), "")}
	for _, want := range []string{`{"n":3}`, `{"mlp":"mine","n":3}`} {
		if data, err := json.Marshal(l); err != nil || string(data) != want {
			t.Errorf("got %s, %v, want %s", data, err, want)
		}
		name = "mine"
	}
}

// Differing fields are named with both values; a free field may differ.
func TestDiff(t *testing.T) {
	table := func(a, b int) List { return List{New("a", &a, Any(), ""), Free("b", &b, Any(), "")} }
	now, saved := table(1, 2), table(3, 4)
	if err := now.Diff("resume", saved); err == nil ||
		err.Error() != "resume: a: got 1, want 3 as saved; b: got 2, want 4 as saved" {
		t.Errorf("got %v", err)
	}
	if err := now.Fixed().Without("a").Diff("resume", saved); err != nil {
		t.Errorf("got %v", err)
	}
	if err := table(3, 2).Fixed().Diff("resume", saved); err != nil {
		t.Errorf("got %v", err)
	}
}
