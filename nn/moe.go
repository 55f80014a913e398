package nn

import (
	"fmt"

	"github.com/pedestrian-ml/pedestrian/graph"
)

// Experts describes the experts of a mixture.
type Experts struct {
	Routing          // E, k, and how logits become gates
	Shared  int      // number of experts that every token passes, in addition to the k
	Balance *Balance // collects the losses that balance the experts; optional
}

// MoE is a mixture of experts, gated MLPs (GLU with SiLU) of which every token passes k (Shazeer et al. 2017; Jiang et
// al. 2024, Mixtral, section 2.1):
//
//	g = routing(x·w_r)
//	y = Σ_e g_e·MLP_e(x) + shared(x)
//
// Inner is the width f inside each expert. The shared experts are one gated MLP of width s·f (Dai et al. 2024,
// DeepSeekMoE). Router and experts have no biases. No token is dropped. The kernel gathers the tokens of each expert,
// so that it does k/E of the work of all experts. An expert that no token chooses has gradient 0.
type MoE struct {
	Router  Layer // w_r (d, E)
	Experts []*GLU
	Shared  Layer // nil without shared experts

	routing Routing
	balance *Balance
	drop    *Dropout
	scope   graph.Scope
}

// NewMoE declares router (d, E), the matrices of every expert at experts.0, experts.1, …, and those of shared, if there
// are shared experts. It is an error unless 1 ≤ k ≤ E.
func NewMoE(at Site) *MoE {
	x := at.Experts
	l := &MoE{routing: x.Routing, balance: x.Balance, drop: NewDropout(at.At("dropout")), scope: at.Scope}
	if err := x.Check(); err != nil {
		at.Failf("%v", err)
		return l
	}
	if x.Shared < 0 {
		at.Failf("got %d shared experts, want at least 0", x.Shared)
		return l
	}
	at.Bias, at.Dropout, at.Conv = false, 0, nil
	l.Router = at.affine("router", at.Embd, []int{x.Experts}, false, graph.Normal(0.02))
	for e := range x.Experts {
		l.Experts = append(l.Experts, NewGLU(at.At(fmt.Sprintf("experts.%d", e)), SiLU{}))
	}
	if x.Shared > 0 {
		at.Inner *= x.Shared
		l.Shared = NewGLU(at.At("shared"), SiLU{})
	}
	return l
}

// Forward returns the gated sum of the experts of each token, plus the shared experts, then dropout.
func (l *MoE) Forward(x graph.Expr) (result graph.Expr) { // (n, d) → (n, d)
	defer recoverUnbuilt(l, x, &result)
	x = x.In(l.scope)
	z := HeadIn(l.scope, "router", l.Router, l.routing.Experts)(x).In(l.scope) // x·w_r   (n, E)
	g := In(l.scope, "gates", l.routing)(z)                                    // g       (n, E)
	l.balance.Add(z, l.routing)
	y := l.scope.Place("experts", l.mixture(x, g))
	if l.Shared != nil {
		y = y.Add(In(l.scope, "shared", l.Shared)(x).In(l.scope))
	}
	return l.drop.Forward(y)
}

// mixture returns Σ_e g_e·MLP_e(x). The equation computes every expert for all tokens.
func (l *MoE) mixture(x, g graph.Expr) (y graph.Expr) { // (n, d), (n, E) → (n, d)
	var w graph.ExpertWeights
	for _, e := range l.Experts {
		w.Gate = append(w.Gate, matrix(l.scope, e.Gate))
		w.Up = append(w.Up, matrix(l.scope, e.Fc))
		w.Down = append(w.Down, matrix(l.scope, e.Proj))
	}
	if y, ok := graph.MixExperts(x, g, w, l.routing.Active); ok {
		return y
	}
	for i, e := range l.Experts {
		own := e.Forward(x).In(l.scope).Mul(g.Cols(i, i+1))
		if i == 0 {
			y = own
		} else {
			y = y.Add(own)
		}
	}
	return y
}

// Routing turns the logits z of a router into gates: with the probabilities p = softmax(z), or σ(z) if Sigmoid is set,
//
//	g = p for the k largest of a token, and 0 for the rest
//
// Of equal probabilities, those of earlier experts are larger. If Norm is set, the gates of a token are divided by
// their sum plus 1e-20. A gate of 0 has gradient 0.
type Routing struct{ graph.Router }

// Forward returns g.
func (l Routing) Forward(z graph.Expr) graph.Expr { // (n, E) → (n, E)
	if g, ok := graph.Gates(z, l.Router); ok {
		return g
	}
	g := l.probabilities(z).TopK(l.Active)
	if l.Norm {
		g = g.Div(g.Sum().Shift(1e-20))
	}
	return g
}

// probabilities returns p.
func (l Routing) probabilities(z graph.Expr) graph.Expr { // (n, E) → (n, E)
	if l.Sigmoid {
		return z.Sigmoid()
	}
	return z.Softmax()
}

// SwitchLoss makes experts share the tokens (Fedus, Zoph and Shazeer 2021, (4)–(6)):
//
//	L = E·Σ_e f_e·P_e
//
// f_e is the share of the tokens that choose expert e, a constant, and P_e the mean of its probabilities, which for a
// sigmoid are first divided by their sum plus 1e-20. As Σ f_e = k, the loss of balanced experts is k, as in Hugging
// Face's models; the paper has k = 1.
type SwitchLoss struct{ Routing }

// Forward returns the loss of the logits of a router, a scalar.
func (l SwitchLoss) Forward(z graph.Expr) graph.Expr { // (n, E) → ()
	g := l.Routing.Forward(z).Detach()
	if loss, ok := graph.SwitchLoss(z, g, l.Router); ok {
		return loss
	}
	p := l.probabilities(z)
	if l.Sigmoid {
		p = p.Div(p.Sum().Shift(1e-20))
	}
	one := g.Pow(0)
	chosen := one.Where(g, one.Shift(-1))
	f, mean := chosen.Transpose(1, 0).Mean(), p.Transpose(1, 0).Mean() // f, P   (E, 1)
	return f.Mul(mean).SumAll().Scale(float64(l.Experts))
}

// Balance collects the SwitchLoss of every mixture of experts of a model.
type Balance struct{ losses []graph.Expr }

// Add adds the loss of a mixture whose router has the logits z.
func (b *Balance) Add(z graph.Expr, r Routing) {
	if b != nil {
		b.losses = append(b.losses, SwitchLoss{r}.Forward(z))
	}
}

// Loss returns the sum of the losses of the pass so far, a scalar. ok is false if there are none.
func (b *Balance) Loss() (sum graph.Expr, ok bool) {
	if b == nil || len(b.losses) == 0 {
		return sum, false
	}
	sum = b.losses[0]
	for _, loss := range b.losses[1:] {
		sum = sum.Add(loss)
	}
	return sum, true
}
