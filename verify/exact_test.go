package verify

import (
	"errors"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/parts"
	"github.com/pedestrian-ml/pedestrian/gpt/seq2seq"
	"github.com/pedestrian-ml/pedestrian/verify/hand"
)

// A wrong gradient is found by the exact road, in a Case and in its Report, and the right one is equal in every draw.
func TestCaseExact(t *testing.T) {
	c := norm()
	e, err := c.Exact(20, 1)
	if err != nil || e.Draws != 20 || e.Differing != 0 || e.Bound > -40 || math.IsNaN(e.Bound) {
		t.Errorf("got %+v, %v", e, err)
	}
	backward := c.Backward
	c.Backward = func(p hand.Parameters[float64], delta hand.Matrix[float64]) hand.Gradients[float64] {
		g := backward(p, delta)
		g[0].Value = g[0].Value.Scale(1 + 1e-13) // far below any tolerance
		return g
	}
	if e, err := c.Exact(2, 1); err != nil || e.Differing != 2*8 {
		t.Errorf("got %+v, %v, want 8 entries in each draw", e, err)
	}
	r, err := c.Run()
	if err != nil {
		t.Fatal(err)
	}
	if r.OK() || len(r.Failures) != 1 || !strings.Contains(
		r.Failures[0], "8 entries differ from the derivative of the forward pass",
	) {
		t.Errorf("got %v", r.Failures)
	}
	c.Backward = func(p hand.Parameters[float64], delta hand.Matrix[float64]) hand.Gradients[float64] {
		g := backward(p, delta)
		g[0].Value = g[0].Value.Scale(math.Exp(0 * p["x"].Data[0]))
		return g
	}
	if _, err := c.Run(); !errors.Is(err, ErrReadsData) || !strings.Contains(err.Error(), "verify.TestCaseExact") {
		t.Errorf("got %v, want the function that reads Data", err)
	}
	for _, n := range []int{0, mostDraws + 1} {
		if _, err := norm().Exact(n, 1); err == nil || !strings.Contains(err.Error(), "want 1 … 100000") {
			t.Errorf("%d points: got %v", n, err)
		}
	}
	c.Forward, c.Backward = nil, nil
	if _, err := c.Exact(1, 1); err == nil || !strings.Contains(err.Error(), "no formulas by hand") {
		t.Errorf("got %v", err)
	}
}

// Whole models are exact, too.
func TestModelExact(t *testing.T) {
	c := gpt.Shakespeare()
	c.BlockSize, c.VocabSize, c.NLayer, c.NHead, c.NEmbd = 4, 7, 2, 2, 6
	m, err := NewModel(c, 2, 1)
	if err != nil {
		t.Fatal(err)
	}
	if e, err := m.Exact(2, 3); err != nil || e.Differing != 0 || e.Draws != 2 {
		t.Errorf("got %+v, %v", e, err)
	}
	c.Attention, c.Position, c.Block, c.QKSize = "longformer", "rope", "post", 4
	for name, n := range map[string]int{"window": 3, "dilation": 1, "global_tokens": 1} {
		c.Options.Offer(name, n)
	}
	if m, err = NewModel(c, 2, 1); err != nil {
		t.Fatal(err)
	}
	if e, err := m.Exact(1, 3); err != nil || e.Differing != 0 {
		t.Errorf("longformer with rotary positions: got %+v, %v", e, err)
	}
	pairs := seq2seq.Config{}
	pairs.SourceSize, pairs.TargetSize, pairs.SourceVocab, pairs.TargetVocab = 4, 3, 7, 6
	pairs.NLayer, pairs.NHead, pairs.NEmbd, pairs.QKSize, pairs.VSize, pairs.NInner, pairs.Bias = 1, 2, 4, 2, 3, 5, true
	p, err := NewPairs(pairs, 2, 1)
	if err != nil {
		t.Fatal(err)
	}
	if e, err := p.Exact(1, 3); err != nil || e.Differing != 0 {
		t.Errorf("encoder and decoder: got %+v, %v", e, err)
	}
	pairs.Dropout = 0.3
	if p, err = NewPairs(pairs, 2, 1); err != nil {
		t.Fatal(err)
	}
	if e, err := p.Exact(1, 3); err != nil || e.Differing != 0 {
		t.Errorf("encoder and decoder with dropout: got %+v, %v", e, err)
	}
	if _, err := (Model{}).Exact(1, 1); err == nil {
		t.Error("a model without parameters is exact")
	}
}

// A model of each attention, and of lists of two, is exact with dropout at all of its places, beside other blocks and
// MLPs, by day every third of these models. A backward pass that forgets one of the masks, or applies one that its
// forward pass does not, is not.
func TestModelExactWithDropout(t *testing.T) {
	attentions, blocks, mlps, tried := parts.Attentions(), parts.Blocks(), parts.MLPs(), 0
	for i := range max(len(attentions), len(blocks)*len(mlps)) {
		c := gpt.Shakespeare()
		c.BlockSize, c.VocabSize, c.NLayer, c.NHead, c.NEmbd, c.QKSize, c.VSize, c.NInner = 3, 5, 1, 2, 4, 2, 3, 5
		c.Attention, c.Dropout = attentions[i%len(attentions)].String(), 0.3
		if i%2 == 1 {
			c.NLayer, c.Attention = 2, c.Attention+","+attentions[(5*i+2)%len(attentions)].String()
		}
		c.Block, c.MLP = blocks[i%len(blocks)].String(), mlps[i/len(blocks)%len(mlps)].String()
		for name, n := range map[string]int{
			"window": 2, "dilation": 2, "global_tokens": 1, "random_keys": 1, "n_kv_head": 1, "sink_tokens": 1,
		} {
			c.Options.Offer(name, n)
		}
		if os.Getenv("NIGHTLY") == "" && i%3 > 0 || c.ValidateModel() != nil {
			continue
		}
		tried++
		m, err := NewModel(c, 2, 1)
		if err != nil {
			t.Fatal(err)
		}
		if e, err := m.Exact(1, uint64(i)); err != nil || e.Differing != 0 {
			t.Errorf("%s, %s, %s: got %+v, %v", c.Attention, c.Block, c.MLP, e, err)
		}
	}
	if tried < 10 {
		t.Errorf("got %d valid models, want more", tried)
	}
}
