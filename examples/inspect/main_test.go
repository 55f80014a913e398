package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"image/png"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/examples/internal/base"
	"github.com/pedestrian-ml/pedestrian/examples/internal/corpus"
	"github.com/pedestrian-ml/pedestrian/examples/internal/folder"
	"github.com/pedestrian-ml/pedestrian/examples/internal/program"
	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/checkpoint"
	"github.com/pedestrian-ml/pedestrian/gpt/inspect"
	"github.com/pedestrian-ml/pedestrian/gpt/published"
	"github.com/pedestrian-ml/pedestrian/gpt/text"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/internal/heap"
)

const verses = "MILLER:\nThe wheel goes round, the water pays no rent.\n\nFERRYMAN:\nThen cross with me!\n\n"

// saved returns a checkpoint of two blocks of three heads, and its text.
func saved(t *testing.T, attention string) (dir, data string) {
	t.Helper()
	dir, data = t.TempDir(), filepath.Join(t.TempDir(), "verses.txt")
	source := corpus.Source{Name: data, Text: strings.Repeat(verses, 9)}
	if err := os.WriteFile(data, []byte(source.Text), 0o644); err != nil {
		t.Fatal(err)
	}
	c := gpt.Shakespeare()
	c.NLayer, c.NHead, c.NEmbd, c.BlockSize, c.Attention = 2, 3, 12, 10, attention
	c.Options.Offer("window", 2) // of longformer
	tok, err := text.NewCharacters(source.Text)
	if err != nil {
		t.Fatal(err)
	}
	corpus, err := source.Encode(tok, c.BlockSize)
	if err != nil {
		t.Fatal(err)
	}
	tr, err := gpt.NewTrainer(c, corpus, tok)
	if err != nil {
		t.Fatal(err)
	}
	if err := tr.Save(dir); err != nil {
		t.Fatal(err)
	}
	return dir, data
}

// TestTitle checks that a title names a model and its directory.
func TestTitle(t *testing.T) {
	for want, cp := range map[string]checkpoint.Checkpoint{
		"Inside the model in out/, step 7": {Step: 7}, "Inside the model in out/": {Published: true},
	} {
		for _, dir := range []string{"out", "out/"} {
			if got := title(dir, &cp); got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		}
	}
}

func TestRun(t *testing.T) {
	dir, data := saved(t, "causal")
	picture, html := filepath.Join(t.TempDir(), "x.png"), filepath.Join(t.TempDir(), "x.html")
	for _, tc := range []struct {
		args, want []string
		lines      int // of parts
	}{
		{[]string{"look", "-prompt", "The wheel"}, []string{"token  h.0", "\n\"w\"", "\nh.0.0  ", "\nh.1.2  "}, 0},
		{[]string{"look", "-prompt", "T"}, []string{"\n\"T\"", "–"}, 0},
		{
			[]string{"ablate", "-data_tokens", "25"},
			[]string{"with 0 in", "over 20 tokens", " bits per byte\n", "more     bits/byte\n", "h.1.attn.heads 2  "},
			6,
		},
		{[]string{"-ablate", "attention", "-mean"}, []string{"with its mean in", "h.1.attn  "}, 2},
		{
			[]string{"ablate", "-parts", "mlp"}, []string{"over 70 tokens", "h.0.mlp  "}, 2,
		},
	} {
		args := append(slices.Clone(tc.args), "-checkpoint", dir)
		if slices.Contains(args, "-prompt") {
			args = append(args, "-page", html)
		}
		if tc.lines > 0 {
			args = append(args, "-data", data, "-picture", picture)
		}
		var out, complaint bytes.Buffer
		if err := run(t.Context(), args, &out, &complaint); err != nil {
			t.Fatalf("%v: %v", tc.args, err)
		}
		for _, want := range tc.want {
			if !strings.Contains(out.String(), want) {
				t.Errorf("%v: got\n%s\nwant %q in it", tc.args, &out, want)
			}
		}
		if got := strings.Count(out.String(), "  +") + strings.Count(out.String(), "  -"); got != tc.lines {
			t.Errorf("%v: got %d parts, want %d", tc.args, got, tc.lines)
		}
		if tc.lines == 0 {
			continue
		}
		file, err := os.ReadFile(picture)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := png.Decode(bytes.NewReader(file)); err != nil {
			t.Errorf("%v: %v", tc.args, err)
		}
	}
}

