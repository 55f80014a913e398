package gpt

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io"
	"strconv"
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/gpt/text"

	"github.com/pedestrian-ml/pedestrian/gpt/parts"
)

// parallel returns a run whose matrices are large enough to be divided among several threads.
func parallel() Config {
	c := eventful()
	c.BlockSize, c.BatchSize, c.NEmbd, c.NHead, c.QKSize, c.VSize = 24, 6, 60, 3, 0, 0
	return c
}

// everyPart returns c with each part changed in turn.
func everyPart(c Config) (list []Config) {
	vary := func(set func(*Config)) {
		v := c
		set(&v)
		if v.suit(); v.Attention != "linformer" { // which is not causal
			list = append(list, v)
		}
	}
	for _, p := range parts.Positions() {
		vary(func(c *Config) { c.Position = p.String() })
	}
	for _, a := range parts.Attentions() {
		vary(func(c *Config) { c.Attention = a.String() })
	}
	for _, n := range parts.Norms() {
		vary(func(c *Config) { c.Norm = n.String() })
	}
	for _, m := range parts.MLPs()[1:] {
		vary(func(c *Config) { c.MLP, c.Activation = m.String(), "" })
	}
	for _, b := range parts.Blocks() {
		vary(func(c *Config) { c.Block = b.String() })
	}
	return list
}

// printHashes trains every kind of model with each of the given numbers of threads, separated by spaces, and prints a
// hash of the weights and losses for each number.
func printHashes(numbers string) error {
	for _, number := range strings.Fields(numbers) {
		threads, err := strconv.Atoi(number)
		if err != nil {
			return err
		}
		h := sha256.New()
		c := parallel()
		c.VocabSize = 41
		rounded := c
		rounded.Precision = "bf16"
		for _, c := range append(everyPart(c), rounded) {
			c.Threads = threads
			if err := hash(h, c); err != nil {
				return err
			}
		}
		fmt.Printf("%x\n", h.Sum(nil))
	}
	return nil
}

// hash trains for some steps.
func hash(h io.Writer, c Config) error {
	tok, err := text.NewCharacters(verses)
	if err != nil {
		return err
	}
	data, err := text.NewCorpus(verses, tok, c.BlockSize)
	if err != nil {
		return err
	}
	trainer, err := NewTrainer(c, data, tok)
	if err != nil {
		return err
	}
	for range 3 {
		p, err := trainer.Step()
		if err != nil {
			return err
		}
		fmt.Fprint(h, p.Loss, p.Norm)
	}
	for _, write := range []func(io.Writer) error{trainer.Model.WriteWeights, trainer.WriteMoments} {
		if err := write(h); err != nil {
			return err
		}
	}
	return nil
}

// The same seed gives the same bits in every process, for any number of processors and threads, and with AVX2 as with
// AVX-512.
func TestDeterminism(t *testing.T) {
	type run struct{ setting, threads string } // in one process each number, in each process another
	runs := []run{{"GOMAXPROCS=2", "0 1 2 8"}, {"GOMAXPROCS=1", "8"}, {"GOMAXPROCS=8", "2"}, {"GODEBUG=cpu.avx512f=off", "8"}}
	if testing.Short() {
		runs = []run{{"GOMAXPROCS=2", "0 1 8"}}
	}
	want := ""
	for _, run := range runs {
		cmd, out, complaint := program(t, "hashes", run.threads, "", run.setting)
		var b bytes.Buffer
		if _, err := io.Copy(&b, out); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Wait(); err != nil {
			t.Fatal(err, complaint)
		}
		hashes, numbers := strings.Fields(b.String()), strings.Fields(run.threads)
		if len(hashes) != len(numbers) {
			t.Fatalf("got %q, want %d hashes", hashes, len(numbers))
		}
		for i, threads := range numbers {
			if want == "" {
				want = hashes[i]
			}
			if hashes[i] != want {
				t.Errorf("%s, %s threads: %s, want %s", run.setting, threads, hashes[i], want)
			}
		}
	}
}

// Another seed is another run.
func TestSeedMatters(t *testing.T) {
	a, b := tiny(), tiny()
	b.Seed++
	x, y := newTrainer(t, a), newTrainer(t, b)
	if fingerprint(t, x) == fingerprint(t, y) {
		t.Error("two seeds give the same first weights")
	}
	if steps(t, x, 1)[0].Loss == steps(t, y, 1)[0].Loss {
		t.Error("two seeds give the same first loss")
	}
}
