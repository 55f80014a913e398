package search

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/pedestrian-ml/pedestrian/graph"
)

// spelled computes the Sampler's doc comment line by line: the probability of every token.
func spelled(s *Sampler, z []float64, before []int) []float64 {
	p := slices.Clone(z)
	for i := range p {
		switch theta := s.RepetitionPenalty; {
		case theta == 0 || !slices.Contains(before, i):
		case p[i] > 0:
			p[i] /= theta
		default:
			p[i] *= theta
		}
		if n := s.drawn[i]; n > 0 {
			p[i] -= s.FrequencyPenalty*float64(n) + s.PresencePenalty
		}
	}
	keep := func(ok func(i int) bool) {
		var sum float64
		q := make([]float64, len(p))
		for i := range p {
			if ok(i) {
				q[i] = p[i]
				sum += p[i]
			}
		}
		for i := range q {
			q[i] /= sum
		}
		p = q
	}
	ahead := func(i int) (n int, sum float64) { // of token i, by probability
		for j := range p {
			if p[j] > p[i] || p[j] == p[i] && j < i {
				n, sum = n+1, sum+p[j]
			}
		}
		return n, sum
	}
	top := slices.Max(p)
	for i := range p {
		p[i] = math.Exp((p[i] - top) / s.Temperature)
	}
	keep(func(int) bool { return true })
	if s.TopK > 0 {
		keep(func(i int) bool { n, _ := ahead(i); return n < s.TopK })
	}
	if s.TopP > 0 {
		keep(func(i int) bool { _, sum := ahead(i); return p[i] > 0 && sum < s.TopP })
	}
	keep(func(i int) bool { return p[i] >= s.MinP*slices.Max(p) })
	return p
}

// The remaining tokens after all cuts, in any combination, are as documented.
func TestSamplerMatchesItsDocumentation(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	kept := map[int]int{}
	for range 4000 {
		s := NewSampler(1)
		s.Temperature = 0.3 + 2*rng.Float64()
		some := func(x float64) float64 { return x * float64(rng.IntN(2)) }
		s.TopK, s.TopP, s.MinP = rng.IntN(2)*rng.IntN(9), some(rng.Float64()), some(rng.Float64())
		s.RepetitionPenalty = some(0.5 + 1.5*rng.Float64())
		s.FrequencyPenalty, s.PresencePenalty = some(rng.NormFloat64()), some(rng.NormFloat64())
		z := make([]float64, 1+rng.IntN(7))
		for i := range z {
			z[i] = 3 * rng.NormFloat64()
			if rng.IntN(6) == 0 {
				z[i] = z[0] // equals
			}
		}
		var before []int
		for range rng.IntN(6) { // one more than once, too
			before = append(before, rng.IntN(len(z)))
		}
		for range rng.IntN(4) {
			if _, err := s.Draw(logits(z...), before...); err != nil {
				t.Fatal(err)
			}
		}
		want, got, sum := spelled(s, z, before), make([]float64, len(z)), 0.0
		id, err := s.Draw(logits(z...), before...)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range s.choices {
			sum += c.p
		}
		for _, c := range s.choices {
			got[c.id] = c.p / sum
		}
		kept[len(s.choices)]++
		for i := range want {
			if !(math.Abs(got[i]-want[i]) <= 1e-12) {
				t.Fatalf("%v %v %v %v %v %v %v, logits %v after %v: token %d has p %v, want %v", s.Temperature, s.TopK,
					s.TopP, s.MinP,
					s.RepetitionPenalty, s.FrequencyPenalty, s.PresencePenalty, z, before, i, got[i], want[i])
			}
		}
		if want[id] == 0 {
			t.Fatalf("drew token %d, which was cut", id)
		}
	}
	for n := 1; n <= 7; n++ {
		if kept[n] < 20 {
			t.Errorf("%d tokens were kept %d times only", n, kept[n])
		}
	}
}