// Patching prints a table and draws a picture: nothing is restored before the texts differ, and everything is restored
// in the last stream at the last token.
func TestPatch(t *testing.T) {
	dir, _ := saved(t, "causal")
	picture := filepath.Join(t.TempDir(), "x.png")
	var out bytes.Buffer
	err := run(
		t.Context(),
		[]string{
			"patch", "-model", dir, "-prompt", "The", "-corrupt", "Tie", "-right", "n", "-wrong", "t", "-picture",
			picture,
		},
		&out, io.Discard,
	)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`"T"  "h"  "e"`, "\n +h.0 +0 ", "\n +h.1 +0 +0 +100", "h.1.attn.heads 2 +0 ", "h.0.mlp +0 ",
		"correlation of 0.", "saved " + picture,
	} {
		if !regexp.MustCompile(want).Match(out.Bytes()) {
			t.Errorf("got\n%s\nwant %q in it", &out, want)
		}
	}
	file, err := os.ReadFile(picture)
	if err == nil {
		_, err = png.Decode(bytes.NewReader(file))
	}
	if err != nil {
		t.Error(err)
	}
}

// A model with a recurrence has a table of the gates and norms of its states, in the page too. A block of a hybrid that
// is no recurrence has none.
func TestStates(t *testing.T) {
	for attention, want := range map[string][]string{
		"gated_deltanet": {
			"\nhead +α +β +norm +last norm\nh.0 head 0 +0\\.\\d+ +0\\.\\d+ +[\\d.e-]+ +[\\d.e-]+\n", "\nh.1 head 2 ",
		},
		"rglru,retnet":    {"\nh.0 head 2 +0\\.9\\d* +– ", "\nh.1 head 0 +0\\.969 +– "},
		"deltanet,causal": {"\nh.0 head 1 +– +0\\.", "\nh.1.0 "},
	} {
		dir, _ := saved(t, attention)
		html := filepath.Join(t.TempDir(), "x.html")
		var out bytes.Buffer
		if err := run(
			t.Context(), []string{"look", "-model", dir, "-page", html, "-prompt", "The"}, &out, io.Discard,
		); err != nil {
			t.Fatalf("%s: %v", attention, err)
		}
		for _, want := range want {
			if !regexp.MustCompile(want).Match(out.Bytes()) {
				t.Errorf("%s: got\n%s\nwant %q in it", attention, &out, want)
			}
		}
		if got := strings.Contains(out.String(), "h.1 head"); got == strings.Contains(attention, "causal") {
			t.Errorf("%s: got\n%s\nwant states of the recurrences alone", attention, &out)
		}
		written, err := os.ReadFile(html)
		if err != nil || !bytes.Contains(written, []byte("What each state holds")) {
			t.Errorf("%s: no states in the page (%v)", attention, err)
		}
	}
}

// A model whose attention has no weights still has a lens.
func TestNoWeights(t *testing.T) {
	dir, _ := saved(t, "linear")
	var out bytes.Buffer
	html := filepath.Join(t.TempDir(), "x.html")
	err := run(t.Context(), []string{"look", "-model", dir, "-page", html, "-prompt", "The"}, &out, io.Discard)
	if err != nil || !strings.HasPrefix(out.String(), "The likeliest") ||
		!strings.Contains(out.String(), `attention "linear" has no weights`) {
		t.Errorf("%v\n%s", err, &out)
	}
	if file, err := os.ReadFile(html); err != nil || !bytes.Contains(file, []byte(`"Layers":null`)) {
		t.Errorf("%v\n%s", err, file)
	}
	dir, _ = saved(t, "longformer") // of which every token is two keys
	out.Reset()
	err = run(t.Context(), []string{"look", "-model", dir, "-page", html, "-prompt", "The"}, &out, io.Discard)
	if err != nil || !strings.Contains(out.String(), "\nh.1.2  ") {
		t.Errorf("%v\n%s", err, &out)
	}
	if file, err := os.ReadFile(html); err != nil || !bytes.Contains(file, []byte(`"Name":"h.1","Heads":[[[1,0,0],`)) {
		t.Errorf("%v\n%s", err, file)
	}
}

