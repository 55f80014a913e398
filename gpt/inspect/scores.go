package inspect

import (
	"math"

	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pkg/errors"
)

// HeadScore describes which tokens a head attends to, by its weights w (query, key) on a text.
type HeadScore struct {
	// Entropy is −Σⱼ wᵢⱼ ln wᵢⱼ in nats, the mean over the queries i. It is 0 if each attends to only one token.
	Entropy float64
	// Previous is w of the previous token, the mean over the queries that have one: 1 for a previous-token head. It is
	// NaN for a single token.
	Previous float64
	// Induction is the prefix-matching score (Olsson et al., In-context learning and induction heads, 2022): the sum of
	// wᵢⱼ over the earlier keys j that followed the same token as query i's, the mean over the queries that have some.
	// It is NaN if no token occurs again.
	Induction float64
}

// HeadScores returns the scores of each head from its attn.weights (1, H, T, T) on a text of at most T tokens.
func HeadScores(weights graph.Tensor, tokens []int) ([]HeadScore, error) {
	s, n := weights.Shape, len(tokens)
	if len(s) != 4 || s[0] != 1 || s[2] != s[3] || s[1] < 1 || n < 1 || n > s[2] || weights.Len() != product(s) {
		return nil, errors.Errorf("inspect: got weights of shape %v and %d tokens, want (1, H, T, T) and 1 to T", s, n)
	}
	scores := make([]HeadScore, s[1])
	for h := range scores {
		w := func(query, key int) float64 { return weights.At((h*s[2]+query)*s[3] + key) }
		scores[h] = score(w, tokens)
	}
	return scores, nil
}

func score(w func(query, key int) float64, tokens []int) (s HeadScore) {
	matched := 0.0
	for i := range tokens {
		match := false
		for j := range i + 1 {
			if x := w(i, j); x > 0 {
				s.Entropy -= x * math.Log(x) / float64(len(tokens))
			}
			if j > 0 && j < i && tokens[j-1] == tokens[i] {
				match, s.Induction = true, s.Induction+w(i, j)
			}
		}
		if match {
			matched++
		}
		if i > 0 {
			s.Previous += w(i, i-1)
		}
	}
	s.Previous /= float64(len(tokens) - 1) // 0/0 for a single token
	s.Induction /= matched
	return s
}