// The likeliest k of any list are moved to its front, with any equal elements and in any order.
func TestPartition(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 9))
	for trial := range 3000 {
		list := make([]choice, 1+rng.IntN(40))
		for i := range list {
			list[i] = choice{i, float64(rng.IntN(1 + trial%9))}
			if trial%5 == 0 {
				list[i].p = float64((trial%2*2 - 1) * i)
			}
		}
		k, sorted := 1+rng.IntN(len(list)), slices.SortedFunc(slices.Values(list), byLikelihood)
		partition(list, k)
		slices.SortFunc(list[:k], byLikelihood)
		if !slices.Equal(list[:k], sorted[:k]) {
			t.Fatalf("the likeliest %d: got %v, want %v", k, list[:k], sorted[:k])
		}
	}
}

// The penalty by numbers: a token counts once, a positive logit is divided, another multiplied, also with greedy
// drawing. 0 and 1 mean no penalty, and then the text is not read.
func TestSamplerRepetitionPenalty(t *testing.T) {
	z := logits(2, -1, 0, 4, 3)
	s := NewSampler(1)
	s.RepetitionPenalty = 2
	if _, err := s.read(z, []int{3, 0, 1, 2, 3, 3}); err != nil {
		t.Fatal(err)
	}
	if want := []choice{{0, 1}, {1, -2}, {2, 0}, {3, 2}, {4, 3}}; !slices.Equal(s.choices, want) {
		t.Errorf("got %v, want %v", s.choices, want)
	}
	s.Temperature = 0
	for _, tc := range []struct {
		theta  float64
		before []int
		want   int
	}{{2, []int{3}, 4}, {2, nil, 3}, {0, []int{3, 99}, 3}, {1, []int{3, -1}, 3}, {0.5, []int{0}, 0}} {
		s.RepetitionPenalty = tc.theta
		if got, err := s.Draw(z, tc.before...); err != nil || got != tc.want {
			t.Errorf("penalty %v after %v: got %d (%v), want %d", tc.theta, tc.before, got, err, tc.want)
		}
	}
	s.RepetitionPenalty = 1.5
	for _, id := range []int{-1, 5, math.MaxInt} {
		_, err := s.Draw(z, 2, id)
		mustContain(t, err, "sampler: token 1 of the text is", "0 … 4")
	}
	s.RepetitionPenalty = 1e-308
	_, err := s.Draw(z, 3)
	mustContain(t, err, "the logit of token 3 with a repetition_penalty of 1e-308 is +Inf")
}

// The penalties of draws by numbers: a token loses the frequency penalty with each draw, and the presence penalty once.
func TestSamplerPenaltiesOfDraws(t *testing.T) {
	z := logits(5, 4, 3)
	s := NewSampler(1)
	s.Temperature, s.FrequencyPenalty, s.PresencePenalty = 0, 0.75, 1
	for i, want := range []int{0, 1, 0, 2, 0} { // of 5 4 3; 3.25 4 3; 3.25 2.25 3; 2.5 2.25 3; 2.5 2.25 1.25
		if got, err := s.Draw(z); err != nil || got != want {
			t.Errorf("draw %d: got %d (%v), want %d", i, got, err, want)
		}
	}
	s.FrequencyPenalty, s.PresencePenalty = 0, 0
	if got, err := s.Draw(z); err != nil || got != 0 {
		t.Errorf("without penalties: got %d (%v), want 0", got, err)
	}
	s.FrequencyPenalty = -math.MaxFloat64
	_, err := s.Draw(z)
	if err == nil {
		_, err = s.Draw(z)
	}
	if err == nil {
		_, err = s.Draw(z)
	}
	mustContain(t, err, "with a frequency_penalty of -1.79", "+Inf")
	s = NewSampler(1)
	s.PresencePenalty = -1
	if _, err := s.Draw(logits(0, 9)); err != nil {
		t.Fatal(err)
	}
	_, err = s.Draw(logits(0))
	mustContain(t, err, "token 1 was drawn before, not in 0 … 0")
}

// A cut is inclusive: a token on the border is kept.
func TestSamplerMinP(t *testing.T) {
	for minP, want := range map[float64]int{0: 4, 0.125: 4, 0.126: 3, 0.25: 3, 0.5: 2, 0.51: 1, 1: 1} {
		s := NewSampler(1)
		s.MinP = minP
		s.choices = []choice{{0, 0.25}, {1, 1}, {2, 0.125}, {3, 0.5}}
		if s.cut(); len(s.choices) != want {
			t.Errorf("min_p %v keeps %d tokens, want %d", minP, len(s.choices), want)
		}
	}
}

