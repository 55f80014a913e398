package field

import (
	"encoding/json"
	"flag"
	"io"
	"strings"
	"testing"
)

// A field of each kind has the same value in flag, JSON and text, and its error describes the allowed values.
func TestKinds(t *testing.T) {
	var (
		i  int
		h  = held{}
		u  uint64
		x  float64
		b  bool
		s  string
		ss []string
	)
	for _, c := range []struct {
		value                 any
		text, json, bad, want string
	}{
		{&i, "-3", "-3", `"a"`, "anything"},
		{h, "7", "7", `true`, "anything"},
		{&u, "18446744073709551615", "18446744073709551615", `-1`, "anything"},
		{&x, "0.25", "0.25", `"0.25"`, "anything"},
		{&b, "true", "true", `1`, "true or false"},
		{&s, "a b", `"a b"`, `[]`, "a string"},
		{&ss, "a,b", `["a","b"]`, `["a",1]`, "a list of strings"},
	} {
		f := New("f", c.value, Domain{want: "anything"}, "help")
		if c.want == "a string" {
			f.domain.want = ""
		}
		l, fs := List{f}, flag.NewFlagSet("", flag.ContinueOnError)
		fs.SetOutput(io.Discard)
		empty, err := json.Marshal(l)
		if err != nil {
			t.Fatal(err)
		}
		l.Flags(fs)
		if err := fs.Parse([]string{"-f=" + c.text}); err != nil || f.String() != c.text {
			t.Errorf("%T: got %s, %v, want %s", c.value, f, err, c.text)
		}
		data, err := json.Marshal(l)
		if err != nil || string(data) != `{"f":`+c.json+`}` {
			t.Errorf("%T: got %s, %v, want %s", c.value, data, err, c.json)
		}
		if err := l.Decode(empty, nil); err != nil || f.String() == c.text {
			t.Errorf("%T: got %s, %v", c.value, f, err)
		}
		if err := l.Decode(data, nil); err != nil || f.String() != c.text || l.Check() != nil {
			t.Errorf("%T: got %s, %v, %v, want %s", c.value, f, err, l.Check(), c.text)
		}
		if err := f.Decode([]byte(c.bad)); err == nil || err.Error() != "f: got "+c.bad+", want "+c.want {
			t.Errorf("%T: got %v, want %s", c.value, err, c.want)
		}
	}
	fs := flag.NewFlagSet("", flag.ContinueOnError)
	List{New("f", &ss, Any(), "")}.Flags(fs)
	ss = []string{"a"}
	if err := fs.Parse([]string{"-f="}); err != nil || ss != nil {
		t.Errorf("got %q, %v, want none", ss, err)
	}
}

// A domain applies to every kind of number, and the error names the first field outside its domain. A field of any JSON
// value keeps its text.
func TestAnyJSON(t *testing.T) {
	value := json.RawMessage("null")
	l := List{New("f", &value, Any(), "")}
	for _, want := range []string{`{"a":[1,2.50]}`, `null`, `"x"`} {
		if err := l.Decode([]byte(`{"f":`+want+`}`), nil); err != nil || l[0].String() != want {
			t.Errorf("got %s, %v, want %s", l[0], err, want)
		}
		if data, err := l.MarshalJSON(); err != nil || string(data) != `{"f":`+want+`}` {
			t.Errorf("got %s, %v, want %s", data, err, want)
		}
	}
}

func TestCheck(t *testing.T) {
	i, h, x, s := 10, held{"n": 10}, 10.0, ""
	for _, value := range []any{&i, h, &x} {
		if err := New("f", value, UpTo(9), "").Check(); err == nil {
			t.Errorf("%T: 10 is no more than 9", value)
		}
		if err := New("f", value, Any(), "").Check(); err != nil {
			t.Errorf("%T: got %v", value, err)
		}
	}
	if err := New("f", &s, OneOf("a"), "").Check(); err != nil {
		t.Errorf("the default: got %v", err)
	}
	l := List{New("a", &i, Any(), ""), New("b", &i, UpTo(9), ""), New("c", &i, UpTo(8), "")}
	if err := l.Check(); err == nil || !strings.HasPrefix(err.Error(), "b: got 10, want") {
		t.Errorf("got %v", err)
	}
}

// Selecting fields from a list does not change the list.
func TestPickedFromList(t *testing.T) {
	n := 0
	l := List{Free("a", &n, Any(), ""), New("b", &n, Any(), ""), New("c", &n, Any(), "")}
	for want, got := range map[string]List{"b c": l.Fixed(), "a c": l.Without("b"), "a b c": l} {
		if names := strings.Join(got.Names(), " "); names != want {
			t.Errorf("got %s, want %s", names, want)
		}
	}
}

// Messages quote at most 64 bytes of a file.
func TestClippedMessages(t *testing.T) {
	long := strings.Repeat("x", 65)
	short := long[:64] + "…"
	a, b := long, "y"
	l, other := List{New("s", &a, Any(), "")}, List{New("s", &b, Any(), "")}
	for want, err := range map[string]error{
		"resume: s: got " + short + ", want y as saved": l.Diff("resume", other),
		"resume: s: got y, want " + short + " as saved": other.Diff("resume", l),
		short + ": unknown field; the known are s":      l.Decode([]byte(`{"`+long+`":1}`), nil),
		short + ": given twice": EachKey([]byte(`{"`+long+`":1,"`+long+
			`":1}`), func(string, json.RawMessage) error { return nil }),
		short + ": line 1, column 69: unexpected end of JSON input": l.Decode([]byte(`{"` + long +
			`":1`)[:len(long)+4], nil),
		"config: want a JSON object: unexpected end of JSON input": l.Decode(nil, nil),
		"S: unknown field; did you mean s?":                        l.Decode([]byte(`{"S":1}`), nil),
		"LONGER: unknown field; did you mean longer?": List{New("longer", &a, Any(), "")}.Decode(
			[]byte(`{"LONGER":1}`), nil,
		),
	} {
		if err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}
