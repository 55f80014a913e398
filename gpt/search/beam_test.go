package search

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/graph"
)

// counted is a Predictor that counts its steps and has a separate tree for each source.
type counted struct {
	trees []*tree
	steps int
}

func (c *counted) Sources() int { return len(c.trees) }
func (c *counted) Beams() int   { return c.trees[0].beams }

func (c *counted) Ends(token int) bool { return token == end }

func (c *counted) Fork(from, to int) {
	n := c.Beams()
	c.trees[from/n].Fork(from%n, to%n)
}

func (c *counted) Step(tokens []int) (out graph.Tensor, err error) {
	c.steps++
	n := c.Beams()
	for i, tree := range c.trees {
		var own []int
		if tokens != nil {
			own = tokens[i*n : (i+1)*n]
		}
		logits, err := tree.Step(own)
		if err != nil {
			return out, err
		}
		out.F64, out.Shape = append(out.F64, logits.F64...), []int{len(c.trees) * n, logits.Shape[1]}
	}
	return out, nil
}

// A search by ln p ends with the step in which the first hypothesis ends, if the others are less likely: they stay
// cut, even while another text continues. Hypotheses as likely as the first continue.
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
		{[]map[string]map[string]float64{long, short}, 5, "[[abcd. 1.000"},
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

// binary is a Predictor of one text of two tokens, of which the first has the probability p[i] at step i. Both end the
// text, or none.
type binary struct {
	*tree
	p    []float64
	step int
	ends bool
}

func (b *binary) Step([]int) (graph.Tensor, error) {
	logits := graph.Tensor{Shape: []int{b.beams, 2}}
	for range b.beams {
		logits.F64 = append(logits.F64, math.Log(b.p[b.step]), math.Log(1-b.p[b.step]))
	}
	b.step++
	return logits, nil
}

func (b *binary) Ends(int) bool { return b.ends }

// With more beams than continuations some are empty. A hypothesis is copied only to be continued twice.
func TestBeamsOfFewTokens(t *testing.T) {
	for limit, want := range map[int]string{
		1: "[[0] [1]]", 2: "[[0 0] [0 1] [1 0] [1 1]]", 3: "[[0 0 0] [0 1 0] [1 0 0] [1 1 0] [0 0 1]]",
	} {
		p := &binary{tree: newTree(1, 5, nil), p: []float64{0.7, 0.6, 0.9}}
		var got [][]int
		for _, h := range beams(t, p, limit, nil)[0] {
			got = append(got, h.Tokens)
		}
		if forks := []int{0, 1, 3, 4}[limit]; fmt.Sprint(got) != want || p.forks != forks {
			t.Errorf("%d tokens: got %v with %d copies, want %s with %d", limit, got, p.forks, want, forks)
		}
	}
}

// Beams without a hypothesis do not prolong a search.
func TestEmptyBeamsEnd(t *testing.T) {
	for _, rank := range []Rank{nil, LengthPenalty(1)} {
		p := &binary{tree: newTree(1, 3, nil), p: []float64{0.7, 0.7}, ends: true}
		if got := beams(t, p, 2, rank)[0]; len(got) != 2 || p.step != 1 {
			t.Errorf("got %d hypotheses in %d steps, want 2 in 1", len(got), p.step)
		}
	}
}

// By a rank that prefers long texts the search continues although the first has ended, and has the better score so far.
func TestRankContinues(t *testing.T) {
	next := map[string]map[string]float64{"": {".": 0.6, "a": 0.4}}
	for i := 1; i < 6; i++ {
		next[letters[:i]] = map[string]float64{letters[i : i+1]: 1}
	}
	if got := fmt.Sprint(beams(t, newTree(1, 2, next), 8, LengthPenalty(1))[0]); got != "[abcdef. 0.400 . 0.600]" {
		t.Errorf("got %s", got)
	}
}

// Every text has its own hypotheses, whose tokens are not shared when two continue the same one.
func TestBeamsAreApart(t *testing.T) {
	deep := map[string]map[string]float64{"": {"a": 1}, "a": {"b": 1}, "ab": {"c": 1}, "abc": {"d": 0.6, "e": 0.4},
		"abcd": {".": 1}, "abce": {".": 1}}
	p := &counted{trees: []*tree{newTree(1, 2, gardenPath()), newTree(1, 2, deep)}}
	if got := fmt.Sprint(beams(t, p, 6, nil)); got != "[[ba. 0.360 aa. 0.200] [abcd. 0.600 abce. 0.400]]" {
		t.Errorf("got %s", got)
	}
}

// shifted is a tree whose logits are no logarithms of probabilities.
type shifted struct{ *tree }

func (s shifted) Step(tokens []int) (graph.Tensor, error) {
	logits, err := s.tree.Step(tokens)
	for i := range logits.F64 {
		logits.F64[i] += 2.5
	}
	return logits, err
}

// ln p follows from the softmax of the logits.
func TestSearchOfLogits(t *testing.T) {
	if got := fmt.Sprint(greedily(t, shifted{newTree(1, 1, gardenPath())}, 3)); got != "[aa. 0.200]" {
		t.Errorf("greedy: got %s", got)
	}
	if got := fmt.Sprint(beams(t, shifted{newTree(1, 2, gardenPath())}, 3, nil)); got != "[[ba. 0.360 aa. 0.200]]" {
		t.Errorf("two beams: got %s", got)
	}
}

// A Rank receives the number of tokens including the end.
func TestRankSeesTheLength(t *testing.T) {
	var lengths []int
	rank := func(logProb float64, length int) float64 {
		if !slices.Contains(lengths, length) {
			lengths = append(lengths, length)
		}
		return logProb
	}
	if beams(t, newTree(1, 2, gardenPath()), 3, rank); !slices.Equal(lengths, []int{1, 2, 3}) {
		t.Errorf("got lengths %v, want 1, 2 and 3", lengths)
	}
}

// A search without steps finds one empty hypothesis per text. The first step
// of every search has no tokens.
func TestBeginning(t *testing.T) {
	if got := beams(t, newTree(2, 3, gardenPath()), 0, nil); len(got) != 2 || len(got[0]) != 1 || len(got[1]) != 1 ||
		len(got[0][0].Tokens) != 0 {
		t.Errorf("got %v, want one empty hypothesis of each text", got)
	}
	p := &beginnings{tree: newTree(2, 2, nil)}
	greedily(t, p, 3)
	beams(t, p, 3, nil)
	if want := []bool{true, true}; !slices.Equal(p.begun, want) { // the texts end at once
		t.Errorf("the first step of each search has no tokens: got %v, want %v", p.begun, want)
	}
}

// beginnings is a tree that records which steps have no tokens.
type beginnings struct {
	*tree
	begun []bool
}

func (b *beginnings) Step(tokens []int) (graph.Tensor, error) {
	b.begun = append(b.begun, tokens == nil)
	return b.tree.Step(tokens)
}

// ((5 + n)/6)^α is the divisor: 1 for one token, 2 to the power of α for seven.
func TestLengthPenalty(t *testing.T) {
	for _, tc := range []struct {
		alpha  float64
		length int
		want   float64
	}{{0, 9, -3}, {1, 1, -3}, {1, 7, -1.5}, {2, 7, -0.75}, {0.5, 19, -1.5}} {
		if got := LengthPenalty(tc.alpha)(-3, tc.length); !(math.Abs(got-tc.want) <= 1e-15) {
			t.Errorf("α %v, %d tokens: ln p = −3 becomes %v, want %v", tc.alpha, tc.length, got, tc.want)
		}
	}
}
