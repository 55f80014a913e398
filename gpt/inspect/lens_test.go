package inspect

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/graph"
)

// After the last block the lens has the model's own logits to the bit, and after another one the logits of the model
// whose last residual stream is that block's. The losses are the model's loss.
func TestLogitLens(t *testing.T) {
	text := tokens[:5]
	for name, c := range variants() {
		if strings.HasPrefix(name, "attention ") && c.Attention != "causal" {
			continue // attentions differ inside a block, and the lens reads only what leaves it
		}
		m := model(t, c, true, 1)
		p, err := Tap(m, "logits")
		if err != nil {
			t.Fatal(err)
		}
		own, err := p.Run(text)
		if err != nil {
			t.Fatal(err)
		}
		want := at(t, own, "logits").F64[:5*13]
		lens, err := LogitLens(m, text)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if len(lens) != 2 || !slices.Equal(lens[1].F64, want) || slices.Equal(lens[0].F64, want) {
			t.Errorf("%s: %d blocks, and behind the last are other logits than the model's", name, len(lens))
		}
		first := replace(t, m, "h.1", func(x graph.Expr) graph.Expr {
			y, err := x.Graph().Activation("h.0")
			return y.Wrap(y.Node(), err)
		})
		if p, err = Tap(first, "logits"); err != nil {
			t.Fatal(err)
		}
		if own, err = p.Run(text); err != nil || !slices.Equal(lens[0].F64, at(t, own, "logits").F64[:5*13]) {
			t.Errorf("%s: behind the first block are others than those of its residual stream (%v)", name, err)
		}
		loss, _, err := p.Gradients(text, targets[:5])
		if err != nil {
			t.Fatal(err)
		}
		mean := 0.0
		for i := range text {
			mean += lens.Loss(0, i, targets[i]) / 5
		}
		if !(math.Abs(mean-loss) <= 1e-12*loss) {
			t.Errorf("%s: got the loss %v, want %v", name, mean, loss)
		}
	}
}

// In float32 the logits also equal the logits of the text alone.
func TestLogitLensFloat32(t *testing.T) {
	m, err := gpt.New(graph.New(graph.Float32, 3), odd(), 1)
	if err != nil {
		t.Fatal(err)
	}
	lens, err := LogitLens(m, tokens[:5])
	if err != nil {
		t.Fatal(err)
	}
	for i, z := range lens {
		if len(z.F32) != 5*13 || !slices.Equal(z.Shape, []int{5, 13}) {
			t.Errorf("block %d: got %d numbers of shape %v", i, len(z.F32), z.Shape)
		}
	}
}

func TestLens(t *testing.T) {
	l := Lens{{Shape: []int{2, 4}, F64: []float64{0, 0, 0, 0, 1, 3, 3, 2}}}
	if got := l.Likeliest(0, 1, 3); !slices.Equal(got, []int{1, 2, 3}) {
		t.Errorf("got %v, want 1 before 2, which is as likely, and 3", got)
	}
	if got := l.Loss(0, 0, 2); !(math.Abs(got-math.Log(4)) <= 1e-15) {
		t.Errorf("got %v, want ln 4", got)
	}
	for _, n := range []int{-1, 4} {
		if got := l.Loss(0, 0, n); !math.IsNaN(got) || len(l.Likeliest(n, 0, 1)) > 0 || len(l.Likeliest(0, n, 1)) > 0 {
			t.Errorf("%d: got %v", n, got)
		}
	}
	for _, block := range []int{-1, 1} {
		if got := l.Loss(block, 0, 0); !math.IsNaN(got) || len(l.Likeliest(block, 0, 1)) > 0 {
			t.Errorf("block %d of one: got the loss %v, want NaN", block, got)
		}
	}
	if got := l.Likeliest(0, 1, 0); len(got) > 0 {
		t.Errorf("none wanted: got %v", got)
	}
	if got := (Lens{{Shape: []int{4}, F64: make([]float64, 4)}}).Likeliest(0, 0, 1); len(got) > 0 {
		t.Errorf("of logits without tokens: got %v", got)
	}
	if _, err := LogitLens(nil, tokens); err == nil {
		t.Error("of no model there is a lens")
	}
	m := model(t, odd(), true, 1)
	if _, err := LogitLens(m, make([]int, 8)); err == nil || !strings.Contains(err.Error(), "got 8 tokens") {
		t.Errorf("of too many tokens: got the error %v", err)
	}
	head, _ := m.Graph.Leaf("lm_head.weight")
	head.Tensor().Set(3, math.NaN())
	if _, err := LogitLens(m, tokens); err == nil || !strings.Contains(err.Error(), "logits: entry 3 is NaN") {
		t.Errorf("of a head with NaN: got the error %v", err)
	}
}

