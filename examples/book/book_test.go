package main

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/pedestrian-ml/pedestrian/verify/index"
)

// TestBook writes the book: every derivation is executed and every picture computed on the way. It checks the links,
// the anchors and the size, and that each chapter has its parts.
func TestBook(t *testing.T) {
	dir := t.TempDir()
	begin := time.Now()
	if err := run(t.Context(), []string{"-out_dir", dir}, testWriter{t}, testWriter{t}); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(begin); took > 90*time.Second {
		t.Errorf("writing the book took %v, want at most 90 s", took)
	}
	root, err := index.Root()
	if err != nil {
		t.Fatal(err)
	}
	b, err := read(root)
	if err != nil {
		t.Fatal(err)
	}
	exercises := 0
	for _, c := range b.Chapters {
		page := readPage(t, filepath.Join(dir, c.File+".html"))
		for _, part := range []string{
			`class="derivation"`, `class="check">✓`, "<figure>", `class="columns"`, `class="experiment"`,
			`class="exercise"`,
		} {
			if !strings.Contains(page, part) {
				t.Errorf("chapter %d: no %s", c.Number, part)
			}
		}
		exercises += len(c.Exercises)
		if strings.Contains(page, "NaN") {
			t.Errorf("chapter %d shows a NaN", c.Number)
		}
		checkLinks(t, dir, page)
	}
	checkLinks(t, dir, readPage(t, filepath.Join(dir, "index.html")))
	if exercises < 30 {
		t.Errorf("got %d exercises, want at least 30", exercises)
	}
	checkSizes(t, dir)
}

// The site and the program that marks are small enough for a slow network.
func checkSizes(t *testing.T, dir string) {
	t.Helper()
	var total int64
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		total += info.Size()
		if most := int64(2 << 20); filepath.Base(path) == "marker.js" && info.Size() > most { // 1.5 MB, in base 64
			t.Errorf("marker.js: got %d bytes, want at most %d", info.Size(), most)
		}
		return nil
	})
	if err != nil || total > 8<<20 {
		t.Errorf("the site has %d bytes, want at most %d; %v", total, 8<<20, err)
	}
}

var (
	links    = regexp.MustCompile(`(?:href|src)="([^"#:]*)"`)
	mentions = regexp.MustCompile(`<code>((?:\./)?(?:examples|nn|gpt|graph|verify)/[a-z0-9_/]+(?:\.go|\.md)?)</code>`)
	commands = regexp.MustCompile(`go (?:run|test) \./([a-z0-9_/]+)`)
)

// checkLinks checks that what a page links to, names, or runs is there.
func checkLinks(t *testing.T, dir, page string) {
	t.Helper()
	root, err := index.Root()
	if err != nil {
		t.Fatal(err)
	}
	check := func(path string) {
		if _, err := os.Stat(path); err != nil {
			t.Error(err)
		}
	}
	for _, m := range links.FindAllStringSubmatch(page, -1) {
		check(filepath.Join(dir, m[1]))
	}
	for _, m := range mentions.FindAllStringSubmatch(page, -1) {
		check(filepath.Join(root, m[1]))
	}
	for _, m := range commands.FindAllStringSubmatch(page, -1) {
		check(filepath.Join(root, m[1]))
	}
}

func readPage(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

type testWriter struct{ t *testing.T }

func (w testWriter) Write(p []byte) (int, error) {
	w.t.Log(strings.TrimSpace(string(p)))
	return len(p), nil
}

// A wrong step, an unknown name and a number that nothing computes keep a page from being written.
func TestWrongPages(t *testing.T) {
	root, err := index.Root()
	if err != nil {
		t.Fatal(err)
	}
	for source, want := range map[string]string{
		"```derive\ngiven x: n×d\ny := x∘x\ndy = x∘dx\n```\n":   "dy = x∘dx: entry 0 is",
		"```show nothing\n```\n":                                `no figure "nothing"`,
		"```code\nnn/dyt.go: Missing\n```\n":                    "nn/dyt.go: no declaration of Missing",
		"```code\nnn/missing.go: DyT\n```\n":                    "missing.go",
		"```experiment examples/lab/RESULTS.md\nNothing\n```\n": `no heading "Nothing"`,
		"```python\n```\n":                                      `got a block "python"`,
		"The loss is {{nothing}}.":                              `no number "nothing"`,
		"The loss is {{nothing.":                                "without }}",
		"A formula $x +$ here.":                                 "is not a formula",
		"```exercise\nname: a\n```\n":                           "want name, text, given, find, of and answer",
		"```derive\ngiven x\n```\n":                             "want names, a colon and a shape",
		"```derive\ngiven x: n×d\n```\n":                        "got no lines",
		"```derive\n= x\n```\n":                                 "want a formula on the left of the first line",
		"```derive\ngiven x: n×d\ny := x ∘ (x\n```\n":           "column 7: got the end, want )",
		"```derive\ngiven x: n×d\nx·x = x\n```\n":               "want as many columns on the left as rows on the right",
		"```derive\ngiven x: n×d\nΣ x = Σ_cols x\n```\n":        "the left side is (1, 1)",
	} {
		b, err := read(root)
		if err != nil {
			t.Fatal(err)
		}
		c := b.Chapters[0]
		c.Source = source
		if err := b.convert(c, new(strings.Builder)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %s", source, err, want)
		}
	}
}

// A command at the beginning of a record is code, also on its page. Where it is complete, no flags are missing.
func TestRecords(t *testing.T) {
	root, err := index.Root()
	if err != nil {
		t.Fatal(err)
	}
	b, err := read(root)
	if err != nil {
		t.Fatal(err)
	}
	for heading, flags := range map[string]bool{"Layer norm": true, "The same hash on ten ports": false} {
		c := b.Chapters[0]
		c.Source = "```experiment examples/book/RESULTS.md\n" + heading + "\n```\n"
		var page strings.Builder
		if err := b.convert(c, &page); err != nil {
			t.Fatal(err)
		}
		got, code := strings.Contains(page.String(), "has the flags"), strings.Contains(page.String(), "<pre><code>")
		if got != flags || !code {
			t.Errorf("%s: its page names flags: %t, want %t, and code\n%s", heading, got, flags, page.String())
		}
	}
}

// An interrupt ends the program between two chapters.
func TestInterrupt(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	dir := t.TempDir()
	if err := run(ctx, []string{"-out_dir", dir}, testWriter{t}, testWriter{t}); err == nil {
		t.Error("got no error, want one that the program was interrupted")
	}
}
