package seq2seq

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/gpt/parts"
	"github.com/pedestrian-ml/pedestrian/gpt/train"
	"github.com/pedestrian-ml/pedestrian/graph"
)

// counted is a Predictor that counts its steps and has another tree for each source.
type counted struct {
	trees []*tree
	steps int
}

func (c *counted) Sources() int { return len(c.trees) }
func (c *counted) Beams() int   { return c.trees[0].beams }

func (c *counted) Fork(from, to int) {
	n := c.Beams()
	c.trees[from/n].Fork(from%n, to%n)
}

func (c *counted) Step(tokens []int) (out graph.Tensor, err error) {
	c.steps++
	n := c.Beams()
	for i, tree := range c.trees {
		logits, err := tree.Step(tokens[i*n : (i+1)*n])
		if err != nil {
			return out, err
		}
		out.F64, out.Shape = append(out.F64, logits.F64...), []int{len(tokens), logits.Shape[1]}
	}
	return out, nil
}

// A search by ln p ends with the step in which the first hypothesis ends, if the others are less likely: they stay cut,
// also while another text goes on. What is as likely as the first goes on.
func TestBeamStopsEarly(t *testing.T) {
	short := map[string]map[string]float64{"": {".": 0.6, "a": 0.4}, "a": {"b": 1}, "ab": {"c": 1}}
	equal := map[string]map[string]float64{"": {".": 0.5, "a": 0.5}}
	long := map[string]map[string]float64{"": {"a": 1}, "a": {"b": 1}, "ab": {"c": 1}, "abc": {"d": 1}}
	for _, tc := range []struct {
		trees []map[string]map[string]float64
		steps int
		want  string
	}{
		{[]map[string]map[string]float64{short}, 1, "[[. 0.600 a 0.400]]"},
		{[]map[string]map[string]float64{equal}, 2, "[[. 0.500 a. 0.500]]"},
		{[]map[string]map[string]float64{short, long}, 5, "[[. 0.600 a 0.400] [abcd. 1.000"},
	} {
		p := &counted{}
		for _, next := range tc.trees {
			p.trees = append(p.trees, newTree(1, 2, next))
		}
		got := fmt.Sprint(beams(t, p, 8, nil))
		if !strings.HasPrefix(got, tc.want) || p.steps != tc.steps {
			t.Errorf("got %s in %d steps, want %s in %d", got, p.steps, tc.want, tc.steps)
		}
	}
}

// A Rank is asked with the number of tokens, their end included.
func TestRankSeesTheLength(t *testing.T) {
	var lengths []int
	rank := func(logProb float64, length int) float64 {
		if !slices.Contains(lengths, length) {
			lengths = append(lengths, length)
		}
		return logProb
	}
	if beams(t, newTree(1, 2, gardenPath()), 3, rank); !slices.Equal(lengths, []int{1, 2, 3}) {
		t.Errorf("asked of lengths %v, want 1, 2 and 3", lengths)
	}
}

// An empty optimizer is the default, by name.
func TestResumeDiffOfTheOptimizer(t *testing.T) {
	c, saved := small(), small()
	saved.Optimizer = string(parts.Optimizers()[0].Name)
	if err := c.ResumeDiff(saved); err != nil {
		t.Error(err)
	}
	if got := c.Resolved().Optimizer; got != saved.Optimizer {
		t.Errorf("the default optimizer is %q, want %q", got, saved.Optimizer)
	}
}

// The activations of a network whose sizes are all different, item by item.
func TestActivationsAreCounted(t *testing.T) {
	c := small()
	c.BatchSize, c.NLayer, c.NHead, c.NEmbd, c.QKSize, c.VSize, c.NInner = 2, 3, 5, 7, 11, 13, 17
	c.SourceSize, c.TargetSize, c.TargetVocab = 19, 23, 29
	heads := 2*5*11 + 2*5*13.0         // queries, keys, values and their mixture
	token := 7*7 + heads + 2*17        // norms, residuals and the MLP
	encoder := 19 * (token + 5*19)     // with a row of weights for every head
	cross := 3*7 + heads + 5*(19+23.0) // of the decoder, whose heads look at both texts
	decoder := 23 * (token + cross)
	want := 2 * (3*(encoder+decoder) + 3*7*(19+23) + 23*29) // with the embeddings and the logits
	if got := c.activations(); got != want {
		t.Errorf("got %v numbers, want %v", got, want)
	}
}

// Every token counts: those of the sources, of the targets, and the ends of these.
func TestTokensOfAStep(t *testing.T) {
	tr := newTrainer(t, small())
	p, err := tr.Step()
	if err != nil {
		t.Fatal(err)
	}
	want := 0
	for _, pair := range tr.batch {
		want += len(pair.Source) + len(pair.Target) + 1
	}
	if p.Tokens != want || want < 3*small().BatchSize {
		t.Errorf("got %d tokens, want %d", p.Tokens, want)
	}
	if math.Abs(p.Loss-math.Log(10)) > 0.5 {
		t.Errorf("the first loss is %v, want about ln 10", p.Loss)
	}
}

// A vocabulary has at least one token, and weights that are no safetensors are an error that says so.
func TestRefusals(t *testing.T) {
	c := small()
	c.SourceVocab = 0
	if _, err := NewTrainer(c, backwards{}); err == nil || !strings.Contains(err.Error(), "source_vocab: got 0") {
		t.Errorf("got error %v", err)
	}
	tr := newTrainer(t, small())
	cp := saved(t, tr, abc(t), train.WeightsFile, func([]byte) []byte { return []byte("not the weights") })
	if _, _, err := LoadModel(cp); err == nil || !strings.Contains(err.Error(), "safetensors") {
		t.Errorf("got error %v", err)
	}
}
