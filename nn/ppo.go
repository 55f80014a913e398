package nn

import "github.com/pedestrian-ml/pedestrian/graph"

// PPOClip is the objective of Schulman et al. (2017), which Diab §2.6 mentions without the formula. It allows several
// steps on the actions drawn from one policy, as long as the new policy stays close to it:
//
//	L = −Σ w·min(r·A, clip(r, 1−ε, 1+ε)·A) / Σ w,  r = π(a)/π_old(a),  A = R − v
//
// If r is outside 1 ± ε on the side to which A pushes it, the gradient is 0, otherwise A·r(π − onehot(a)) times w/Σw;
// at r = 1 that is Reinforce's.
type PPOClip struct {
	Clip  float64 // ε
	scope graph.Scope
}

// NewPPOClip returns the objective with ε = 0.2, as published, and declares nothing.
func NewPPOClip(s graph.Scope) *PPOClip { return &PPOClip{0.2, s} }

// Forward returns the objective of the actions of r under logits (n, V), a scalar.
func (l *PPOClip) Forward(logits graph.Expr, r Rollout) (result graph.Expr) {
	defer recoverUnbuilt(l, logits, &result)
	z := logits.In(l.scope)
	if loss, ok := graph.PPOClip(z, r.Actions, r.Returns, r.Baseline, r.Weights, r.LogProbs, l.Clip); ok {
		return loss
	}
	ratio := r.logProbs(z).Sub(r.LogProbs).Exp()                            // r                  (n, 1)
	above := ratio.Shift(l.Clip - 1).ReLU()                                 // max(r − (1−ε), 0)  (n, 1)
	clipped := above.Sub(ratio.Shift(-l.Clip - 1).ReLU()).Shift(1 - l.Clip) // clip(r)        (n, 1)
	free, held := ratio.Mul(r.advantage()), clipped.Mul(r.advantage())      // r·A, clip(r)·A     (n, 1)
	return r.mean(free.Sub(free.Sub(held).ReLU())).Scale(-1)                // min(a, b) = a − max(a − b, 0)
}
