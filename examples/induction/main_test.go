package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"image/png"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The finding at full size takes half a minute.
func TestInduction(t *testing.T) {
	if os.Getenv("NIGHTLY") == "" {
		t.Skip("NIGHTLY is not set: three trainings of 10 seconds each")
	}
	for seed := range uint64(3) {
		o := defaults()
		o.Seed, o.LRDecayIters = seed+1, o.MaxIters
		r, err := o.begin(t.Context(), io.Discard)
		if err != nil {
			t.Fatal(err)
		}
		first, last := r.history[0], r.history[len(r.history)-1]
		if score := most(first.Induction); !(score <= 0.1) {
			t.Errorf("seed %d: a head begins with a score of %.3f, want at most 0.1", o.Seed, score)
		}
		if score := most(last.Induction); !(score >= 0.8) {
			t.Errorf("seed %d: the best head ends with a score of %.3f, want at least 0.8", o.Seed, score)
		}
		if !(last.Second <= 0.5) || !(last.First >= math.Log(64)) {
			t.Errorf(
				"seed %d: the losses are %.3f and %.3f, want no better than chance and at most 0.5", o.Seed, last.First,
				last.Second,
			)
		}
		heads, err := r.look()
		if err != nil {
			t.Fatal(err)
		}
		some, others := split(heads)
		for _, part := range []struct {
			heads    []head
			min, max float64
		}{{some, 1, math.Inf(1)}, {others, math.Inf(-1), 0.5}} {
			loss, err := r.without(part.heads)
			if more := loss - last.Second; err != nil || !(more >= part.min && more <= part.max) {
				t.Errorf(
					"seed %d: without %+v %+.3f nats, want %v to %v (%v)", o.Seed, part.heads, more, part.min, part.max,
					err,
				)
			}
		}
	}
}

// Before induction heads exist the program prints that, and the repetition is not predicted.
func TestRun(t *testing.T) {
	picture := filepath.Join(t.TempDir(), "x.png")
	var out bytes.Buffer
	err := run(
		t.Context(),
		[]string{
			"-max_iters", "3", "-block_size", "12", "-batch_size", "2", "-n_embd", "12", "-n_head", "3", "-picture",
			picture,
		},
		&out, io.Discard,
	)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"       3  ", "   h.1.2  ", "no head attends mostly", "saved " + picture} {
		if !strings.Contains(out.String(), want) {
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
	for want, args := range map[string][]string{
		"block_size": {"-block_size", "7"}, "n_head": {"-n_head", "5"}, "-eval_iters": {"-eval_iters", "1"},
	} {
		if err := run(t.Context(), args, io.Discard, io.Discard); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v", args, err)
		}
	}
	if err := run(t.Context(), []string{"-help"}, io.Discard, io.Discard); err != flag.ErrHelp {
		t.Error(err)
	}
}

// A training that is interrupted after any step saves, and ends in the table and the weights of one that is not, with
// dropout. Other settings are refused, and so is a new run in its directory.
func TestResume(t *testing.T) {
	whole, broken := t.TempDir(), t.TempDir()
	small := func(dir string, more ...string) []string {
		return append([]string{"-max_iters", "5", "-block_size", "12", "-batch_size", "2", "-n_embd", "12", "-n_head",
			"3", "-dropout", "0.2",
			"-out_dir", dir, "-picture", filepath.Join(dir, "x.png")}, more...)
	}
	ends := func(out *bytes.Buffer, args []string, step int) error {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		return run(ctx, args, writer(func(line string) {
			out.WriteString(line)
			if strings.HasPrefix(line, fmt.Sprintf("%8d  ", step)) {
				cancel()
			}
		}), io.Discard)
	}
	var straight, resumed bytes.Buffer
	if err := ends(&straight, small(whole), -1); err != nil {
		t.Fatal(err)
	}
	for step, args := 1, small(broken); ; step, args = step+1, []string{
		"-resume", "-out_dir", broken, "-picture", filepath.Join(broken, "x.png"),
	} {
		resumed.Reset()
		err := ends(&resumed, args, step)
		if err == nil {
			break
		}
		if want := fmt.Sprintf("saved at step %d, continue with -resume", step); !strings.Contains(err.Error(), want) {
			t.Fatalf("got %v, want %q", err, want)
		}
	}
	_, want, _ := strings.Cut(strings.ReplaceAll(straight.String(), whole, "DIR"), "The scores")
	if _, got, _ := strings.Cut(strings.ReplaceAll(resumed.String(), broken, "DIR"), "The scores"); got != want ||
		want == "" {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	for _, name := range []string{
		"step-00000005/model.safetensors", "step-00000005/optimizer.safetensors", "step-00000005/history.json", "x.png",
	} {
		got, err := os.ReadFile(filepath.Join(broken, name))
		want, err2 := os.ReadFile(filepath.Join(whole, name))
		if err := errors.Join(err, err2); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s differs (%v)", name, err)
		}
	}
	for want, args := range map[string][]string{
		"learning_rate":         {"-resume", "-out_dir", broken, "-learning_rate", "0.5"},
		"-resume continues it":  small(broken),
		"no checkpoint":         {"-resume", "-out_dir", t.TempDir()},
		"-resume: want -out_di": {"-resume"},
	} {
		if err := run(t.Context(), args, io.Discard, io.Discard); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", args, err, want)
		}
	}
}

type writer func(string)

func (w writer) Write(p []byte) (int, error) { w(string(p)); return len(p), nil }

// A head that attends to the token after an earlier occurrence is found, and the other heads of its block are the
// control.
func TestSplit(t *testing.T) {
	some, others := split(
		[]head{{block: 0, head: 0}, {block: 1, head: 0, induction: 0.9}, {block: 1, head: 1, induction: 0.2}},
	)
	if len(some) != 1 || some[0].induction != 0.9 || len(others) != 1 || others[0].head != 1 || others[0].block != 1 {
		t.Errorf("got %+v and %+v", some, others)
	}
}

// Texts repeat the tokens of a period before, and targets are the next tokens.
func TestTexts(t *testing.T) {
	rng, tokens, targets := rand.New(rand.NewPCG(1, 2)), make([]int, 2*20), make([]int, 2*20)
	batch(rng, tokens, targets, 20, 1000)
	for row := range 2 {
		x, y := tokens[row*20:row*20+20], targets[row*20:row*20+20]
		period := 1 + slices.Index(x[1:], x[0])
		if period < 5 || period > 10 || !slices.Equal(x[period:], x[:20-period]) || !slices.Equal(x[1:], y[:19]) ||
			y[19] != x[20-period] {
			t.Errorf("got %v with targets %v", x, y)
		}
	}
	o := defaults()
	o.BlockSize = 10
	if ids := probes(o, 2); !slices.Equal(ids[0][:5], ids[0][5:10]) || ids[0][10] != ids[0][0] ||
		slices.Equal(ids[0], ids[1]) {
		t.Errorf("got %v", ids)
	}
}
