package certificate

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A certificate that is read is the one that was written, with the bits of all numbers.
func TestRoundTrip(t *testing.T) {
	var c Chain
	for i, loss := range []float64{0.1, math.Copysign(0, -1), 5e-324, math.MaxFloat64, 1 / 3., 2.5} {
		c.Add(i+1, loss, -loss)
		c.Saved(stateAt(i))
	}
	made, err := c.Certificate(sample())
	if err != nil {
		t.Fatal(err)
	}
	made.Code = []Code{NewCode("attention own", "package own"), NewCode("hook fill", "")}
	made.Base, made.Config = hashed(nil), json.RawMessage(`{ "text": "<&>" }`)
	data, err := made.Encode()
	if err != nil {
		t.Fatal(err)
	}
	read, err := Decode(data)
	if err != nil {
		t.Fatal(err)
	}
	for i, l := range read.Links {
		if math.Float64bits(l.Loss) != math.Float64bits(made.Links[i].Loss) ||
			math.Float64bits(l.Norm) != math.Float64bits(made.Links[i].Norm) {
			t.Errorf("step %d: got %v, want %v", l.Step, l, made.Links[i])
		}
	}
	again, err := read.Encode()
	if err != nil || !bytes.Equal(again, data) {
		t.Errorf("got %s, %v, want %s", again, err, data)
	}
	if read.Code[0].SHA256 != hashed([]byte("package own")) || read.Code[1].Covered() || !read.Code[0].Covered() {
		t.Errorf("got the code %v", read.Code)
	}
	path := filepath.Join(t.TempDir(), File)
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
	opened, err := Open(path)
	if err != nil || !cmp.Equal(opened, read) {
		t.Errorf("got %v, %v", opened, err)
	}
	if _, err := Open(path + "x"); err == nil {
		t.Error("opened a file that is not there")
	}
}

// Every edit of the text of a certificate is an error that names what was edited: a number or hash in a link with its
// step, or a part before the links.
func TestEdits(t *testing.T) {
	var c Chain
	trained(&c, 100, 10)
	_, data := written(t, c)
	rng := rand.New(rand.NewPCG(5, 5))
	digit := regexp.MustCompile(`[0-9]`)
	lines := strings.SplitAfter(string(data), "\n")
	edited, tried := map[string]int{}, 0
	for tried < 400 {
		i := rng.IntN(len(lines))
		places := digit.FindAllStringIndex(lines[i], -1)
		if len(places) == 0 {
			continue
		}
		at := places[rng.IntN(len(places))][0]
		old := lines[i][at]
		replacement := byte('0' + rng.IntN(10))
		if old == replacement {
			continue
		}
		line := lines[i][:at] + string(replacement) + lines[i][at+1:]
		_, err := Decode([]byte(strings.Join(lines[:i], "") + line + strings.Join(lines[i+1:], "")))
		key := regexp.MustCompile(`^\{?"(\w+)"`).FindStringSubmatch(lines[i])[1]
		want := map[string][]string{
			"step": {"link of step", "line"}, "from": {"builds", "line"}, "left_out": {"builds", "line"},
			"sums": {"edited"},
		}[key]
		if want == nil {
			want = []string{key, "line"} // the number may not be JSON any more
		}
		want = append(want, "unknown field") // sha256 has digits
		named := false
		for _, w := range want {
			named = named || err != nil && strings.Contains(err.Error(), w)
		}
		if !named {
			t.Errorf("%s, byte %d, %c for %c: got %v, want it named by %v", key, at, replacement, old, err, want)
		}
		edited[key]++
		tried++
	}
	t.Logf("%d edits, %v", tried, edited)
	for _, key := range []string{"step", "config", "text", "tokenizer", "builds", "sha256"} {
		if edited[key] == 0 {
			t.Errorf("no edit of %s", key)
		}
	}
}

// A certificate that was cut, whose links were removed, doubled or exchanged, or that is something else, is refused by
// name.
func TestHostileCertificates(t *testing.T) {
	var c Chain
	trained(&c, 100, 10)
	_, data := written(t, c)
	good := string(data)
	lines := strings.SplitAfter(good, "\n")
	first := 0
	for i, line := range lines {
		if first == 0 && strings.HasPrefix(line, `{"step"`) {
			first = i
		}
	}
	change := func(f func(lines []string) []string) string {
		return strings.Join(f(append([]string{}, lines...)), "")
	}
	for name, test := range map[string]struct{ data, want string }{
		"huge":    {strings.Repeat(" ", maxSize+1), "bytes, want at most 1048576"},
		"nothing": {"", "unexpected end"},
		"another": {`{"format": "pedestrian certificate 2"}`, `format: got pedestrian certificate 2, want`},
		"cut":     {good[:len(good)-40], "line"},
		"a key":   {strings.Replace(good, `"base"`, `"signed"`, 1), "unknown field"},
		"spaces":  {" " + good, "want the form"},
		"case":    {strings.Replace(good, `"base"`, `"Base"`, 1), "want the form"},
		"removed": {change(func(l []string) []string { return append(l[:first+2], l[first+3:]...) }),
			"link of step 8: edited, or the link before it was removed"},
		"exchanged": {change(func(l []string) []string {
			l[first], l[first+1] = l[first+1], l[first]
			return l
		}), "link of step 2: edited"},
		"doubled": {change(func(l []string) []string { return append(l[:first+1], l[first:]...) }),
			"link of step 1: edited"},
		"tail": {change(func(l []string) []string {
			n := len(l) - 5 // the last link
			l[n-1] = strings.TrimSuffix(l[n-1], ",\n") + "\n"
			return append(l[:n], l[n+1:]...)
		}), "links: cut after step 96"},
		"about": {strings.Replace(good, "not signed", "signed", 1), "about: got"},
	} {
		if _, err := Decode([]byte(test.data)); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want %q", name, err, test.want)
		}
	}
	for cut := range len(data) - 1 {
		if _, err := Decode(data[:cut]); err == nil {
			t.Fatalf("cut after %d bytes: no error", cut)
		}
	}
}