// The page contains the tokens, the losses, and the guess of each block.
func TestPage(t *testing.T) {
	dir, _ := saved(t, "causal")
	cp, err := folder.Kind("").Load(dir, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	defer cp.Close()
	files, err := published.SourceOf(cp)
	if err != nil {
		t.Fatal(err)
	}
	m, tok, err := base.Open(graph.New(graph.Float32, 1), files)
	if err != nil {
		t.Fatal(err)
	}
	ids := []int{3, 1, 4, 1, 5}
	lens, err := inspect.LogitLens(m, ids)
	if err != nil {
		t.Fatal(err)
	}
	p, err := inside("T", m, tok, ids, lens)
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Tokens) != 5 || len(p.Losses) != 4 || len(p.Lens) != 5 || len(p.Lens[4]) != 2 {
		t.Fatalf("got %+v", p)
	}
	probe, err := inspect.Tap(m, "logits")
	if err != nil {
		t.Fatal(err)
	}
	loss, _, err := probe.Gradients(ids, []int{1, 4, 1, 5, text.Ignore})
	mean := (p.Losses[0] + p.Losses[1] + p.Losses[2] + p.Losses[3]) / 4
	if err != nil || !(math.Abs(mean-loss) <= 1e-5*loss) {
		t.Errorf("got losses of mean %v, want the model's, %v (%v)", mean, loss, err)
	}
	if want := fmt.Sprintf(
		" The loss of the text is %.4f nats per token, %.4f bits per byte.", mean, mean/math.Ln2,
	); !strings.HasSuffix(p.About, want) {
		t.Errorf("got %q, want %q at its end", p.About, want) // a token is a byte
	}
	s, err := sum(m, tok, ids, lens)
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"head 0", "head 1", "head 2", "bias", "MLP"}; !slices.Equal(s.Columns, want) ||
		len(s.Rows) != 5 ||
		s.Rows[0].Name != "embedding" || s.Rows[2].Name != "h.1" || s.Of[0] != p.Tokens[1] ||
		s.Of[4] != p.Lens[4][1].Token {
		t.Errorf("got %+v, want the columns %q and five rows", s, want)
	}
	for i, logit := range s.Logits {
		together := 0.0
		for _, r := range s.Rows {
			together += r.All[i]
			parts := 0.0
			for _, x := range r.Parts {
				parts += x[i]
			}
			if len(r.Parts) > 0 && !(math.Abs(parts-r.All[i]) <= 1e-12) {
				t.Errorf("%s, token %d: the parts are %v together, want %v", r.Name, i, parts, r.All[i])
			}
		}
		if !(math.Abs(together-logit) <= 1e-5*(1+math.Abs(logit))) {
			t.Errorf("token %d: all rows are %v together, want the logit, %v", i, together, logit)
		}
	}
	for i, row := range p.Lens {
		want := lens.Likeliest(1, i, 1)[0]
		g := row[1]
		if g.Token != shown(tok, want) || !(math.Abs(g.P-math.Exp(-lens.Loss(1, i, want))) <= 1e-12) || !(g.P > 0 &&
			g.P < 1) ||
			g.Right != (i < 4 && ids[i+1] == want) {
			t.Errorf("token %d: got %+v, want %q", i, g, shown(tok, want))
		}
	}
}

// Runs are shown in common charts in a page, or live until the program is interrupted.
func TestRuns(t *testing.T) {
	t.Chdir(t.TempDir())
	for i, dir := range []string{"a", "b"} {
		m, err := program.OpenMetrics(dir, 0)
		if err == nil {
			err = m.Add(program.StepLine{Step: i})
		}
		if err != nil {
			t.Fatal(err)
		}
		defer m.Close()
	}
	var out bytes.Buffer
	if err := run(t.Context(), []string{"runs", "-model", "a,b"}, &out, io.Discard); err != nil ||
		!strings.Contains(out.String(), "saved runs.html") {
		t.Errorf("%v\n%s", err, &out)
	}
	html, err := os.ReadFile("runs.html")
	if want := `"Runs":[{"Name":"a","Lines":[{"step":0,`; err != nil || !bytes.Contains(html, []byte(want)) ||
		!bytes.Contains(html, []byte(`{"Name":"b","Lines":[{"step":1,`)) {
		t.Errorf("%v: want %s in\n%s", err, want, html)
	}
	ctx, cancel := context.WithCancel(t.Context())
	shown, in := io.Pipe()
	go func() {
		run(ctx, []string{"-runs", "a,b", "-serve", ":0"}, in, io.Discard)
		in.Close()
	}()
	lines := bufio.NewScanner(shown)
	if lines.Scan(); !strings.HasPrefix(lines.Text(), "watch them at http://127.0.0.1:") {
		t.Errorf("got %q", lines.Text())
	}
	if cancel(); lines.Scan() {
		t.Errorf("got %q", lines.Text())
	}
}

