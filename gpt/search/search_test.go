package search

import (
	"context"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/pedestrian-ml/pedestrian/graph"
)

// tree is a Predictor by a table: for each prefix of letters, the probabilities of the next letter, and of "." for
// the end. A prefix without an entry ends.
type tree struct {
	next           map[string]map[string]float64
	sources, beams int
	prefixes       []string
	forks          int
}

const (
	letters  = "abcdefgh"
	end      = 2
	specials = 4 // id of the first letter
)

func newTree(sources, beams int, next map[string]map[string]float64) *tree {
	return &tree{next: next, sources: sources, beams: beams, prefixes: make([]string, sources*beams)}
}

func (t *tree) Sources() int { return t.sources }
func (t *tree) Beams() int   { return t.beams }

func (t *tree) Ends(token int) bool { return token == end }

func (t *tree) Fork(from, to int) { t.prefixes[to] = t.prefixes[from]; t.forks++ }

func (t *tree) Step(tokens []int) (graph.Tensor, error) {
	n, v := t.sources*t.beams, specials+len(letters)
	logits := graph.Tensor{Shape: []int{n, v}, F64: make([]float64, n*v)}
	for i := range n {
		if tokens != nil && tokens[i] >= specials {
			t.prefixes[i] += letters[tokens[i]-specials:][:1]
		}
		row := logits.Row(i)
		for j := range v {
			row.Set(j, -1e9)
		}
		options := t.next[t.prefixes[i]]
		if options == nil {
			options = map[string]float64{".": 1}
		}
		for letter, p := range options {
			row.Set(id(letter), math.Log(max(p, 1e-300)))
		}
	}
	return logits, nil
}

func id(letter string) int {
	if letter == "." {
		return end
	}
	return specials + slices.Index([]byte(letters), letter[0])
}

func spell(h Hypothesis) (s string) {
	for _, token := range h.Tokens {
		s += letters[token-specials:][:1]
	}
	if h.Ended {
		s += "."
	}
	return s
}

// gardenPath returns the tree in which the likeliest first word does not begin the likeliest text.
func gardenPath() map[string]map[string]float64 {
	return map[string]map[string]float64{
		"":  {"a": .5, "b": .4, "c": .1},
		"a": {"a": .4, "b": .3, "c": .3},
		"b": {"a": .9, "b": .05, "c": .05},
	}
}

func (h Hypothesis) String() string { return fmt.Sprintf("%s %.3f", spell(h), math.Exp(h.LogProb)) }

