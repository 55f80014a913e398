package gpt

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/pedestrian-ml/pedestrian/gpt/decode"
	"github.com/pedestrian-ml/pedestrian/graph"
)

func newBatchDecoderOf(t testing.TB, m *Model, batch int) *decode.Session {
	t.Helper()
	d, err := NewDecoder(m, batch)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// Every sequence of a batch is read and continued as if it were alone, including prompts and sliding windows.
func TestBatchDecoder(t *testing.T) {
	const batch = 3
	for name, c := range variants() {
		for _, kernels := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, kernels %v", name, kernels), func(t *testing.T) {
				m := model64(t, c, kernels, 2)
				d := newBatchDecoderOf(t, m, batch)
				single := newDecoderOf(t, m)
				rng := rand.New(rand.NewPCG(5, 5))
				for round, lengths := range [][]int{{1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}, {4, 1, 5}, {7, 1}, {6, 3}, {20, 2}} {
					rows, want := [][][]int{}, make([][][]float64, batch)
					for _, n := range lengths {
						rows = append(rows, someRows(rng, batch, n, c.VocabSize))
					}
					for b := range batch {
						single.Reset()
						for _, r := range rows {
							want[b] = append(want[b], feed(t, single, r[b]...))
						}
					}
					d.Reset()
					for i, r := range rows {
						logits, err := d.Feed(r...)
						if err != nil {
							t.Fatal(err)
						}
						if s := logits.Shape; len(s) != 2 || s[0] != batch || s[1] != c.VocabSize {
							t.Fatalf("logits of shape %v, want (%d, %d)", s, batch, c.VocabSize)
						}
						for b := range batch {
							sameLogits(t, fmt.Sprintf("round %d, step %d, sequence %d", round, i, b), logits.Row(b).Floats(), want[b][i])
						}
					}
				}
				// Prompts of different lengths, some longer than the context, beyond which all texts continue.
				generatesAlone(t, c, d, single, map[bool][]int{true: {1, 4, 9}, false: {20, 3, 2}}[kernels]...)
				beamsAlone(t, d, single)
			})
		}
	}
}

func someRows(rng *rand.Rand, batch, n, vocab int) [][]int {
	rows := make([][]int, batch)
	for b := range rows {
		for range n {
			rows[b] = append(rows[b], rng.IntN(vocab))
		}
	}
	return rows
}

func TestBatchDecoderErrors(t *testing.T) {
	m := model64(t, odd(), true, 1)
	for _, batch := range []int{0, -1} {
		_, err := NewDecoder(m, batch)
		mustContain(t, err, "batch", fmt.Sprint(batch))
	}
	d, single := newBatchDecoderOf(t, m, 2), newDecoderOf(t, m)
	if _, err := d.Feed([]int{1, 2}, []int{3, 4}); err != nil {
		t.Fatal(err)
	}
	for _, bad := range []struct {
		rows [][]int
		says []string
	}{
		{nil, []string{"0 rows", "2"}},
		{[][]int{{1}}, []string{"1 rows", "2"}},
		{[][]int{{1}, {2, 3}}, []string{"2 tokens", "row 1", "1 in row 0"}},
		{[][]int{{}, {}}, []string{"0 tokens", "row 0"}},
		{[][]int{{1, 2}, {3, 13}}, []string{"row 1", "token 1", "13", "0 … 12"}},
		{[][]int{{-1}, {3}}, []string{"row 0", "token 0", "-1"}},
	} {
		_, err := d.Feed(bad.rows...)
		mustContain(t, err, append(bad.says, "decoder")...)
	}
	logits, err := d.Feed([]int{5}, []int{6})
	if err != nil {
		t.Fatal(err)
	}
	sameLogits(t, "after refused rows", logits.Row(1).Floats(), feed(t, single, 3, 4, 6))
}

// With float32 and threads, the rows of a batch do not depend on the number of threads.
func TestBatchDecoderThreads(t *testing.T) {
	var want []float64
	for _, threads := range []int{1, 2, 3} {
		m := model32(t, threads, 64)
		d := newBatchDecoderOf(t, m, 8)
		var logits graph.Tensor
		for i := range 10 {
			var err error
			if logits, err = d.Feed([]int{i}, []int{1}, []int{2}, []int{3}, []int{4}, []int{5}, []int{6}, []int{7}); err != nil {
				t.Fatal(err)
			}
		}
		if want == nil {
			want = logits.Floats()
		}
		for i, x := range logits.Floats() {
			if x != want[i] {
				t.Fatalf("%d threads: logit %d is %v, with 1 thread %v", threads, i, x, want[i])
			}
		}
	}
}

// model32 returns a network large enough for products to be shared by threads.
func model32(t testing.TB, threads, context int) *Model {
	t.Helper()
	g := graph.New(graph.Float32, 1)
	g.Kernels = true
	g.SetThreads(threads)
	var c Config
	c.BlockSize, c.VocabSize, c.NLayer, c.NHead, c.NEmbd, c.Bias = context, 65, 2, 4, 256, true
	m, err := New(g, c, 1)
	if err != nil {
		t.Fatal(err)
	}
	return m
}
