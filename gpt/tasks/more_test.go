package tasks

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/gpt/text"
	"github.com/pedestrian-ml/pedestrian/graph"
)

// The share of the sums decides the numbers of rows, which together are all.
func TestModularAddition(t *testing.T) {
	for share, want := range map[float64]int{0: 4705, 0.25: 2352, 0.9: 8468} {
		task := made(t, ModularAddition{Share: share}, Set{})
		train, test := len(task.read(t, task.Train())), len(task.read(t, task.Val()))
		if train != want || train+test != 97*97 {
			t.Errorf("share %g: got %d and %d rows, want %d and the rest of %d", share, train, test, want, 97*97)
		}
	}
}

// The stated entropy and accuracy hold for all rows by their probabilities, and for a model of the table.
func TestMarkov(t *testing.T) {
	k := Markov{Symbols: 3, Order: 2, Length: 5, Seed: 4}
	task, c := made(t, k, some), k.chain()
	entropy, accuracy := 0.0, 0.0
	var visit func(context, n int, p float64)
	visit = func(context, n int, p float64) {
		most := 0.0
		for x, q := range c.probabilities(context) {
			if entropy -= p * q * math.Log(q); n > 1 {
				visit((context*3+x)%9, n-1, p*q)
			}
			most = max(most, q)
		}
		accuracy += p * most
	}
	for context := range 9 {
		visit(context, 4, 1.0/9)
	}
	if got, want := task.Optimum, (Optimum{accuracy / 4, entropy / 4}); !(math.Abs(got.Loss-want.Loss) <= 1e-12) ||
		!(math.Abs(got.Accuracy-want.Accuracy) <= 1e-12) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	for _, k := range []Markov{{}, k, {Symbols: 7, Order: 1, Length: 17, TestLength: 33}} {
		task, c := made(t, k, some), table(k)
		s, err := task.Score(t.Context(), func(tokens []int) (graph.Tensor, error) {
			z := graph.Tensor{Shape: []int{len(tokens), task.VocabSize}}
			context := 0
			for _, x := range tokens {
				context = (context*task.VocabSize + x) % len(c)
				for _, p := range c.probabilities(context) {
					z.F64 = append(z.F64, math.Log(p))
				}
			}
			return z, nil
		})
		if err != nil || !(math.Abs(s.Loss-task.Optimum.Loss) <= 3*s.LossError) ||
			!(math.Abs(s.Accuracy-task.Optimum.Accuracy) <= 3*s.AccuracyError) || !(s.LossError < 0.02) {
			t.Errorf("%+v: got %+v (%v), want %+v within 3 errors", k, s, err, task.Optimum)
		}
	}
}