// Curvature prints the eigenvalue that the library finds, and the progress.
func TestCurvature(t *testing.T) {
	dir, data := saved(t, "causal")
	m, tok, err := gpt.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	ids, err := tok.Encode(strings.Repeat(verses, 9))
	if err != nil {
		t.Fatal(err)
	}
	c, err := inspect.NewCurvature(m, text.Tokens(ids[:31]))
	if err != nil {
		t.Fatal(err)
	}
	e, err := c.Largest(t.Context(), inspect.Lanczos{Seed: 1, Tolerance: 1e-3, MaxIterations: 100})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := run(
		t.Context(), []string{"curvature", "-model", dir, "-data", data, "-data_tokens", "38"}, &out, io.Discard,
	); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"over 30 tokens of " + data, fmt.Sprintf("\nlargest eigenvalue λ .* %.5g\n", e.Value),
		fmt.Sprintf("\niterations  .* %d\n", e.Iterations), fmt.Sprintf("2/λ  %.4g\n", 2/e.Value),
	} {
		if !regexp.MustCompile(want).Match(out.Bytes()) {
			t.Errorf("got\n%s\nwant %q in it", &out, want)
		}
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(io.EOF)
	if err := run(
		ctx, []string{"-checkpoint", dir, "-curvature", "-data", data}, io.Discard, io.Discard,
	); !errors.Is(err, io.EOF) {
		t.Errorf("interrupted: got %v", err)
	}
}

func TestRefused(t *testing.T) {
	dir, data := saved(t, "causal")
	for want, args := range map[string][]string{
		"-prompt: empty": {"look"},
		`-parts: got "head", want heads, attention or mlp; did you mean heads?`: {"ablate", "-parts", "head"},
		"-data_tokens: got 0":                        {"ablate", "-tokens", "0"},
		"flag -mean: not of inspect curvature":       {"-curvature", "-mean"},
		"./examples/inspect ablate has it":           {"look", "-mean"},
		"flag -data: not of inspect look":            {"-prompt", "T", "-data", data},
		"-prompt, -corrupt, -right and -wrong: give": {"-prompt", "The", "-corrupt", "Tha", "-right", "n"},
		"-right: got 2 tokens, want one": strings.Fields("patch -prompt The -corrupt Tha -right no " +
			"-wrong t"),
		"a corrupt one of 2": strings.Fields("patch -prompt The -corrupt Th -right n " +
			"-wrong t"),
		"flag -serve: not of inspect look":                        {"look", "-prompt", "T", "-serve", ":0"},
		"flag -draws: not of inspect look":                        {"look", "-prompt", "T", "-draws", "3"},
		"got 17 tokens, want at most":                             {"look", "-prompt", "The wheel goes ro"},
		"'ü'":                                                     {"look", "-prompt", "ü"},
		"split: got 9 tokens, want at least 11":                   {"ablate", "-data_tokens", "8", "-data", data},
		`"abalte": not a command of inspect, want look, `:         {"abalte"},
		"patch, curvature, explore or runs; did you mean ablate?": {"abalte"},
	} {
		err := run(t.Context(), append(slices.Clone(args), "-model", dir), io.Discard, io.Discard)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: got the error %v, want %q in it", args, err, want)
		}
	}
	for want, args := range map[string][]string{
		"-model: got 5 directories, want at most 4": {"runs", "-model", "a,b,c,d,e"},
		"none: no run, want a directory":            {"-runs", "none"},
		"no checkpoint":                             {"-prompt", "T", "-checkpoint", t.TempDir()},
	} {
		if err := run(t.Context(), args, io.Discard, io.Discard); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: got the error %v, want %q in it", args, err, want)
		}
	}
	var said bytes.Buffer
	if err := run(t.Context(), []string{"-help"}, io.Discard, &said); err != flag.ErrHelp ||
		!strings.Contains(said.String(), "\n  ablate     the loss without") {
		t.Errorf("-help: %v\n%s", err, &said)
	}
}

func TestMain(m *testing.M) {
	heap.Limit()
	os.Exit(m.Run())
}
