package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/examples/internal/browser"
)

// In a browser every page fits a narrow light and a wide dark window (nightly four widths of each) and can be read,
// everything that can have the focus has a name, and the console has no errors. An exercise is marked, from a file as
// from a server.
func TestBrowserBook(t *testing.T) {
	b := browser.Open(t)
	dir := t.TempDir()
	if err := run(t.Context(), []string{"-out_dir", dir}, testWriter{t}, testWriter{t}); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.FileServer(http.Dir(dir)))
	defer server.Close()
	pages, err := filepath.Glob(filepath.Join(dir, "*.html"))
	if err != nil || len(pages) < 20 {
		t.Fatalf("got %d pages, %v", len(pages), err)
	}
	widths := map[string][]int{"light": {360}, "dark": {1280}}
	if os.Getenv("NIGHTLY") != "" {
		widths = map[string][]int{"light": {360, 768, 1280, 1600}, "dark": {360, 768, 1280, 1600}}
	}
	for _, page := range pages {
		name := filepath.Base(page)
		if name == "train.html" { // package trainer opens it
			continue
		}
		b.Visit(server.URL + "/" + name)
		for _, focus := range b.Named() {
			if _, after, _ := strings.Cut(focus, " "); strings.TrimSpace(after) == "" {
				t.Errorf("%s: got %q, want a name", name, focus)
			}
		}
		for _, scheme := range []string{"light", "dark"} {
			for _, width := range widths[scheme] {
				b.Show(width, 900, scheme)
				for what, fault := range map[string]string{"layout": b.Faults(), "contrast": b.Contrast()} {
					if fault != "" {
						t.Errorf("%s, %d wide, %s: %s:\n%s", name, width, scheme, what, fault)
					}
				}
			}
		}
	}
	for _, at := range []string{server.URL, "file://" + dir} {
		b.Visit(at + "/04-layer-norm.html")
		answer := func(text, want string) {
			t.Helper()
			b.Ask(`(() => { const f = document.getElementById("layer-norm-input");
				f.querySelector("input").value = "` + text + `"; f.requestSubmit(); })()`)
			b.Wait(`document.querySelector("#layer-norm-input .verdict").textContent`, want)
		}
		answer("(g − mean(g) − a∘mean(a∘g)) / σ", "Right: equal without rounding at 100 random points.")
		answer("g/sigma", "This would be right if the mean and σ were constants.")
		answer("g∘(", "This is not a formula")
		if got := b.Ask(`document.querySelector("#layer-norm-input .verdict").className`); got != "verdict wrong" {
			t.Errorf("got the class %q", got)
		}
	}
	if len(b.Errors) > 0 {
		t.Errorf("errors on the console: %q", b.Errors)
	}
}
