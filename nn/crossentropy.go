package nn

import "github.com/pedestrian-ml/pedestrian/graph"

// CrossEntropy is the loss of next-token prediction (section 1 of the paper): the sum, over the tokens whose target
// counts, of
//
//	−ln softmax(z)[target] = ln Σ e^z − z[target]
//
// or that sum divided by their number. The paper's Δ₁₂ = y_pred − y_gt is the gradient of the sum, whereas most code
// uses the mean (errata B10): Sum chooses. A target equal to the ignored value declared by graph.Ints counts in neither
// the sum nor the number (errata D6).
type CrossEntropy struct {
	Sum   bool
	scope graph.Scope
}

// NewCrossEntropy returns the loss as the mean over the targets that count; set Sum for the sum.
func NewCrossEntropy(s graph.Scope) *CrossEntropy { return &CrossEntropy{scope: s} }

// Forward compares logits (n, V) with targets (n) and returns a scalar.
func (l *CrossEntropy) Forward(logits, targets graph.Expr) (result graph.Expr) {
	defer recoverUnbuilt(l, logits, &result)
	z, targets := logits.In(l.scope), targets.In(l.scope)
	if loss, ok := graph.CrossEntropy(z, targets, !l.Sum); ok {
		return loss
	}
	v := 1
	if s := z.Shape(); len(s) == 2 {
		v = s[1]
	}
	y := targets.OneHot(v)                                // y_gt, 0 where ignored   (n, V)
	counts := y.Sum()                                     // 1 or 0                  (n, 1)
	nll := z.LogSumExp().Mul(counts).Sub(z.Pick(y).Sum()) // ln Σ e^z − z[target]    (n, 1)
	loss := nll.SumAll()
	if l.Sum {
		return loss
	}
	return loss.Div(counts.SumAll())
}
