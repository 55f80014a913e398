package gpt

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/gpt/checkpoint"
	"github.com/pedestrian-ml/pedestrian/gpt/text"
	"github.com/pedestrian-ml/pedestrian/gpt/train"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/internal/heap"
)

// verses is the text of these tests.
const verses = `MILLER:
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

// tiny returns a configuration that trains some thousand steps a second. Its sizes differ from one another.
func tiny() Config {
	c := Shakespeare()
	c.BlockSize, c.BatchSize, c.NLayer, c.NHead, c.NEmbd = 8, 3, 2, 2, 16
	c.QKSize, c.VSize = 5, 7
	c.LearningRate, c.MinLR = 1e-2, 1e-3
	c.MaxIters, c.WarmupIters, c.LRDecayIters = 40, 4, 40
	c.EvalIters = 3
	c.Seed = 7
	return c
}

// eventful returns tiny with everything that a step can contain.
func eventful() Config {
	c := tiny()
	c.Dropout, c.GradientAccumulationSteps, c.Bias, c.Head = 0.2, 2, true, "linear"
	return c
}

// The files of tokenizers, and of tokenizers in earlier versions.
const (
	charactersFile = "characters.json"
	tokenizerFile  = "tokenizer.json"
)

// fineTune is FineTune on a checkpoint of this library.
func fineTune(c Config, corpus text.Corpus, tok text.Tokenizer, cp *checkpoint.Checkpoint) (*Trainer, error) {
	s, err := SourceOf(cp, c.Parts)
	if err != nil {
		return nil, err
	}
	return FineTune(c, corpus, tok, s)
}

func corpus(t testing.TB, s string, blockSize int) (text.Corpus, text.Tokenizer) {
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

func newTrainer(t testing.TB, c Config) *Trainer {
	t.Helper()
	data, tok := corpus(t, verses, c.BlockSize)
	trainer, err := NewTrainer(c, data, tok)
	if err != nil {
		t.Fatal(err)
	}
	return trainer
}

// steps does n steps and returns what each reported, without its time.
func steps(t testing.TB, trainer *Trainer, n int) []train.Progress {
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

// fingerprint returns the SHA-256 of the weights and of the optimizer's moments.
func fingerprint(t testing.TB, trainer *Trainer) string {
	t.Helper()
	s, err := fingerprintOf(trainer)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func fingerprintOf(trainer *Trainer) (string, error) {
	h := sha256.New()
	for _, write := range []func(io.Writer) error{trainer.Model.WriteWeights, writeMoments(trainer)} {
		if err := write(h); err != nil {
			return "", err
		}
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// saved returns the checkpoint of these files, loaded from a separate directory.
func saved(t testing.TB, step int, files []checkpoint.File) *checkpoint.Checkpoint {
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

func files(t testing.TB, trainer *Trainer) []checkpoint.File {
	t.Helper()
	list, err := trainer.Files()
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// scramble sets every parameter to unremarkable values: none stays at 0 or 1, where a missing term would not be
// detected.
func scramble(params []graph.Expr, seed uint64) {
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

// relative is the metric of all comparisons of two computations: it returns the largest difference, relative to the
// largest entry of the tensor or, if that is negligible compared with the complete gradient, to a thousandth of it.
func relative(a, b []float64, whole float64) float64 {
	if len(a) != len(b) || len(a) == 0 {
		return math.NaN()
	}
	var diff float64
	for i := range a {
		diff = math.Max(diff, math.Abs(a[i]-b[i])) // unlike max of a comparison, NaN if one is
	}
	return diff / max(largest(a), largest(b), 1e-3*whole)
}

func largest(a []float64) (m float64) {
	for _, x := range a {
		m = math.Max(m, math.Abs(x))
	}
	return m
}

// mustContain checks that err has a message with all the words.
func mustContain(t testing.TB, err error, words ...string) {
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

// moments returns the optimizer's moments of the parameter of that name.
func moments(trainer *Trainer, name string) (m, v []float32) {
	for _, moment := range trainer.Moments() {
		switch moment.Name {
		case "m." + name:
			m = moment.F32
		case "v." + name:
			v = moment.F32
		}
	}
	return m, v
}

// writeMoments returns a function that writes the optimizer's moments.
func writeMoments(trainer *Trainer) func(io.Writer) error {
	return func(w io.Writer) error { return train.WriteTensors(w, trainer.Moments(), nil, "") }
}

// programVariable makes the test binary run one of these programs, whose argument is a directory or other input.
const programVariable = "GPT_TEST_PROGRAM"

func TestMain(m *testing.M) {
	program, argument := os.Getenv(programVariable), os.Getenv(programVariable+"_ARGUMENT")
	var err error
	if program != "train" {
		heap.Limit()
	}
	switch program {
	case "":
		os.Exit(m.Run())
	case "train":
		err = trainAndSave(argument)
	case "hashes":
		err = printHashes(argument)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "%+v\n", err)
		os.Exit(1)
	}
}

// scrambled returns a model whose numbers depend only on the names in its configuration, so models with the same base
// are equal on it.
func scrambled(t testing.TB, c Config) *Model { return scrambledIn(t, graph.Float64, c) }

func scrambledIn(t testing.TB, dtype graph.Dtype, c Config) *Model {
	t.Helper()
	c.VocabSize = 11
	m, err := New(graph.New(dtype, 3), c, 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range m.Params() {
		for i := range p.Tensor().Len() {
			p.Tensor().Set(i, float64(float32(0.2*math.Sin(float64(1+i*len(p.Name())))))) // as a file holds it
		}
	}
	return m
}

// logitsAfter returns the logits after some tokens.
func logitsAfter(t testing.TB, m *Model) []float64 {
	t.Helper()
	d, err := NewDecoder(m, 1)
	if err != nil {
		t.Fatal(err)
	}
	logits, err := d.Feed([]int{1, 2, 3, 5})
	if err != nil {
		t.Fatal(err)
	}
	return logits.Floats()
}

// lora returns tiny with adapters of rank r and the given α.
func lora(r int, alpha float64, targets ...string) Config {
	c := tiny()
	c.LoraR, c.LoraAlpha, c.LoraTargets = r, alpha, targets
	return c
}
