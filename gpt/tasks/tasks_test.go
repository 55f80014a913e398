package tasks

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/gpt/text"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/internal/heap"
)

func TestMain(m *testing.M) {
	heap.Limit()
	os.Exit(m.Run())
}

var some, fewer = Set{Train: 900, Test: 1000, Seed: 3}, Set{Train: 900, Test: 200, Seed: 3}

func made(t testing.TB, k Kind, s Set) Task {
	t.Helper()
	task, err := New(k, s)
	if err != nil {
		t.Fatal(err)
	}
	return task
}

// read returns the rows of a part.
func (task Task) read(t testing.TB, s text.Split) (list []row) {
	t.Helper()
	x, y := make([]int, task.BlockSize), make([]int, task.BlockSize)
	for _, err := range text.Blocks(s, x, y, task.BlockSize) {
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, row{slices.Clone(x), slices.Clone(y)})
	}
	return list
}

// small lists every kind, with a vocabulary of which a few thousand rows have every answer.
func small() []Kind {
	kinds := All()
	kinds[slices.Index(kinds, Kind(MultiQueryRecall{}))] = MultiQueryRecall{Vocabulary: 256, Pairs: 7, Length: 63}
	return append(kinds, Parity{Length: 11, TestLength: 29}, Repetition{Length: 30, TestLength: 77},
		Repetition{Length: 30, TestLength: 17}, WordProblem{Degree: 3, Length: 7, TestLength: 9},
		Markov{Symbols: 3, Length: 8, TestLength: 19})
}

// predicts returns a function for Score whose logit of each predicted id is 50 larger than the others.
func predicts(vocabulary int, id func(tokens []int, at int) int) func([]int) (graph.Tensor, error) {
	return func(tokens []int) (graph.Tensor, error) {
		z := graph.Tensor{Shape: []int{len(tokens), vocabulary}, F64: make([]float64, len(tokens)*vocabulary)}
		for i := range tokens {
			z.F64[i*vocabulary+id(tokens, i)] = 50
		}
		return z, nil
	}
}

// A program that knows the rule reaches the optimum.
func TestOptimum(t *testing.T) {
	for _, k := range small() {
		if _, random := k.(Markov); random {
			continue // TestMarkov
		}
		task := made(t, k, some)
		s, err := task.Score(t.Context(), predicts(task.VocabSize, solver(t, k, task)))
		if err != nil {
			t.Fatal(err)
		}
		if task.Optimum != (Optimum{Accuracy: 1}) || s.Accuracy != 1 || !(s.Loss < 1e-12) ||
			s.Rows != min(1000, s.Answers) {
			t.Errorf("%s %+v: got %+v, want the optimum %+v in 1000 rows", task.Name, k, s, task.Optimum)
		}
	}
}

// solver returns a function that predicts the answer at a token, without looking at later ones.
func solver(t *testing.T, k Kind, task Task) func(tokens []int, at int) int {
	before := func(x []int, at int) int { return max(0, slices.Index(x[:at], x[at])) }
	switch k := k.(type) {
	case InContextRecall, NoisyRecall, Repetition:
		return func(x []int, at int) int { return x[before(x, at)+1] }
	case FuzzyRecall:
		return fuzzy
	case SelectiveCopying:
		return func(x []int, at int) int {
			mark := max(0, slices.Index(x[:at], 15))
			symbols := slices.DeleteFunc(slices.Clone(x[:mark]), func(x int) bool { return x == 14 })
			return append(symbols, make([]int, len(x))...)[max(0, at-mark-1)]
		}
	case Compression:
		return func(x []int, at int) int { return x[max(0, at-31)] }
	case Memorization:
		facts := map[int]int{}
		for _, r := range task.read(t, task.Train()) {
			for i, y := range r.targets {
				if y != text.Ignore {
					facts[r.tokens[i-1]] = y
				}
			}
		}
		return func(x []int, at int) int { return facts[x[max(0, at-1)]] }
	case MultiQueryRecall:
		return func(x []int, at int) int {
			for i := 0; i < 2*k.Pairs; i += 2 {
				if x[i] == x[at] {
					return x[i+1]
				}
			}
			return 0
		}
	case Dyck:
		return func(x []int, at int) int {
			open := []int{0}
			for _, x := range x[:at+1] {
				if x < 8 {
					open = append(open, x)
				} else {
					open = open[:len(open)-1]
				}
			}
			return 8 + open[len(open)-1]
		}
	case Parity:
		return func(x []int, at int) (odd int) {
			for _, x := range x[:at+1] {
				odd = (odd + x) % 2
			}
			return odd
		}
	case WordProblem:
		product := group(t, made(t, k, Set{Test: 1})) // of 12,800 rows, which have every product
		return func(x []int, at int) (p int) {
			for _, x := range x[:at+1] {
				p = product[[2]int{p, x}]
			}
			return p
		}
	case ModularAddition:
		return func(x []int, at int) int { return (x[0] + x[2]) % 97 }
	}
	t.Fatalf("%T: got no solver, want one", k)
	return nil
}