// What no chain makes is refused, even if all sums are right.
func TestFormOfAChain(t *testing.T) {
	var c Chain
	trained(&c, 100, 25)
	for want, change := range map[string]func(c *Certificate){
		"link of step 8 is missing": func(c *Certificate) { c.Links = append(c.Links[:3], c.Links[4:]...) },
		"stands after the link of":  func(c *Certificate) { c.insert(2, c.Links[1]) },
		"digest: got":               func(c *Certificate) { c.Links[2].Digest = "abc" },
		"got no hash of weights":    func(c *Certificate) { l := c.Links[5]; l.Step++; c.insert(6, l) },
		"want a SHA-256":            func(c *Certificate) { c.Links[2].Moments = strings.Repeat("x", 64) },
		"unsupported value":         func(c *Certificate) { c.Links[2].Loss = math.NaN() },
		"builds: got 0":             func(c *Certificate) { c.Builds = nil },
		"builds: got 9":             func(c *Certificate) { c.Builds = make([]Build, 9) },
		"builds: got one from step": func(c *Certificate) { c.Builds[0].From = 101 },
		"text or tokenizer: got":    func(c *Certificate) { c.Text = strings.Repeat("a text ", 100) },
		"kind: got other":           func(c *Certificate) { c.Kind = "other" },
		"tokenizer: got -1 tokens":  func(c *Certificate) { c.Tokenizer.Size = -1 },
		"tokenizer or base: got":    func(c *Certificate) { c.Base = "base" },
		"code: got 101 parts":       func(c *Certificate) { c.Code = make([]Code, 101) },
		"config: got":               func(c *Certificate) { c.Config = json.RawMessage("7") },
		"unexpected end of JSON":    func(c *Certificate) { c.Config = json.RawMessage("{") },
		"code: fill: got sha, want": func(c *Certificate) { c.Code = []Code{{"fill", "sha"}} },
		"links: got the steps -1":   func(c *Certificate) { c.From = -1 },
		"got another than of no": func(c *Certificate) {
			l := c.Links[1]
			l.Step, l.State = 0, stateAt(0)
			c.insert(0, l)
		},
		"of checkpoints, want at": func(c *Certificate) { crowd(c) },
		"bytes, want at most 104857": func(c *Certificate) {
			c.Config = fmt.Append(nil, `["`, strings.Repeat("x", maxSize), `"]`)
		},
	} {
		made, err := c.Certificate(sample())
		if err != nil {
			t.Fatal(err)
		}
		change(made)
		if _, err := made.Encode(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	if _, err := (*Certificate)(nil).Encode(); err == nil {
		t.Error("encoded nil")
	}
}

func (c *Certificate) insert(at int, l Link) {
	c.Links = append(c.Links[:at], append([]Link{l}, c.Links[at:]...)...)
}

func crowd(c *Certificate) {
	for i := range c.Links {
		c.Links[i].State = stateAt(i)
	}
}

// A commit or a version of the library that is known to differ is another source, and all that differs is listed.
func TestSameSource(t *testing.T) {
	a, b := Build{Commit: "c1", Module: "devel", Go: "go1.26"}, Build{Commit: "c2", Module: "devel", Go: "go1.27"}
	for _, test := range []struct {
		a, b Build
		want bool
	}{
		{a, b, false}, {a, Build{Module: "v1"}, true}, {Build{Module: "devel"}, b, true}, {a, a, true},
		{Build{Module: "v1"}, Build{Module: "v2"}, false}, {Build{Module: "v1"}, Build{Module: "devel"}, true},
	} {
		if got := test.a.SameSource(test.b); got != test.want {
			t.Errorf("%v and %v: got %t, want %t", test.a, test.b, got, test.want)
		}
	}
	want := []string{`commit: "c1" here, "c2" there`, `go: "go1.26" here, "go1.27" there`}
	if got := a.Diff(b); !cmp.Equal(got, want) || len(a.Diff(a)) > 0 {
		t.Errorf("got %q, want %q", got, want)
	}
}
