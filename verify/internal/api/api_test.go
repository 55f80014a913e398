package api

import (
	"flag"
	"maps"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write testdata/names.txt again")

const (
	root     = "../../.."
	listFile = "testdata/names.txt"
)

// listed reads testdata/names.txt: the names that exist, and the names that were removed.
func listed(t *testing.T) (names, gone []string) {
	t.Helper()
	text, err := os.ReadFile(listFile)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if name, isGone := strings.CutPrefix(line, "- "); isGone {
			gone = append(gone, name)
		} else {
			names = append(names, line)
		}
	}
	return names, gone
}

// The list contains the names that the packages export. With -update it is written, and keeps removed names as gone.
func TestNames(t *testing.T) {
	got, err := exported(root)
	if err != nil {
		t.Fatal(err)
	}
	if len(got) < 1500 {
		t.Fatalf("found %d exported names, want at least 1500", len(got))
	}
	want, gone := listed(t)
	if *update {
		rewrite(t, got, append(want, gone...))
		return
	}
	for _, name := range missing(want, got) {
		t.Errorf("%s is gone: mention it in CHANGELOG.md and run go test ./verify/internal/api -update", name)
	}
	for _, name := range missing(got, want) {
		t.Errorf("%s is new: run go test ./verify/internal/api -update", name)
	}
	for _, name := range gone {
		if _, found := slices.BinarySearch(got, name); found {
			t.Errorf("%s is listed as gone and exists: run go test ./verify/internal/api -update", name)
		}
	}
}

// rewrite writes the existing names, then those of old that no longer exist.
func rewrite(t *testing.T, names, old []string) {
	t.Helper()
	gone := missing(old, names)
	slices.Sort(gone)
	lines := slices.Clone(names)
	for _, name := range slices.Compact(gone) {
		lines = append(lines, "- "+name)
	}
	if err := os.WriteFile(listFile, []byte(strings.Join(lines, "\n")+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
}

// missing returns the names of a that b does not contain.
func missing(a, b []string) (list []string) {
	has := map[string]bool{}
	for _, name := range b {
		has[name] = true
	}
	for _, name := range a {
		if !has[name] {
			list = append(list, name)
		}
	}
	return list
}

// CHANGELOG.md mentions every name that is gone.
func TestGoneNamesAreInTheChangelog(t *testing.T) {
	names, gone := listed(t)
	text, err := os.ReadFile(root + "/CHANGELOG.md")
	if err != nil {
		t.Fatal(err)
	}
	if len(gone) < 100 {
		t.Fatalf("%s lists %d names as gone, want at least 100", listFile, len(gone))
	}
	for _, name := range unmentioned(string(text), gone, names) {
		t.Errorf("CHANGELOG.md does not mention that %s is gone", name)
	}
}

var (
	span = regexp.MustCompile("`[^`]+`")
	word = regexp.MustCompile(`[\w*]+(\.[\w*]+)*`)
)

// unmentioned returns the names among gone that no code span of the changelog mentions. A member of a type is mentioned
// with its type, as `Type.Member` or `package.Type.Member`, or by its type if that is gone too. A mention may contain
// an asterisk for any letters.
func unmentioned(changelog string, gone, names []string) (list []string) {
	mentions := map[string]bool{}
	for _, s := range span.FindAllString(changelog, -1) {
		for _, w := range word.FindAllString(s, -1) {
			mentions[w] = true
		}
	}
	patterns := slices.DeleteFunc(slices.Collect(maps.Keys(mentions)), func(m string) bool {
		return !strings.Contains(m, "*")
	})
	mentioned := func(name string) bool {
		return mentions[name] || slices.ContainsFunc(patterns, func(pattern string) bool {
			ok, err := path.Match(pattern, name)
			return ok && err == nil
		})
	}
	for _, entry := range gone {
		folder, name, _ := strings.Cut(entry, " ")
		candidates := []string{name, path.Base(folder) + "." + name}
		if of, _, member := strings.Cut(name, "."); member && !slices.Contains(names, folder+" "+of) {
			candidates = append(candidates, of, path.Base(folder)+"."+of)
		}
		if !slices.ContainsFunc(candidates, mentioned) {
			list = append(list, entry)
		}
	}
	return list
}

func TestUnmentioned(t *testing.T) {
	names := []string{"gpt Decoder", "gpt Decoder.Step"}
	gone := []string{"gpt Decoder.Window", "gpt Old", "gpt Old.Field", "verify GPTForward", "nn Plain"}
	for _, test := range []struct {
		changelog string
		want      []string
	}{
		{"", gone},
		{"Window, Old, GPTForward and Plain are gone", gone},
		{"`Window`, `Decoder`", gone},
		{"`gpt.Decoder.Window` is gone", gone[1:]},
		{"`Decoder.Window()`, `gpt.Old`, `verify.*Forward`, `Plain`", nil},
		{
			"`Decoder.Window`, `Old.Field`, `*Backward`, `hand.Plain`",
			[]string{"gpt Old", "verify GPTForward", "nn Plain"},
		},
	} {
		if got := unmentioned(test.changelog, gone, names); !slices.Equal(got, test.want) {
			t.Errorf("%q: got %q, want %q", test.changelog, got, test.want)
		}
	}
}
