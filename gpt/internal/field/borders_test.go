package field

import (
	"encoding/json"
	"errors"
	"flag"
	"math"
	"strings"
	"testing"
)

// A domain contains its borders, and nothing beyond them.
func TestDomains(t *testing.T) {
	nan, inf, tiny := math.NaN(), math.Inf(1), math.SmallestNonzeroFloat64
	for name, c := range map[string]struct {
		domain      Domain
		inside, out []float64
	}{
		"Size(1)":        {Size(1), []float64{1, 2, MaxSize}, []float64{0, -1, MaxSize + 1, nan}},
		"UpTo(9)":        {UpTo(9), []float64{0, 1, 9}, []float64{-1, 10, nan}},
		"Fraction":       {Fraction(), []float64{0, tiny, 0.5}, []float64{1, -tiny, 1.5, nan}},
		"ProperFraction": {ProperFraction(), []float64{tiny, 0.5}, []float64{0, 1, -tiny, 1.5, nan}},
		"NonNegative":    {NonNegative(), []float64{0, 1, math.MaxFloat64}, []float64{-tiny, inf, nan}},
		"Positive":       {Positive(), []float64{tiny, 1, math.MaxFloat64}, []float64{0, -1, inf, nan}},
	} {
		for want, list := range map[bool][]float64{true: c.inside, false: c.out} {
			for _, x := range list {
				if f := New("x", &x, c.domain, ""); (f.Check() == nil) != want {
					t.Errorf("%s of %v: got %v", name, x, f.Check())
				}
			}
		}
	}
	name := "b"
	for _, c := range []struct {
		domain Domain
		ok     bool
	}{{OneOf("a", "b"), true}, {OneOf("a"), false}, {OneOf(), true}, {Any(), true}} {
		if err := New("x", &name, c.domain, "").Check(); (err == nil) != c.ok {
			t.Errorf("%+v: got %v", c.domain, err)
		}
	}
}

// A key that differs in fewer than three letters counts as a misspelling. The message quotes at most 64 bytes of a key.
func TestUnknown(t *testing.T) {
	n := 0
	l := List{New("depth", &n, Any(), ""), New("width", &n, Any(), "")}
	for key, want := range map[string]string{
		"Dpth": "Dpth: unknown field; did you mean depth?", "wi": "wi: unknown field; did you mean width?",
		"at":  "at: unknown field; the known are depth width",
		"wid": "wid: unknown field; did you mean width?",
	} {
		if err := l.unknown(key); err.Error() != want {
			t.Errorf("got %q, want %q", err, want)
		}
	}
	exact, over := strings.Repeat("x", 64), strings.Repeat("x", 65)
	if Clip(exact) != exact || Clip(over) != exact+"…" || Clip(exact[1:]+"é") != exact[1:]+"…" {
		t.Errorf("got %q, %q and %q", Clip(exact), Clip(over), Clip(exact[1:]+"é"))
	}
}

type failing struct{}

func (failing) Read([]byte) (int, error)  { return 0, errors.New("no more") }
func (failing) Write([]byte) (int, error) { return 0, errors.New("full") }

// Read stops at 1 MiB, Write at a number that JSON lacks, and both at an error of the file.
func TestReadWrite(t *testing.T) {
	if data, err := Read(strings.NewReader(strings.Repeat(" ", maxBytes))); err != nil || len(data) != maxBytes {
		t.Errorf("got %d bytes, %v", len(data), err)
	}
	if _, err := Read(strings.NewReader(strings.Repeat(" ", maxBytes+1))); err == nil ||
		!strings.Contains(err.Error(), "longer than 1048576 bytes") {
		t.Errorf("got %v", err)
	}
	if _, err := Read(failing{}); err == nil || err.Error() != "config: no more" {
		t.Errorf("got %v", err)
	}
	x := 1.5
	l := List{New("x", &x, Any(), "")}
	var b strings.Builder
	if err := Write(&b, l); err != nil || b.String() != "{\n  \"x\": 1.5\n}\n" {
		t.Errorf("got %q, %v", b.String(), err)
	}
	if err := Write(failing{}, l); err == nil || err.Error() != "config: full" {
		t.Errorf("got %v", err)
	}
	x = math.NaN()
	b.Reset()
	if err := Write(&b, l); err == nil || !strings.Contains(err.Error(), "x: got NaN") || b.Len() > 0 {
		t.Errorf("got %v and %q", err, b.String())
	}
}

// A list of names has a flag, JSON and text like other fields. A repeated flag or key replaces it, and an empty list is
// [].
func TestListOfNames(t *testing.T) {
	var names []string
	on := false
	l := List{New("targets", &names, Any(), ""), New("on", &on, Any(), "")}
	fs := flag.NewFlagSet("", flag.ContinueOnError)
	l.Flags(fs)
	marshalled := func() string {
		data, err := json.Marshal(l)
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	if got := marshalled(); got != `{"targets":[],"on":false}` {
		t.Errorf("got %s", got)
	}
	if err := fs.Parse([]string{"-targets", "x", "-targets", "a,b", "-on"}); err != nil || l.Check() != nil ||
		marshalled() != `{"targets":["a","b"],"on":true}` {
		t.Errorf("got %s, %v, %v", marshalled(), err, l.Check())
	}
	shared := names
	if err := l.Decode([]byte(`{"targets":["c"]}`), nil); err != nil || marshalled() != `{"targets":["c"],"on":true}` ||
		shared[0] != "a" {
		t.Errorf("got %s, %v, and %v", marshalled(), err, shared)
	}
	if err := l.Decode([]byte(`{"targets":[]}`), nil); err != nil || names != nil {
		t.Errorf("got %v, %v, want nil", names, err)
	}
}

// Keys of older programs are passed to former. Anything but an object is an error.
func TestDecodeKeys(t *testing.T) {
	n := 0
	l := List{New("n", &n, Any(), "")}
	former := func(key string, value json.RawMessage) (bool, error) {
		if key == "bad" {
			return true, errors.New("bad indeed")
		}
		return key == "old", nil
	}
	for text, want := range map[string]string{
		`{"n":1,"old":2}`: "", `{"bad":1}`: "bad indeed", `{"new":1}`: "new: unknown field",
		`[1]`: "want a JSON object", ``: "want a JSON object",
		`{"n"`: "n: ", `{"n":1`: "config", `{"n":1,}`: "config", `{1:1}`: "config", `{"n":1}x`: "something follows",
		`{"n":1,"n":1}`: "n: given twice",
		`{"n":}`:        "n: ", "{\"\xff\":1}": "not valid UTF-8", `{"n":null}`: "n: got null", `{"n":1.5}`: "n: got 1.5",
	} {
		if err := l.Decode([]byte(text), former); (err == nil) != (want == "") || err != nil &&
			!strings.Contains(err.Error(), want) {
			t.Errorf("%s: got error %v, want %q", text, err, want)
		}
	}
	if _, ok := l.Find("m"); ok {
		t.Error("found a field that does not exist")
	}
}