func greedily(t *testing.T, p Predictor, limit int) []Hypothesis {
	t.Helper()
	list, err := Greedy(t.Context(), p, limit)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func beams(t *testing.T, p Predictor, limit int, rank Rank) [][]Hypothesis {
	t.Helper()
	list, err := Beam(t.Context(), p, limit, rank)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// Greedy takes a and reaches .20; two beams also keep b and find .36.
func TestI53BeamFindsWhatGreedyMisses(t *testing.T) {
	if got := fmt.Sprint(greedily(t, newTree(2, 1, gardenPath()), 3)); got != "[aa. 0.200 aa. 0.200]" {
		t.Errorf("greedy: got %s", got)
	}
	got := beams(t, newTree(2, 2, gardenPath()), 3, nil)
	if s := fmt.Sprint(got[0]); s != "[ba. 0.360 aa. 0.200]" || fmt.Sprint(got[1]) != s {
		t.Errorf("two beams: got %v", got)
	}
}

// ender is a tree whose texts also end with b.
type ender struct{ *tree }

func (ender) Ends(token int) bool { return token == end || token == id("b") }

// The Predictor determines the tokens that end a text; they are counted, but left out.
func TestOtherEnds(t *testing.T) {
	next := map[string]map[string]float64{"": {"a": .6, "b": .4}, "a": {"b": .7, "a": .3}}
	if got := fmt.Sprint(greedily(t, ender{newTree(1, 1, next)}, 3)); got != "[a. 0.420]" {
		t.Errorf("greedy: got %s", got)
	}
	if got := fmt.Sprint(beams(t, ender{newTree(1, 2, next)}, 3, nil)); got != "[[a. 0.420 . 0.400]]" {
		t.Errorf("two beams: got %s", got)
	}
}

// One beam is greedy, whatever the tree; a beam for every text finds the likeliest.
func TestI53OneBeamIsGreedyAllAreExact(t *testing.T) {
	for seed := range 200 {
		next := map[string]map[string]float64{}
		best, text := 0.0, ""
		var fill func(prefix string, p float64)
		fill = func(prefix string, p float64) {
			if len(prefix) == 3 {
				if p > best {
					best, text = p, prefix+"."
				}
				return
			}
			rest, options := 1.0, map[string]float64{}
			for i, letter := range []string{"a", "b", "c", "."} {
				share := rest
				if i < 3 {
					share *= math.Abs(math.Sin(float64(seed*31+len(next)*7+i*13))) * .7
				}
				options[letter], rest = share, rest-share
			}
			next[prefix] = options
			for _, letter := range []string{"a", "b", "c"} {
				fill(prefix+letter, p*options[letter])
			}
			if q := p * options["."]; q > best {
				best, text = q, prefix+"."
			}
		}
		fill("", 1)
		greedy, one := greedily(t, newTree(1, 1, next), 4), beams(t, newTree(1, 1, next), 4, nil)
		if fmt.Sprint(greedy[0]) != fmt.Sprint(one[0][0]) || !(math.Abs(greedy[0].LogProb-one[0][0].LogProb) <= 1e-15) {
			t.Errorf("tree %d: greedy %v, one beam %v", seed, greedy[0], one[0][0])
		}
		all := newTree(1, 64, next)
		for _, rank := range []Rank{nil, LengthPenalty(0)} { // which continues to the end
			all.prefixes = make([]string, 64)
			if h := beams(t, all, 4, rank)[0][0]; spell(h) != text || !(math.Abs(math.Exp(h.LogProb)-best) <= 1e-12) {
				t.Errorf("tree %d: got %v, the likeliest is %s %.3f", seed, h, text, best)
			}
		}
		if h := beams(t, newTree(1, 3, next), 4, nil)[0]; len(h) != 3 || h[0].LogProb > math.Log(best)+1e-12 {
			t.Errorf("tree %d: three beams found %v, likelier than the likeliest %.3f", seed, h, best)
		}
	}
}

// Greedy follows the first beam of every text, the first of equally likely tokens, and not a text that has ended.
func TestGreedyOfSeveral(t *testing.T) {
	p := &counted{}
	for _, next := range []map[string]map[string]float64{
		{"": {".": 0.6, "a": 0.4}}, {"": {"b": 0.5, "a": 0.5}, "a": {"c": 0.5, "d": 0.3, "e": 0.2}},
	} {
		p.trees = append(p.trees, newTree(1, 2, next))
	}
	if got := fmt.Sprint(greedily(t, p, 4)); got != "[. 0.600 ac. 0.250]" {
		t.Errorf("got %s", got)
	}
}

// Two beams can find less than one: both follow b, whose two continuations are likelier than a's, and then the
// probability scatters.
func TestI53BeamCanLoseToGreedy(t *testing.T) {
	next := map[string]map[string]float64{
		"":   {"a": .4, "b": .35, "c": .25},
		"a":  {"a": .4, "b": .3, "c": .3},
		"b":  {"a": .5, "b": .5},
		"ba": {"a": .5, "b": .5}, "bb": {"a": .5, "b": .5},
	}
	if got := fmt.Sprint(greedily(t, newTree(1, 1, next), 4)); got != "[aa. 0.160]" {
		t.Errorf("greedy: got %s", got)
	}
	if got := fmt.Sprint(beams(t, newTree(1, 2, next), 4, nil)[0][0]); got != "baa. 0.087" {
		t.Errorf("two beams: got %s", got)
	}
}

// The sum prefers the short text; divided by its length the long text is better.
func TestI53Ranks(t *testing.T) {
	next := map[string]map[string]float64{"": {".": .4, "a": .6}, "a": {"a": .6, "b": .4}}
	for _, tc := range []struct {
		name string
		rank Rank
		want string
	}{
		{"sum", nil, ". 0.400"},
		{"penalty 0", LengthPenalty(0), ". 0.400"},
		{"penalty 1", LengthPenalty(1), "aa. 0.360"},
	} {
		if got := fmt.Sprint(beams(t, newTree(1, 3, next), 5, tc.rank)[0][0]); got != tc.want {
			t.Errorf("%s: got %s, want %s", tc.name, got, tc.want)
		}
	}
}

// A text cut by the limit is not Ended and comes after those that have ended.
func TestSearchLimit(t *testing.T) {
	next := map[string]map[string]float64{"": {"a": .9, ".": .1}, "a": {"a": 1}, "aa": {"a": 1}}
	if got := fmt.Sprint(greedily(t, newTree(1, 1, next), 2)); got != "[aa 0.900]" {
		t.Errorf("greedy: got %s", got)
	}
	if got := fmt.Sprint(beams(t, newTree(1, 2, next), 2, nil)[0]); got != "[. 0.100 aa 0.900]" {
		t.Errorf("beams: got %s", got)
	}
}

// A hypothesis is copied only if two hypotheses continue the same one.
func TestBeamForksAreFew(t *testing.T) {
	p := newTree(1, 2, gardenPath())
	beams(t, p, 3, nil)
	if p.forks != 1 { // in the first step b joins a; then both continue in their slots
		t.Errorf("%d copies, want 1", p.forks)
	}
}

func TestSearchStops(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Greedy(ctx, newTree(1, 1, gardenPath()), 3); err == nil {
		t.Error("greedy continued after the context had ended")
	}
	if _, err := Beam(ctx, newTree(1, 1, gardenPath()), 3, nil); err == nil {
		t.Error("beam continued after the context had ended")
	}
}