// A TopP of 1 keeps all of the TopK likeliest tokens, even one that adds nothing to the sum.
func TestSamplerTopPOfAll(t *testing.T) {
	s := NewSampler(1)
	s.TopK, s.TopP = 3, 1
	s.choices = []choice{{0, 1e-30}, {1, 1}, {2, 1e-31}, {3, 1e-32}}
	if s.cut(); len(s.choices) != 3 {
		t.Errorf("got %v, want three tokens", s.choices)
	}
}

// Without the newer cuts a seed draws the same as in earlier versions.
func TestSamplerDrawsAsBefore(t *testing.T) {
	for name, tc := range map[string]struct {
		topK int
		topP float64
		want []int
	}{
		"all": {0, 0, []int{6, 5, 4, 4, 1, 0, 5, 0, 1, 1, 5, 4, 5, 5, 1, 1, 4, 6, 2, 2, 4, 4, 1, 4}},
		"cut": {4, 0.9, []int{2, 5, 4, 4, 1, 1, 5, 1, 1, 1, 5, 4, 2, 2, 1, 1, 5, 2, 4, 4, 5, 4, 1, 4}},
	} {
		s := NewSampler(11)
		s.Temperature, s.TopK, s.TopP = 0.8, tc.topK, tc.topP
		for i, want := range tc.want {
			if got, err := s.Draw(logits(0.5, 2, 1, -1, 1.5, 1.2, -0.3)); err != nil || got != want {
				t.Fatalf("%s, draw %d: got %d (%v), want %d", name, i, got, err, want)
			}
		}
	}
}

// ln p is the model's, regardless of the cuts. It is NaN if nothing was drawn.
func TestSamplerLogProb(t *testing.T) {
	s := NewSampler(5)
	if got := s.LogProb(); !math.IsNaN(got) {
		t.Errorf("before the first draw: got %v, want NaN", got)
	}
	s.Temperature, s.TopK, s.TopP, s.MinP, s.RepetitionPenalty = 2, 4, 0.9, 0.1, 1.3
	p := []float64{0.15, 0.5, 0.05, 0.2, 0.1}
	seen := map[int]bool{}
	for range 50 {
		id, err := s.Draw(logs(p...), 1)
		if err != nil {
			t.Fatal(err)
		}
		if got := s.LogProb(); !(math.Abs(got-math.Log(p[id])) <= 1e-15) {
			t.Errorf("token %d: ln p is %v, want %v", id, got, math.Log(p[id]))
		}
		seen[id] = true
	}
	if len(seen) < 3 {
		t.Errorf("%d different tokens: the test shows little", len(seen))
	}
	s.Temperature = 0
	for _, z := range []graph.Tensor{
		logits(-800, 0, -1e300), logits(-1e300, -800, 0), {Shape: []int{3}, F32: []float32{-800, 0, -3e38}},
	} {
		if _, err := s.Draw(z); err != nil || s.LogProb() != 0 {
			t.Errorf("a certain token: ln p is %v (%v), want 0", s.LogProb(), err)
		}
	}
	s.RepetitionPenalty = 1e5 // the unlikely token is drawn
	if id, err := s.Draw(logits(-1, 1000, -1e9), 1, 2); err != nil || id != 0 && s.LogProb() != 0 {
		t.Errorf("drew %d (%v)", id, err)
	}
	if _, err := s.Draw(logits(math.NaN())); err == nil || !math.IsNaN(s.LogProb()) {
		t.Errorf("after a draw that failed: got %v, want NaN", s.LogProb())
	}
	s.busy.Lock()
	if got := s.LogProb(); !math.IsNaN(got) {
		t.Errorf("while another draws: got %v, want NaN", got)
	}
	if got := (*Sampler)(nil).LogProb(); !math.IsNaN(got) {
		t.Errorf("of no sampler: got %v, want NaN", got)
	}
}
