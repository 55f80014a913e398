package nn

import "github.com/pedestrian-ml/pedestrian/graph"

// similarity computes the weight of a key for a query in linear attention: sim(q, k) = φ(q)·φ(k).
type similarity interface {
	of(q, k graph.Expr) graph.Expr // (B, H, T, dρ), (B, H, T, dρ) → (B, H, T, T)
	features() graph.FeatureMap    // φ, for the kernel
}

// eluPlusOne is φ(x) = elu(x) + 1: x + 1 for x > 0, else eˣ.
type eluPlusOne struct{}

func (e eluPlusOne) of(q, k graph.Expr) graph.Expr { return e.phi(q).MatMulT(e.phi(k)) }

// phi returns max(x, 0) + e^min(x, 0), each with derivative 1 where the other has 0.
func (eluPlusOne) phi(x graph.Expr) graph.Expr {
	positive := x.ReLU()
	return positive.Add(x.Sub(positive).Exp())
}

func (eluPlusOne) features() graph.FeatureMap { return graph.EluPlusOne() }
