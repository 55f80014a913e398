package inspect

import (
	"math"

	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pkg/errors"
	"gonum.org/v1/gonum/mat"
)

// EffectiveRank returns e to the entropy of a matrix's singular values σᵢ as shares pᵢ = σᵢ/Σσ (Roy and Vetterli, The
// effective rank, 2007). It is r if r of them are equal and the others 0, and lies between 1 and the rank.
func EffectiveRank(w graph.Tensor) (float64, error) {
	if len(w.Shape) != 2 || w.Shape[0] < 1 || w.Shape[1] < 1 || w.Len() != product(w.Shape) {
		return 0, errors.Errorf("inspect: effective rank: got %d numbers of shape %v, want a matrix", w.Len(), w.Shape)
	}
	if err := w.Finite("effective rank"); err != nil {
		return 0, errors.Wrap(err, "inspect")
	}
	var svd mat.SVD
	if !svd.Factorize(mat.NewDense(w.Shape[0], w.Shape[1], w.Clone().Floats()), mat.SVDNone) {
		return 0, errors.Errorf("inspect: effective rank: no singular values found of a matrix %v", w.Shape)
	}
	values, sum, entropy := svd.Values(nil), 0.0, 0.0
	for _, s := range values {
		sum += s
	}
	if sum == 0 {
		return 0, nil
	}
	for _, s := range values {
		if p := s / sum; p > 0 {
			entropy -= p * math.Log(p)
		}
	}
	return math.Exp(entropy), nil
}