// fuzzy divides a text into keys (0 to 6) and values (7 to 13).
func fuzzy(x []int, at int) int {
	isValue := func(i int) bool { return x[i] > 6 }
	run := func(end int) (from int) {
		for from = end; from > 0 && isValue(from-1) == isValue(end); from-- {
		}
		return from
	}
	key, known := at, 0
	if isValue(at) {
		key = run(at) - 1
		known = at - key
	}
	if key < 0 {
		return 0
	}
	want := x[run(key) : key+1]
	for end := range key - len(want) + 1 {
		if !isValue(end) && isValue(end+1) && slices.Equal(x[run(end):end+1], want) {
			return x[end+1+known]
		}
	}
	return 0
}

// group returns the products of the training rows, after it has checked that they form a group that is not commutative,
// and whose identity is 0.
func group(t *testing.T, task Task) map[[2]int]int {
	n, product := task.VocabSize, map[[2]int]int{}
	for _, r := range task.read(t, task.Train()) {
		p := 0
		for i, y := range r.targets {
			if y == text.Ignore {
				break
			}
			at := [2]int{p, r.tokens[i]}
			if known, ok := product[at]; ok && known != y {
				t.Fatalf("%s: got the products %d and %d of %d, want one", task.Name, known, y, at)
			}
			product[at], p = y, y
		}
	}
	commutes := true
	for a := range n {
		for b := range n {
			ab, ok := product[[2]int{a, b}]
			if !ok || a == 0 && ab != b || b == 0 && ab != a {
				t.Fatalf("%s: got %d·%d = %d, known %t; want it known, and 0 as the identity", task.Name, a, b, ab, ok)
			}
			commutes = commutes && ab == product[[2]int{b, a}]
			c := (7*a + 13*b + 1) % n
			if left, right := product[[2]int{ab, c}], product[[2]int{a, product[[2]int{b, c}]}]; left != right {
				t.Fatalf("%s: got (%d·%d)·%d = %d, want %d", task.Name, a, b, c, left, right)
			}
		}
	}
	if commutes {
		t.Errorf("%s: got a commutative group", task.Name)
	}
	return product
}

// Chance is the accuracy of a guess among the answers.
func TestChance(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, k := range small() {
		task := made(t, k, fewer)
		var possible []int
		for _, r := range task.read(t, task.Train()) {
			for _, y := range r.targets {
				if y != text.Ignore && !slices.Contains(possible, y) {
					possible = append(possible, y)
				}
			}
		}
		if got := float64(len(possible)) * task.Chance; math.Abs(got-1) > 1e-12 {
			t.Errorf("%s: got %d different answers, want %.1f", task.Name, len(possible), 1/task.Chance)
		}
		s, err := task.Score(t.Context(), predicts(task.VocabSize, func([]int, int) int {
			return possible[rng.IntN(len(possible))]
		}))
		if err != nil || !(math.Abs(s.Accuracy-task.Chance) <= 3*s.AccuracyError) || !(s.AccuracyError < 0.02) {
			t.Errorf("%s %+v: got %.4f ± %.4f (%v), want a chance of %.4f", task.Name, k, s.Accuracy, s.AccuracyError,
				err, task.Chance)
		}
	}
}

