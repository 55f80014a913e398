package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// -page writes every row of INDEX.md with its number, its test and its mark, in their order, and links to existing
// files.
func TestPage(t *testing.T) {
	index, err := os.ReadFile("../../verify/INDEX.md")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "page.html")
	if status, out, complaint := do("-page", path); status != 0 || !strings.Contains(out, path) {
		t.Fatalf("status %d: %s%s", status, out, complaint)
	}
	html, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	rows := regexp.MustCompile(
		`(?m)^\| (\(\d+\)) \|.*\| (\S+) \|[^|]*\| (\d) \|$`,
	).FindAllStringSubmatch(string(index), -1)
	shown := regexp.MustCompile(
		`<tr class="equation" data-mark="(\d)".*<td class="number">(\(\d+\))</td>.*<td>(?:<a [^>]*>)?([^<]+)(?:</a>)?</td><td>[^<]*</td></tr>`,
	).
		FindAllStringSubmatch(string(html), -1)
	if len(rows) != 237 || len(shown) != len(rows) {
		t.Fatalf("got %d rows in the page and %d in INDEX.md, want 237", len(shown), len(rows))
	}
	for i, row := range rows {
		if got := shown[i]; got[2] != row[1] || got[3] != row[2] || got[1] != row[3] {
			t.Errorf(
				"row %d: got %s %s with mark %s, want %s %s with mark %s", i+1, got[2], got[3], got[1], row[1], row[2],
				row[3],
			)
		}
	}
	links := regexp.MustCompile(`href="([^"]+\.go)#L\d+"`).FindAllStringSubmatch(string(html), -1)
	for _, link := range links {
		if _, err := os.Stat(filepath.Join(filepath.Dir(path), filepath.FromSlash(link[1]))); err != nil {
			t.Errorf("a link leads nowhere: %v", err)
		}
	}
	if len(links) < 400 {
		t.Errorf("got %d links, want one for each test and formula of a row", len(links))
	}
}

// Outside of the module there are no sources to read, which the error says.
func TestPageElsewhere(t *testing.T) {
	t.Chdir(t.TempDir())
	if status, _, complaint := do("-page", "page.html"); status != 1 ||
		!strings.Contains(complaint, "-page: the sources") {
		t.Errorf("got status %d: %s", status, complaint)
	}
}
