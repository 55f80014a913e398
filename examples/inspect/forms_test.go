package main

import (
	"bytes"
	"image/color"
	"image/png"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/internal/structured"
)

// formed returns what -forms prints on a prompt, and the path of the picture.
func formed(t *testing.T, prompt string, more ...string) (out, picture string, err error) {
	t.Helper()
	dir, _ := saved(t, "causal")
	picture = filepath.Join(t.TempDir(), "x.png")
	var b bytes.Buffer
	err = run(t.Context(), append([]string{"-checkpoint", dir, "-prompt", prompt, "-forms", "-draws", "3",
		"-picture", picture}, more...), &b, io.Discard)
	return b.String(), picture, err
}

// Every head has its distances, and its weights in the picture: a first token sees itself alone.
func TestForms(t *testing.T) {
	out, path, err := formed(t, "The wheel")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"9 × 9 weights", "Σ1+Ẽ", "1/n", "h.0 head 0  ", "h.1 head 2  ", "9.0 (0.111)", "of 6 heads", "saved " + path,
	} {
		if !strings.Contains(out, want) {
			t.Errorf("got\n%s\nwant %q in it", out, want)
		}
	}
	picture, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer picture.Close()
	image, err := png.Decode(picture)
	if err != nil {
		t.Fatal(err)
	}
	colors, err := shades()
	if err != nil {
		t.Fatal(err)
	}
	l := layoutOf(strings.Split("The wheel", ""), 1)
	got := image.At(margin+l.left+l.cell/2, top+caption+l.cell/2)
	if color.RGBAModel.Convert(got) != colors[255] {
		t.Errorf("the cell of the whole weight is %v, want %v", got, colors[255])
	}
}

// Groups and rows are fewer for a short prompt, unless they are given; a single character is enough.
func TestShortPrompts(t *testing.T) {
	for _, tc := range []struct {
		n             int
		given         string
		width, groups int
	}{
		{32, "", 3, 2}, {6, "", 3, 2}, {5, "", 2, 2}, {3, "", 1, 2}, {1, "", 1, 1}, {5, "width", 3, 1},
		{2, "width", 3, 0}, {5, "groups", 2, 2},
	} {
		o := forms{
			settings: structured.Settings{Width: 3, Tokens: 2, Draws: 1}, given: map[string]bool{tc.given: true},
		}
		s := o.shaped(tc.n)
		if s.Width != tc.width || s.Tokens != tc.groups || s.Validate(tc.n) != nil {
			t.Errorf("%+v: got width %d, %d groups, %v", tc, s.Width, s.Tokens, s.Validate(tc.n))
		}
	}
	for _, prompt := range []string{"The w", "T"} {
		if out, _, err := formed(t, prompt); err != nil || !strings.Contains(out, "Σ3+Ẽ") {
			t.Errorf("%q: %v\n%s", prompt, err, out)
		}
	}
	for word, args := range map[string][]string{
		"2 groups of 3 rows": {"-groups", "2", "-width", "3"}, "draws: got 0": {"-draws", "0"},
	} {
		if _, _, err := formed(t, "The", args...); err == nil || !strings.Contains(err.Error(), word) ||
			!strings.Contains(err.Error(), "3 tokens") {
			t.Errorf("%q: got %v, want %q in it", args, err, word)
		}
	}
	dir, _ := saved(t, "linear")
	err := run(t.Context(), []string{"forms", "-model", dir, "-prompt", "The"}, io.Discard, io.Discard)
	if err == nil || !strings.Contains(
		err.Error(), `attention "linear" in a block "pre" has no weights (1, 3, 10, 10)`,
	) {
		t.Errorf("got %v, want that there are no weights", err)
	}
}