// A guess by the last token knows which bracket may close and the first element of a product, and a guess among the
// tokens seen which values a row has. Neither helps where answers are independent of them.
func TestGuesses(t *testing.T) {
	for _, c := range []struct {
		kind       Kind
		last, seen [2]float64 // bounds
	}{
		{Dyck{}, [2]float64{0.6, 0.67}, [2]float64{0.1, 0.15}},
		{WordProblem{}, [2]float64{0.05, 0.08}, [2]float64{0.05, 0.08}},
		{InContextRecall{}, [2]float64{0.1, 0.16}, [2]float64{0.19, 0.24}},
		{MultiQueryRecall{Vocabulary: 256, Pairs: 4, Length: 32}, [2]float64{0, 0.03}, [2]float64{0.15, 0.26}},
		{Parity{}, [2]float64{0.47, 0.53}, [2]float64{0.47, 0.55}},
	} {
		task := made(t, c.kind, Set{Train: 2000, Test: 300})
		g, err := task.Guesses()
		if err != nil || !(g.LastToken >= c.last[0] && g.LastToken <= c.last[1] && g.Seen >= c.seen[0] &&
			g.Seen <= c.seen[1]) {
			t.Errorf("%s: got %+v, %v, want a last token in %v and seen in %v", task.Name, g, err, c.last, c.seen)
		}
	}
	if _, err := (Task{}).Guesses(); err == nil {
		t.Error("no block size: got no error")
	}
}

// No test row is a training row, also where the task has few different rows.
func TestNoOverlap(t *testing.T) {
	few := []Kind{Parity{Length: 9}, WordProblem{Degree: 2, Length: 8}, Compression{Vocabulary: 3, Length: 9},
		Dyck{Types: 2, Depth: 3, Length: 7}, Memorization{Vocabulary: 9, Pairs: 4}, Markov{Symbols: 2, Length: 7},
		FuzzyRecall{Vocabulary: 7, Length: 18}, Repetition{Vocabulary: 5, Length: 10}}
	for _, k := range append(small(), few...) {
		task := made(t, k, fewer)
		seen := map[string]bool{}
		for _, r := range task.read(t, task.Train()) {
			seen[fmt.Sprint(r.tokens)] = true
		}
		for _, r := range task.read(t, task.Val()) {
			if seen[fmt.Sprint(r.tokens)] {
				t.Errorf("%s %+v: got the test row %d in the training", task.Name, k, r.tokens)
				break
			}
		}
	}
}

// The hash that divides the rows does not depend on their rule: half of the rows of both parts are odd.
func TestPartsAreAlike(t *testing.T) {
	task := made(t, Parity{}, some)
	for name, s := range map[string]text.Split{"training": task.Train(), "test": task.Val()} {
		odd, n := 0.0, 0.0
		for _, r := range task.read(t, s) {
			odd, n = odd+float64(r.targets[39]), n+1
		}
		if got, sigma := odd/n, 0.5/math.Sqrt(n); !(math.Abs(got-0.5) <= 3*sigma) {
			t.Errorf("%s: got %.3f odd rows, want 0.500 ± %.3f", name, got, 3*sigma)
		}
	}
}

