package main

import (
	"bytes"
	"context"
	"flag"
	"image/color"
	"image/png"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/checkpoint"
	"github.com/pedestrian-ml/pedestrian/gpt/structured"
	"github.com/pedestrian-ml/pedestrian/gpt/text"
)

const verses = "MILLER:\nThe wheel goes round, the water pays no rent.\n\nFERRYMAN:\nThen cross with me!\n\n"

// small returns the flags of a run on a model of two layers, trained for two steps.
func small(t *testing.T, dir string, more ...string) []string {
	t.Helper()
	data := filepath.Join(t.TempDir(), "verses.txt")
	if err := os.WriteFile(data, []byte(strings.Repeat(verses, 9)), 0o644); err != nil {
		t.Fatal(err)
	}
	return append([]string{"-data", data, "-checkpoint", filepath.Join(dir, "none"), "-out_dir", dir, "-n_layer", "2", "-n_head", "3", "-n_embd", "12",
		"-block_size", "10", "-batch_size", "2", "-max_iters", "2", "-draws", "3"}, more...)
}

func TestRun(t *testing.T) {
	dir := t.TempDir()
	var out, complaint bytes.Buffer
	if err := run(t.Context(), small(t, dir, "-prompt", "The wheel"), &out, &complaint); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(complaint.String(), "holds no checkpoint: training a model of 2 layers for 2 steps") {
		t.Errorf("got %q", complaint.String())
	}
	for _, want := range []string{"9 × 9 weights", "Σ1+Ẽ", "1/n", "h.0 head 0  ", "h.1 head 2  ", "9.0 (0.111)", "of 6 heads"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("got\n%s\nwant %q in it", out.String(), want)
		}
	}
	picture, err := os.Open(filepath.Join(dir, "attention.png"))
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
	l := layoutOf(strings.Split("The wheel", ""))
	got := image.At(margin+l.left+l.cell/2, header+title+l.cell/2) // a first token sees itself alone
	if color.RGBAModel.Convert(got) != colors[255] {
		t.Errorf("the cell of the whole weight is %v, want %v", got, colors[255])
	}
	html, err := os.ReadFile(filepath.Join(dir, "attention.html"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"Tokens":["T","h","e"," ","w","h","e","e","l"]`, `"Heads":[[[1,0,0,0,0,0,0,0,0],`, `"Name":"h.1"`} {
		if !strings.Contains(string(html), want) {
			t.Errorf("want %s in attention.html", want)
		}
	}
}

// saved returns the directory of a model of one layer with two heads.
func saved(t *testing.T) string {
	t.Helper()
	path := t.TempDir()
	corpus := strings.Repeat(verses, 9)
	tok, err := text.NewCharacters(corpus)
	if err != nil {
		t.Fatal(err)
	}
	c := gpt.Shakespeare()
	c.NLayer, c.NHead, c.NEmbd, c.BlockSize = 1, 2, 8, 12
	data, err := text.NewCorpus(corpus, tok, c.BlockSize)
	if err != nil {
		t.Fatal(err)
	}
	tr, err := gpt.NewTrainer(c, data, tok)
	if err != nil {
		t.Fatal(err)
	}
	files, err := tr.Files()
	if err != nil {
		t.Fatal(err)
	}
	dir, err := checkpoint.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	if err := dir.Save(0, files); err != nil {
		t.Fatal(err)
	}
	return path
}

// A checkpoint is shown unchanged; flags for another network or a training are refused.
func TestCheckpoint(t *testing.T) {
	saved, out := saved(t), t.TempDir()
	var table, complaint bytes.Buffer
	args := []string{"-checkpoint", saved, "-out_dir", out, "-prompt", "The water"}
	if err := run(t.Context(), args, &table, &complaint); err != nil || complaint.Len() > 0 || !strings.Contains(table.String(), "of 2 heads") {
		t.Errorf("%v: %s%s", err, table.String(), complaint.String())
	}
	refused(t, append(args, "-n_embd", "16"), "n_embd", "got 16", "want 8", "-checkpoint none")
	refused(t, append(args, "-max_iters", "9"), "-max_iters: read by a training alone", "-checkpoint none")
	refused(t, append(args, "-data", "text.txt"), "-data: neither checkpoint")
	refused(t, append(args, "-prompt", "The water pays no rent"), "-prompt", "22", "12")
}

func refused(t *testing.T, args []string, words ...string) {
	t.Helper()
	err := run(t.Context(), args, io.Discard, io.Discard)
	for _, w := range words {
		if err == nil || !strings.Contains(err.Error(), w) {
			t.Errorf("%q: got %v, want %q in it", args[len(args)-2:], err, w)
		}
	}
}

// Groups and rows are fewer for a short prompt, unless they are given; a single character is enough.
func TestShortPrompts(t *testing.T) {
	for _, tc := range []struct {
		n             int
		given         string
		width, groups int
	}{
		{32, "", 3, 2}, {6, "", 3, 2}, {5, "", 2, 2}, {3, "", 1, 2}, {1, "", 1, 1}, {5, "width", 3, 1}, {2, "width", 3, 0}, {5, "groups", 2, 2},
	} {
		o := options{settings: structured.Settings{Width: 3, Tokens: 2, Draws: 1}, given: map[string]bool{tc.given: true}}
		s := o.forms(tc.n)
		if s.Width != tc.width || s.Tokens != tc.groups || s.Validate(tc.n) != nil {
			t.Errorf("%+v: got width %d, %d groups, %v", tc, s.Width, s.Tokens, s.Validate(tc.n))
		}
	}
	for _, prompt := range []string{"The w", "T"} {
		var out bytes.Buffer
		if err := run(t.Context(), small(t, t.TempDir(), "-prompt", prompt), &out, io.Discard); err != nil || !strings.Contains(out.String(), "Σ3+Ẽ") {
			t.Errorf("%q: %v\n%s", prompt, err, out.String())
		}
	}
}

func TestRefused(t *testing.T) {
	dir := t.TempDir()
	refused(t, small(t, dir, "-prompt", "The water ü"), "-prompt", "'ü'")
	refused(t, small(t, dir, "-prompt", "The", "-groups", "2", "-width", "3"), "3 characters", "2 groups of 3 rows")
	refused(t, small(t, dir, "-draws", "0"), "draws", "got 0")
	refused(t, small(t, dir, "-n_head", "5"), "n_head", "5", "12")
	refused(t, small(t, dir, "argument"), "argument")
	refused(t, small(t, dir, "-attention", "linear"), "h.0", `attention "linear"`, "no weights (1, 3, 10, 10)")
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("the refused runs left %v (%v)", left, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := run(ctx, small(t, dir), io.Discard, io.Discard); err == nil || !strings.Contains(err.Error(), "canceled") {
		t.Errorf("interrupted: got %v", err)
	}
}

// The default prompt has its full length even if the last speech is too short, whatever its bytes.
func TestDefaultPrompt(t *testing.T) {
	path := filepath.Join(t.TempDir(), "short.txt")
	if err := os.WriteFile(path, []byte(strings.Repeat("the water ", 20)+"\n\näöüäöüä"), 0o644); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	err := run(t.Context(), small(t, t.TempDir(), "-data", path), &out, io.Discard)
	if err != nil || !strings.Contains(out.String(), "10 × 10 weights") {
		t.Errorf("%v\n%s", err, out.String())
	}
}

// -help lists only the program's own flags; wrong flags are reported before a text is read.
func TestFlags(t *testing.T) {
	var said bytes.Buffer
	if err := run(t.Context(), []string{"-help"}, io.Discard, &said); err != flag.ErrHelp {
		t.Error(err)
	}
	for _, flag := range []string{"eval_i", "log_i"} {
		if strings.Contains(said.String(), "\n  -"+flag) {
			t.Errorf("-%s is not read, and is listed", flag)
		}
	}
	for _, heading := range []string{"The model and the text", "The prescribed forms that heads are compared with"} {
		if !strings.Contains(said.String(), "\n\n"+heading+":\n  -") {
			t.Errorf("%q is not in\n%s", heading, said.String())
		}
	}
	none := filepath.Join(t.TempDir(), "none")
	for word, args := range map[string][]string{"n_head": {"-n_head", "5"}, "dropout": {"-dropout", "2"}, "-eval_iters": {"-eval_iters", "3"}} {
		err := run(t.Context(), small(t, none, append(args, "-data", none)...), io.Discard, io.Discard)
		if err == nil || !strings.Contains(err.Error(), word) {
			t.Errorf("%q: got %v", args, err)
		}
	}
}

// A missing network is reported once, although the text is needed twice: to train on, and for a prompt.
func TestNoNetworkIsOneLine(t *testing.T) {
	cache := t.TempDir()
	for name, value := range map[string]string{
		"XDG_CACHE_HOME": cache, "HOME": cache, "HTTPS_PROXY": "http://127.0.0.1:1", "https_proxy": "http://127.0.0.1:1", "NO_PROXY": "", "no_proxy": "",
	} {
		t.Setenv(name, value)
	}
	var said bytes.Buffer
	if err := run(t.Context(), small(t, t.TempDir(), "-data", ""), io.Discard, &said); err != nil {
		t.Fatal(err)
	}
	if strings.Count(said.String(), "tinyshakespeare cannot be downloaded (") != 1 || strings.Count(said.String(), "\n") != 2 {
		t.Errorf("said %q, want one line about the text and one about the training", said.String())
	}
}
