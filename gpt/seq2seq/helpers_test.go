package seq2seq

import (
	"bytes"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/gpt/checkpoint"
	"github.com/pedestrian-ml/pedestrian/gpt/parts"
	"github.com/pedestrian-ml/pedestrian/gpt/train"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/internal/heap"
	"github.com/pkg/errors"
)

func TestMain(m *testing.M) {
	heap.Limit()
	os.Exit(m.Run())
}

// small returns a model that learns to write a source backwards.
func small() Config {
	return Config{
		Stack:      parts.Stack{NLayer: 2, NHead: 2, NEmbd: 16, Bias: true},
		SourceSize: 5, TargetSize: 7, SourceVocab: 9, TargetVocab: 10,
		Training: train.Training{
			BatchSize: 12, GradientAccumulationSteps: 1, LearningRate: 5e-3, DecayLR: true, WarmupIters: 5, Beta1: .9,
			Beta2: .99, GradClip: 1,
			Seed: 3, Kernels: true,
		},
		Run: train.Run{MaxIters: 60, EvalInterval: 1, EvalIters: 1, LogInterval: 1, Threads: 1},
	}
}

// backwards is a list of pairs of a source with 1 to 5 tokens and its mirror image.
type backwards struct{}

func (backwards) Len() int { return 400 }

func (backwards) Pair(i int) (p Pair, err error) {
	rng := rand.New(rand.NewPCG(uint64(i), 1))
	for range 1 + i%5 {
		p.Source = append(p.Source, int(specials)+rng.IntN(5))
	}
	p.Target = slices.Clone(p.Source)
	slices.Reverse(p.Target)
	return p, nil
}

// list is a list of pairs; an empty pair cannot be read.
type list []Pair

func (l list) Len() int { return len(l) }

func (l list) Pair(i int) (Pair, error) {
	if l[i].Source == nil && l[i].Target == nil {
		return l[i], errors.New("cannot be read")
	}
	return l[i], nil
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("%+v", err)
	}
}

func mustSay(t *testing.T, err error, words ...string) {
	t.Helper()
	for _, w := range words {
		if err == nil || !strings.Contains(err.Error(), w) {
			t.Errorf("got error %v, want %q in it", err, w)
		}
	}
}

func second[T any](_ T, err error) error { return err }

func trainerOn(t testing.TB, c Config, pairs Pairs) *Trainer {
	t.Helper()
	tr, err := NewTrainer(c, pairs)
	check(t, err)
	return tr
}

func begun(t testing.TB, c Config) *Trainer {
	t.Helper()
	return trainerOn(t, c, backwards{})
}

func steps(t *testing.T, tr *Trainer, n int) (losses []float64) {
	t.Helper()
	for range n {
		p, err := tr.Step()
		check(t, err)
		losses = append(losses, p.Loss)
	}
	return losses
}

// numbers returns the parameters of a model.
func numbers(t *testing.T, m *Model, err error) (list []float32) {
	t.Helper()
	check(t, err)
	for _, p := range m.Params() {
		list = append(list, p.Tensor().F32...)
	}
	return list
}

// modelOn returns a model with shaken parameters, which are the same for the same names.
func modelOn(t *testing.T, g *graph.Graph, c Config, batch int) *Model {
	t.Helper()
	m, err := New(g, c, batch)
	check(t, err)
	for _, p := range m.Params() {
		rng := rand.New(rand.NewPCG(7, uint64(p.Tensor().Len())))
		for i := range p.Tensor().Len() {
			p.Tensor().Set(i, p.Tensor().At(i)+0.3*rng.NormFloat64())
		}
	}
	return m
}

func abc(t testing.TB, more ...string) *Vocabulary {
	t.Helper()
	v, err := NewVocabulary("characters")
	check(t, err)
	v.Add("abc" + strings.Join(more, ""))
	return v
}

// saved returns a checkpoint of the trainer with one of its files changed.
func saved(t *testing.T, tr *Trainer, v *Vocabulary, name string, change func([]byte) []byte) *checkpoint.Checkpoint {
	t.Helper()
	files, err := tr.Files(v, v)
	check(t, err)
	for i, f := range files {
		if f.Name != name {
			continue
		}
		var b bytes.Buffer
		check(t, f.Write(&b))
		files[i].Write = train.WriteBytes(change(b.Bytes()))
	}
	return written(t, tr.Done, files)
}

// written returns a checkpoint of the files.
func written(t *testing.T, step int, files []checkpoint.File) *checkpoint.Checkpoint {
	t.Helper()
	path := t.TempDir()
	dir, err := checkpoint.Open(path)
	check(t, err)
	defer dir.Close()
	check(t, dir.Save(step, files))
	cp, err := checkpoint.Load(path)
	check(t, err)
	return cp
}