// Rows have the announced lengths, numbers and ids, and end where their options say.
func TestFormat(t *testing.T) {
	lengths := map[string][2]int{ // of some kinds, the last position with an answer in training and test
		"{Length:11 TestLength:29}": {11, 29}, "{Vocabulary:0 Length:30 TestLength:77}": {30, 77},
		"{Vocabulary:0 Length:30 TestLength:17}": {30, 17}, "{Degree:3 Length:7 TestLength:9}": {7, 9},
		"{Symbols:3 Order:0 Length:8 TestLength:19 Seed:0}": {8, 19},
	}
	blocks := map[string]int{"in-context-recall": 128, "fuzzy-in-context-recall": 128, "noisy-in-context-recall": 128,
		"selective-copying": 256, "compression": 62, "memorization": 32}
	for _, k := range small() {
		task := made(t, k, fewer)
		if want := blocks[task.Name]; want > 0 && task.BlockSize != want {
			t.Errorf("%s: got rows of %d tokens, want %d", task.Name, task.BlockSize, want)
		}
		if !strings.Contains(task.Source, " 20") && !strings.Contains(task.Source, " 1948") {
			t.Errorf("%s: got source %q, want a paper of a year", task.Name, task.Source)
		}
		for i, s := range []text.Split{task.Train(), task.Val()} {
			rows, last := task.read(t, s), 0
			if want := []int{fewer.Train, fewer.Test}[i]; len(rows) != want {
				t.Errorf("%s: got %d rows, want %d", task.Name, len(rows), want)
			}
			for _, r := range rows {
				answers := 0
				for i, y := range r.targets {
					if x := r.tokens[i]; x < 0 || x >= task.VocabSize || y < text.Ignore || y >= task.VocabSize {
						t.Fatalf("%s: got token %d and target %d, want them below %d", task.Name, x, y, task.VocabSize)
					}
					if y != text.Ignore {
						answers, last = answers+1, max(last, i+1)
					}
				}
				if answers == 0 {
					t.Fatalf("%s: got no answer in %d", task.Name, r.tokens)
				}
			}
			if want, ok := lengths[fmt.Sprintf("%+v", k)]; ok && last != want[i] {
				t.Errorf("%s %+v: got the last answer at %d, want %d", task.Name, k, last, want[i])
			}
		}
	}
}

// Every option and every number of a Set changes the hash, and nothing else does.
func TestHash(t *testing.T) {
	kinds := append(All(),
		InContextRecall{Vocabulary: 17}, InContextRecall{Pairs: 5}, FuzzyRecall{Vocabulary: 17},
		FuzzyRecall{KeyLength: 2},
		FuzzyRecall{ValueLength: 2}, FuzzyRecall{Length: 50}, NoisyRecall{Vocabulary: 33}, NoisyRecall{Noises: 15},
		NoisyRecall{Noise: 0.3}, NoisyRecall{Pairs: 5}, SelectiveCopying{Vocabulary: 17}, SelectiveCopying{Copied: 9},
		SelectiveCopying{Length: 99}, Compression{Vocabulary: 17}, Compression{Length: 9}, Memorization{Vocabulary: 65},
		Memorization{Pairs: 5}, Memorization{Seed: 1}, MultiQueryRecall{Vocabulary: 99}, MultiQueryRecall{Pairs: 5},
		MultiQueryRecall{Length: 99}, MultiQueryRecall{Power: 0.5}, Repetition{Vocabulary: 65}, Repetition{Length: 63},
		Repetition{TestLength: 63}, Dyck{Types: 7}, Dyck{Depth: 7}, Dyck{Length: 99}, Parity{Length: 9},
		Parity{TestLength: 9}, WordProblem{Degree: 4}, WordProblem{Length: 9}, WordProblem{TestLength: 9},
		ModularAddition{Modulus: 89}, Markov{Symbols: 5}, Markov{Order: 3},
		Markov{Length: 99}, Markov{TestLength: 99}, Markov{Seed: 1})
	seen := map[string]string{}
	for _, k := range kinds {
		for _, s := range []Set{{Train: 40, Test: 20}, {Train: 41, Test: 20}, {Train: 40, Test: 21}, {40, 20, 1}} {
			task, again := made(t, k, s), made(t, k, s)
			if task.SHA256() != again.SHA256() || !slices.EqualFunc(task.read(t, task.Val()),
				again.read(t, again.Val()),
				func(a, b row) bool { return slices.Equal(a.tokens, b.tokens) && slices.Equal(a.targets, b.targets) }) {
				t.Errorf("%s %+v: got other rows from the same seed", task.Name, k)
			}
			name := fmt.Sprintf("%T%+v %+v", k, k, s)
			if seen[task.Sum] != "" {
				t.Errorf("got the same hash of %s and %s", name, seen[task.Sum])
			}
			seen[task.Sum] = name
		}
	}
	// The test rows are the same for any number of training rows.
	a, b := made(t, Parity{}, Set{Train: 7, Test: 5}), made(t, Parity{}, Set{Train: 9, Test: 5})
	if got, want := fmt.Sprint(a.read(t, a.Val())), fmt.Sprint(b.read(t, b.Val())); got != want {
		t.Errorf("got the test rows %s with 7 training rows, want %s as with 9", got, want)
	}
}
