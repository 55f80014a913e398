// Package gpttest contains what tests of the packages above gpt share: a small network, a text, and comparisons. It
// imports gpt, so the tests inside gpt cannot use it and have their helpers in gpt/tiny_test.go.
package gpttest

import (
	"bytes"
	"math"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/checkpoint"
	"github.com/pedestrian-ml/pedestrian/gpt/text"
	"github.com/pedestrian-ml/pedestrian/gpt/train"
	"github.com/pedestrian-ml/pedestrian/graph"
)

// Verses is the text of the tests.
const Verses = `MILLER:
The wheel goes round, the water pays no rent,
And what I grind by day by night is spent.

FERRYMAN:
Then cross with me; the river has no door,
And he who leaves a bank will find a shore.

MILLER:
I have a sack of flour and half a boat.
Who weighs us both and tells if we shall float?

FERRYMAN:
The boat will tell. Sit down, and hold your bread,
And keep your feet, my neighbour, and your head.
`

// Tiny returns a configuration that trains some thousand steps a second. Its sizes differ from one another.
func Tiny() gpt.Config {
	c := gpt.Shakespeare()
	c.BlockSize, c.BatchSize, c.NLayer, c.NHead, c.NEmbd = 8, 3, 2, 2, 16
	c.QKSize, c.VSize = 5, 7
	c.LearningRate, c.MinLR = 1e-2, 1e-3
	c.MaxIters, c.WarmupIters, c.LRDecayIters = 40, 4, 40
	c.EvalIters = 3
	c.Seed = 7
	return c
}

// Wide returns c with a size at which every packed matrix needs less memory.
func Wide(c gpt.Config) gpt.Config {
	c.VocabSize, c.NEmbd, c.QKSize, c.VSize, c.NInner = 70, 48, 16, 20, 80
	return c
}

// Graph returns an empty graph of float32.
func Graph() *graph.Graph { return graph.New(graph.Float32, 99) }

// Model returns a model of float32 with scrambled parameters.
func Model(t testing.TB, c gpt.Config) *gpt.Model {
	t.Helper()
	m, err := gpt.New(graph.New(graph.Float32, 3), c, 1)
	if err != nil {
		t.Fatal(err)
	}
	Scramble(m.Params(), 4)
	return m
}

// Packed returns the model with packed weights.
func Packed(t testing.TB, m *gpt.Model, p graph.Packing) *gpt.Model {
	t.Helper()
	packed, err := m.Packed(p)
	if err != nil {
		t.Fatal(err)
	}
	return packed
}

// Corpus returns the characters of a text.
func Corpus(t testing.TB, s string, blockSize int) (text.Corpus, text.Tokenizer) {
	t.Helper()
	tok, err := text.NewCharacters(s)
	if err != nil {
		t.Fatal(err)
	}
	data, err := text.NewCorpus(s, tok, blockSize)
	if err != nil {
		t.Fatal(err)
	}
	return data, tok
}

// Trainer returns a trainer on Verses.
func Trainer(t testing.TB, c gpt.Config) *gpt.Trainer {
	t.Helper()
	data, tok := Corpus(t, Verses, c.BlockSize)
	trainer, err := gpt.NewTrainer(c, data, tok)
	if err != nil {
		t.Fatal(err)
	}
	return trainer
}

// Steps does n steps and returns what each reported, without its time.
func Steps(t testing.TB, trainer *gpt.Trainer, n int) []train.Progress {
	t.Helper()
	var list []train.Progress
	for range n {
		p, err := trainer.Step()
		if err != nil {
			t.Fatal(err)
		}
		p.Took = 0
		list = append(list, p)
	}
	return list
}

// Saved returns the checkpoint of these files, loaded from a separate directory.
func Saved(t testing.TB, step int, files []checkpoint.File) *checkpoint.Checkpoint {
	t.Helper()
	path := t.TempDir()
	dir, err := checkpoint.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	if err := dir.Save(step, files); err != nil {
		t.Fatal(err)
	}
	cp, err := checkpoint.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	return cp
}

// Scramble sets every parameter to unremarkable values: none stays at 0 or 1, where a missing term would not be
// detected.
func Scramble(params []graph.Expr, seed uint64) {
	rng := rand.New(rand.NewPCG(seed, 1))
	for _, p := range params {
		t := p.Tensor()
		gain := len(t.Shape) == 1 && strings.HasSuffix(p.Name(), ".weight")
		for i := range t.Len() {
			x := 0.3 * rng.NormFloat64()
			if gain {
				x += 1
			}
			t.Set(i, x)
		}
	}
}

// Logits returns the logits of a model for the first tokens of its vocabulary.
func Logits(t testing.TB, m *gpt.Model) []float64 {
	t.Helper()
	for i := range m.Tokens.Ints() {
		m.Tokens.Ints()[i] = i * 7 % m.Config.VocabSize
	}
	p, err := graph.Compile(m.Logits)
	if err == nil {
		err = p.Run()
	}
	if err != nil {
		t.Fatal(err)
	}
	return p.Value().Floats()
}

// Relative is the metric of all comparisons of two computations: it returns the largest difference, relative to the
// largest entry of the tensor or, if that is negligible compared with the complete gradient, to a thousandth of it.
func Relative(a, b []float64, complete float64) float64 {
	if len(a) != len(b) || len(a) == 0 {
		return math.NaN()
	}
	var diff float64
	for i := range a {
		diff = math.Max(diff, math.Abs(a[i]-b[i])) // unlike max of a comparison, NaN if one is
	}
	return diff / max(Largest(a), Largest(b), 1e-3*complete)
}

// Largest returns the largest magnitude, NaN if one is.
func Largest(a []float64) (m float64) {
	for _, x := range a {
		m = math.Max(m, math.Abs(x))
	}
	return m
}

// MustContain checks that err has a message with all the words.
func MustContain(t testing.TB, err error, words ...string) {
	t.Helper()
	if err == nil {
		t.Errorf("got no error, want one with %q", words)
		return
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("got error %q, want %q in it", err, w)
		}
	}
}

// Written returns the bytes that write writes.
func Written(t testing.TB, write func(w *bytes.Buffer) error) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := write(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// Frugal checks that open, which gets an empty directory, returns an error with the word want before it allocates much
// memory.
func Frugal(t testing.TB, open func(dir string) error, want string) {
	t.Helper()
	dir := t.TempDir()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	err := open(dir)
	runtime.ReadMemStats(&after)
	MustContain(t, err, want)
	if got := after.TotalAlloc - before.TotalAlloc; got > 32<<20 { // pools may have dropped what they held
		t.Errorf("%s: %d bytes allocated", want, got)
	}
}