// Heads that attend to one token, to all alike, and to the token that followed the same token have exactly the
// corresponding scores.
func TestHeadScores(t *testing.T) {
	text := []int{4, 7, 9, 4, 7, 9} // a token's twin is three before
	w := graph.Tensor{Shape: []int{1, 3, 7, 7}, F64: make([]float64, 3*7*7)}
	for i := range 7 {
		w.Set(i*7+max(0, i-1), 1) // the token before
		w.Set((7+i)*7+max(0, i-2), 1)
		for j := range i + 1 {
			w.Set((14+i)*7+j, 1/float64(i+1)) // all
		}
	}
	got, err := HeadScores(w, text)
	if err != nil {
		t.Fatal(err)
	}
	even := HeadScore{Previous: (1./2 + 1./3 + 1./4 + 1./5 + 1./6) / 5, Induction: (1./4 + 1./5 + 1./6) / 3}
	for i := range 6 {
		even.Entropy += math.Log(float64(i+1)) / 6
	}
	for h, want := range []HeadScore{{0, 1, 0}, {0, 1. / 5, 1}, even} {
		for i, pair := range [][2]float64{
			{got[h].Entropy, want.Entropy}, {got[h].Previous, want.Previous}, {got[h].Induction, want.Induction},
		} {
			if !(math.Abs(pair[0]-pair[1]) <= 1e-15) {
				t.Errorf("head %d, score %d: got %v, want %v", h, i, pair[0], pair[1])
			}
		}
	}
	w.Set(1, 0.5) // a later token does not count
	if again, err := HeadScores(w, text); err != nil || again[0] != got[0] {
		t.Errorf("with the weight of a later token: got %v, %v, want %v", again, err, got[0])
	}
	if got, err := HeadScores(w, text[:1]); err != nil || !math.IsNaN(got[0].Induction) ||
		!math.IsNaN(got[0].Previous) {
		t.Errorf("of one token: got %v, %v", got, err)
	}
	if got, err := HeadScores(w, []int{5, 5}); err != nil || !math.IsNaN(got[0].Induction) {
		t.Errorf("of a token and itself: got %v, %v; nothing earlier followed it", got, err)
	}
	for _, shape := range [][]int{
		nil, {3, 7, 7}, {1, 3, 7, 7, 1}, {3, 1, 7, 7}, {0, 3, 7, 7}, {1, 3, 7, 14}, {1, 3, 14, 7}, {1, 4, 7, 7},
		{1, 1, 7, 21}, {1, 1, 21, 7}, {1, 147, 1, 1}, // as many numbers, which are no squares or have too few tokens
	} {
		w.Shape = shape
		if _, err := HeadScores(w, text); err == nil || !strings.Contains(err.Error(), fmt.Sprint(shape)) {
			t.Errorf("shape %v: got the error %v, want it to name the shape", shape, err)
		}
	}
	if _, err := HeadScores(graph.Tensor{Shape: []int{1, 0, 7, 7}}, text); err == nil {
		t.Error("no heads have scores")
	}
	if _, err := HeadScores(graph.Tensor{Shape: []int{1, 1, 7, 7}, F64: w.F64[:49]}, text); err != nil {
		t.Errorf("a single head: got the error %v", err)
	}
	w.Shape = []int{1, 3, 7, 7}
	for n := range 10 {
		if _, err := HeadScores(w, make([]int, n)); (err == nil) != (1 <= n && n <= 7) {
			t.Errorf("%d tokens of 7: got the error %v", n, err)
		}
	}
}
