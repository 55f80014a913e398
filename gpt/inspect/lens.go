package inspect

import (
	"cmp"
	"math"
	"slices"

	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pkg/errors"
)

// Lens holds the logits computed from the residual stream after every block, (T, V) for a text of T tokens.
type Lens []graph.Tensor

// LogitLens returns what the model would predict if a block were its last: logitsᵢ = lm_head(ln_f(hᵢ)), for the
// residual stream hᵢ after each block i (nostalgebraist, interpreting GPT: the logit lens, 2020). The last logits are
// the model's own.
func LogitLens(m *gpt.Model, tokens []int) (Lens, error) {
	streams, err := Tap(m, "h.*")
	if err != nil {
		return nil, err
	}
	last, stream := streams.names[len(streams.names)-1], graph.Expr{}
	rest, err := Replace(m, last, func(x graph.Expr) graph.Expr {
		stream = x.Graph().Root().Value("inspect.stream", graph.Const(0), x.Shape()...)
		return stream
	})
	if err != nil {
		return nil, err
	}
	probe, err := Tap(rest, "logits") // does not compute the blocks, on which the logits no longer depend
	if err != nil {
		return nil, err
	}
	activations, err := streams.Run(tokens)
	if err != nil {
		return nil, err
	}
	var lens Lens
	for _, x := range activations.All() {
		if err := stream.Tensor().Copy(x); err != nil {
			return nil, errors.Wrap(err, "inspect")
		}
		a, err := probe.Run(tokens)
		if err != nil {
			return nil, err
		}
		logits, n := a.values["logits"], len(tokens)*m.Config.VocabSize
		if logits.Shape = []int{len(tokens), m.Config.VocabSize}; logits.F32 != nil {
			logits.F32 = logits.F32[:n]
		} else {
			logits.F64 = logits.F64[:n]
		}
		lens = append(lens, logits)
	}
	return lens, nil
}

// row returns the logits after a token, or nil if there is no such block or token.
func (l Lens) row(block, token int) []float64 {
	if block < 0 || block >= len(l) {
		return nil
	}
	return l[block].Row(token).Floats()
}

// Likeliest returns the n ids that are likeliest to follow the token according to the block, the first of equals first.
// It returns none if there is no such block or token.
func (l Lens) Likeliest(block, token, n int) []int {
	z := l.row(block, token)
	ids := make([]int, len(z))
	for i := range ids {
		ids[i] = i
	}
	slices.SortStableFunc(ids, func(a, b int) int { return cmp.Compare(z[b], z[a]) })
	return ids[:min(max(n, 0), len(ids))]
}

// Loss returns −ln softmax(logits) of the target, in nats: how far the block is from predicting it after the token. It
// returns NaN if there is no such block, token or target.
func (l Lens) Loss(block, token, target int) float64 {
	z := l.row(block, token)
	if target < 0 || target >= len(z) {
		return math.NaN()
	}
	top, sum := slices.Max(z), 0.0
	for _, x := range z {
		sum += math.Exp(x - top)
	}
	return top + math.Log(sum) - z[target]
}