// Means and errors of two rows, of one and two answers, by hand.
func TestScore(t *testing.T) {
	none := text.Ignore
	task := Task{Facts{Name: "own", BlockSize: 2}, text.Dataset{Validation: must(text.Rows(
		func(yield func(_, _ []int) bool) {
			_ = yield([]int{0, 1}, []int{none, 1}) && yield([]int{1, 1}, []int{0, 1})
		}, 2))}}
	score := func(z ...float64) (Score, error) {
		return task.Score(
			t.Context(), func([]int) (graph.Tensor, error) { return graph.Tensor{Shape: []int{2, 2}, F64: z}, nil },
		)
	}
	three := math.Log(3) // probabilities of 3/4 and 1/4
	got, err := score(three, 0, 0, three)
	right := math.Log(4.0 / 3)
	want := Score{Rows: 2, Answers: 3, Accuracy: 1, Loss: right}
	if err != nil || !near(got, want) {
		t.Errorf("got %+v (%v), want %+v", got, err, want)
	}
	got, err = score(0, three, 0, three) // losses ln(4/3), and ln 4 + ln(4/3); the second row has 1 of 2 right
	mean := right + three/3
	want = Score{Rows: 2, Answers: 3, Accuracy: 2.0 / 3, AccuracyError: math.Sqrt(2*2.0/9) / 3,
		Loss: mean, LossError: math.Sqrt(2*2*(three/3)*(three/3)) / 3}
	if err != nil || !near(got, want) {
		t.Errorf("got %+v (%v), want %+v", got, err, want)
	}
	if _, err := score(0, 0, 0, math.NaN()); err == nil || !strings.Contains(err.Error(), "test row 0: position 1") {
		t.Errorf("a logit of NaN: got %v, want an error that names the row and position", err)
	}
	if _, err := score(0, 0); err == nil || !strings.Contains(err.Error(), "[2 2]") {
		t.Errorf("two logits: got %v, want an error with the shape", err)
	}
	sad := errors.New("sad")
	if _, err := task.Score(
		t.Context(), func([]int) (graph.Tensor, error) { return graph.Tensor{}, sad },
	); !errors.Is(err, sad) {
		t.Errorf("got %v, want the error of the function", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := task.Score(ctx, predicts(2, func([]int, int) int { return 0 })); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want %v", err, context.Canceled)
	}
}

func near(a, b Score) bool {
	for _, d := range []float64{a.Accuracy - b.Accuracy, a.AccuracyError - b.AccuracyError, a.Loss - b.Loss,
		a.LossError - b.LossError} {
		if !(math.Abs(d) <= 1e-12) {
			return false
		}
	}
	return a.Rows == b.Rows && a.Answers == b.Answers
}

func must[T any](x T, err error) T {
	if err != nil {
		panic(err)
	}
	return x
}

// A tokenizer has one character for each id, in the order of the ids.
func TestTokenizer(t *testing.T) {
	for _, n := range []int{2, 99, 1 << 16} {
		tok, err := Facts{VocabSize: n}.Tokenizer()
		if err != nil || tok.Size() != n {
			t.Fatalf("%d ids: got %v (%v)", n, tok, err)
		}
	}
	tok := must(Facts{VocabSize: 9}.Tokenizer())
	if s, err := tok.Decode([]int{0, 8, 1}); s != "!)\"" {
		t.Errorf("got %q (%v), want %q", s, err, "!)\"")
	}
	if _, err := (Facts{Name: "own"}).Tokenizer(); err == nil {
		t.Error("got a tokenizer without tokens")
	}
}

// Every option is refused with its name, its value and its bounds.
func TestRefused(t *testing.T) {
	for want, k := range map[string]Kind{
		"in-context-recall: Vocabulary: got 1, want 2 to 65536":                   InContextRecall{Vocabulary: 1},
		"in-context-recall: Pairs: got 1, want 2 to 32768":                        InContextRecall{Pairs: 1},
		"noisy-in-context-recall: Noises: got 31, want 1 to 30":                   NoisyRecall{Noises: 31},
		"noisy-in-context-recall: Noise: got NaN, want more than 0 and at most 1": NoisyRecall{Noise: math.NaN()},
		"noisy-in-context-recall: Noise: got 1.5, want more than 0 and at most 1": NoisyRecall{Noise: 1.5},
		"fuzzy-in-context-recall: KeyLength: got 8, want 1 to 7":                  FuzzyRecall{KeyLength: 8},
		"fuzzy-in-context-recall: Length: got 11, want 12 to 65536":               FuzzyRecall{Length: 11},
		"selective-copying: Length: got 32, want 33 to 65536":                     SelectiveCopying{Length: 32},
		"compression: Length: got 1, want 2 to 32768":                             Compression{Length: 1},
		"memorization: Vocabulary: got -5, want 3 to 65536":                       Memorization{Vocabulary: -5},
		"multi-query-associative-recall: Length: got 15, want 16 to 65536":        MultiQueryRecall{Length: 15},
		"multi-query-associative-recall: Pairs: got 5, want 1 to 4": MultiQueryRecall{
			Vocabulary: 10, Pairs: 5,
		},
		"repetition: Vocabulary: got 31, want 32 to 65536":                              Repetition{Vocabulary: 31},
		"repetition: TestLength: got 32, want 33 to 65536":                              Repetition{TestLength: 32},
		"dyck: Types: got 1, want 2 to 32768":                                           Dyck{Types: 1},
		"parity: Length: got 65537, want 1 to 65536":                                    Parity{Length: 65537},
		"word-problem: Degree: got 6, want 2 to 5":                                      WordProblem{Degree: 6},
		"modular-addition: Share: got -1, want more than 0 and at most 1":               ModularAddition{Share: -1},
		"modular-addition: Train: got 9409, want 1 to 9408":                             ModularAddition{Share: 1},
		"markov: Order: got 7, want 1 to 6":                                             Markov{Order: 7},
		"markov: TestLength: got 1, want 2 to 4096":                                     Markov{TestLength: 1},
		"markov: Symbols: got 129, want 2 to 128":                                       Markov{Symbols: 129},
		"fuzzy-in-context-recall: too few different rows for training and test: rows: ": FuzzyRecall{Vocabulary: 3},
	} {
		if _, err := New(k, Set{}); err == nil || !strings.HasPrefix(err.Error(), "tasks: "+want) {
			t.Errorf("%+v: got %v, want tasks: %s", k, err, want)
		}
	}
	for want, s := range map[string]Set{
		"tasks: modular-addition: Train: got 9400, want 1 to 9399":  {Train: 9400, Test: 10},
		"tasks: modular-addition: Test: got -1, want 1 to 67108864": {Test: -1},
	} {
		if _, err := New(ModularAddition{}, s); err == nil || err.Error() != want {
			t.Errorf("%+v: got %v, want %s", s, err, want)
		}
	}
	if _, err := New(nil, Set{}); err == nil {
		t.Error("got a task of no kind")
	}
}

// table returns the chain of a Markov source with the default numbers of symbols and order filled in.
func table(k Markov) chain {
	if k == (Markov{}) {
		k.Symbols, k.Order = 4, 2
	}
	return k.chain()
}
