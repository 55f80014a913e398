package nn

import (
	"fmt"
	"math"
	"strings"

	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/graph/fused"
)

// Experts describes the experts of a mixture.
type Experts struct {
	Routing          // E, k, and how logits become gates
	Shared  int      // number of experts that every token passes, in addition to the k
	Balance *Balance // collects the losses that balance the experts; optional
	Loads   *Loads   // collects the numbers of tokens that choose each expert; optional

	// BiasRate is u of the bias that balances the experts, Load.Rate. It is 0 without such a bias.
	BiasRate float64
	Limit    float64 // L, for NewClampedMoE
}

// MoE is a mixture of experts, gated MLPs (GLU with SiLU) of which every token passes k (Shazeer et al. 2017; Jiang et
// al. 2024, Mixtral, section 2.1):
//
//	g = routing(x·w_r)
//	y = Σ_e g_e·MLP_e(x) + shared(x)
//
// Inner is the width f inside each expert. The shared experts are one gated MLP of width s·f (Dai et al. 2024,
// DeepSeekMoE). Router and experts have no biases, except in NewClampedMoE. No token is dropped. The kernel
// gathers the tokens of each expert, so that it does k/E of the work of all experts. An expert that no token chooses
// has gradient 0.
type MoE struct {
	Router  Layer // w_r (d, E)
	Experts []*GLU
	Shared  Layer // nil without shared experts

	routing Routing
	rate    float64 // of the bias
	balance *Balance
	loads   *Loads
	drop    *Dropout
	scope   graph.Scope
}

// biasName is the name of the bias of a router in Hugging Face's DeepSeek-V3.
const biasName = "e_score_correction_bias"

// IsBalancing reports whether a parameter is the bias of a Load. Its gradient is 0: an optimizer need not update it.
func IsBalancing(p graph.Expr) bool { return strings.HasSuffix(p.Name(), ".router."+biasName) }

// NewMoE declares router (d, E), the matrices of every expert at experts.0, experts.1, …, and of shared, if there
// are shared experts. With a BiasRate it declares router.e_score_correction_bias (E), which starts at 0. It is an error
// unless 1 ≤ k ≤ E and 0 ≤ u < 1.
func NewMoE(at Site) *MoE {
	if limit := at.Experts.Limit; limit != 0 {
		at.Failf("a mixture of experts with the limit %v of their features: NewClampedMoE has one", limit)
	}
	return newMoE(at, false)
}

// NewClampedMoE is like NewMoE for the mixture of gpt-oss (OpenAI 2025): the router and the experts have biases, and
// the features of an expert are
//
//	h = g·σ(1.702·g) ∘ (u + 1),  g = min(x·w_g + b_g, L),  u = x·w_u + b_u between −L and L
//
// in place of SiLU(x·w_g) ∘ x·w_u. There is no kernel: every expert computes all tokens. It is an error unless L > 0.
func NewClampedMoE(at Site) *MoE {
	if limit := at.Experts.Limit; !(limit > 0 && limit <= math.MaxFloat64) {
		at.Failf("got the limit %v of the features of experts, want a number above 0", limit)
	}
	return newMoE(at, true)
}

func newMoE(at Site, clamped bool) *MoE {
	x := at.Experts
	l := &MoE{
		routing: x.Routing, rate: x.BiasRate, balance: x.Balance, loads: x.Loads,
		drop: NewDropout(at.At("dropout")), scope: at.Scope,
	}
	if err := x.Check(); err != nil {
		at.Failf("%v", err)
		return l
	}
	if x.Shared < 0 {
		at.Failf("got %d shared experts, want at least 0", x.Shared)
		return l
	}
	if u := x.BiasRate; !(u >= 0 && u < 1) {
		at.Failf("got the rate %v of the bias that balances the experts, want 0 ≤ x < 1", u)
		return l
	}
	if at.conv(ConvInner, at.Inner).Layer != nil {
		at.Failf("a mixture of experts with a short convolution at place %s: the experts have none", ConvInner)
	}
	at.Bias, at.Dropout, at.Conv = clamped, 0, nil
	l.Router = at.affine("router", at.Embd, []int{x.Experts}, clamped, graph.Normal(0.02))
	if x.BiasRate > 0 {
		l.routing.Bias = at.At("router").Param(biasName, graph.Const(0), x.Experts)
	}
	expert := func(name string) *GLU {
		e := NewGLU(at.At(name), SiLU{})
		if clamped {
			e.limit = x.Limit
		}
		return e
	}
	for e := range x.Experts {
		l.Experts = append(l.Experts, expert(fmt.Sprintf("experts.%d", e)))
	}
	if x.Shared > 0 {
		at.Inner *= x.Shared
		l.Shared = expert("shared")
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
	l.loads.add(l.scope.Path(), l.routing, l.rate, g)
	y := l.scope.Place("experts", l.mixture(x, g))
	if l.Shared != nil {
		y = y.Add(In(l.scope, "shared", l.Shared)(x).In(l.scope))
	}
	return l.drop.Forward(y)
}

// mixture returns Σ_e g_e·MLP_e(x). The equation computes every expert for all tokens.
func (l *MoE) mixture(x, g graph.Expr) (y graph.Expr) { // (n, d), (n, E) → (n, d)
	var w fused.ExpertWeights
	for _, e := range l.Experts {
		if e.limit > 0 {
			return l.each(x, g)
		}
		w.Gate = append(w.Gate, l.matrix(e.Gate, &w.Scale))
		w.Up = append(w.Up, l.matrix(e.Fc, &w.Scale))
		w.Down = append(w.Down, l.matrix(e.Proj, &w.Scale))
	}
	if y, ok := fused.MixExperts(x, g, w, l.routing.Active); ok {
		return y
	}
	return l.each(x, g)
}

// each computes every expert for all tokens.
func (l *MoE) each(x, g graph.Expr) (y graph.Expr) { // (n, d), (n, E) → (n, d)
	for i, e := range l.Experts {
		own := e.Forward(x).In(l.scope).Mul(g.Columns(i, i+1))
		if i == 0 {
			y = own
		} else {
			y = y.Add(own)
		}
	}
	return y
}

// matrix returns the matrix of an expert with its adapter, if it has one, which all have the same factor.
func (l *MoE) matrix(layer Layer, scale *float64) fused.ExpertMatrix {
	lora, ok := layer.(*LoRA)
	if !ok || len(lora.Adapters) == 0 || *scale != 0 && *scale != lora.Scale {
		return fused.ExpertMatrix{W: matrix(l.scope, layer)}
	}
	*scale = lora.Scale
	a := lora.Adapters[0]
	return fused.ExpertMatrix{W: lora.Base.Weight.In(l.scope), A: a.Down.In(l.scope), B: a.Up.In(l.scope)}
}

// Routing turns the logits z of a router into gates: with the probabilities p = softmax(z), or σ(z) if Sigmoid is set,
//
//	g = p for the k largest of a token, and 0 for the rest
//
// Of equal probabilities, an earlier expert has the larger one. If Norm is set, the gates of a token are divided by
// their sum plus 1e-20. A gate of 0 has gradient 0.
//
// With Bias, b (E), the experts are the k largest of p + b, and their gates are p as before (Wang et al. 2024, (3)). As
// the bias only chooses, its gradient is 0.
type Routing struct {
	fused.Router
	Bias graph.Expr // optional
}

// Forward returns g.
func (l Routing) Forward(z graph.Expr) graph.Expr { // (n, E) → (n, E)
	if g, ok := fused.Gates(z, l.Bias, l.Router); ok {
		return g
	}
	p := l.probabilities(z)
	scores := p
	if l.Bias.Graph() != nil {
		scores = p.Add(l.Bias)
	}
	g := p.TopKBy(scores, l.Active)
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
	if loss, ok := fused.SwitchLoss(z, g, l.Router); ok {
		return loss
	}
	p := l.probabilities(z)
	if l.Sigmoid {
		p = p.Div(p.Sum().Shift(1e-20))
	}
	f := chosen(g).Transpose(1, 0).Mean() // (E, 1)
	mean := p.Transpose(1, 0).Mean()      // P   (E, 1)
	return f.Mul(mean).SumAll().Scale(float64(l.Experts))
}

// chosen returns 1 where a gate is not 0, and 0 elsewhere.
func chosen(gates graph.Expr) graph.Expr { // (n, E) → (n, E)
	one := gates.Pow(0)
	return one.Where(gates, one.Shift(-1))
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

// Load is the load of the experts of a mixture, and the bias that balances them.
type Load struct {
	Name   string     // the mixture's scope, such as "h.0.mlp"
	Tokens int        // n
	Count  graph.Expr // n_e, the number of tokens that chose each expert   (1, E)
	Bias   graph.Expr // b (E); empty without
	Rate   float64    // u
}

// Loads collects the Load of every mixture of experts of a model.
type Loads struct{ list []Load }

// add adds the load of the mixture at a scope, given its gates.
func (l *Loads) add(name string, r Routing, rate float64, gates graph.Expr) {
	if l == nil {
		return
	}
	gates = gates.Detach()
	count, ok := fused.ExpertLoad(gates)
	if !ok {
		count = chosen(gates).Transpose(1, 0).Sum().Transpose(1, 0)
	}
	own := Load{Name: name, Count: count, Bias: r.Bias, Rate: rate}
	if s := gates.Shape(); len(s) == 2 {
		own.Tokens = s[0]
	}
	l.list = append(l.list, own)
}

// List returns the loads of the passes so far.
func (l *Loads) List() []Load {
	if l == nil {
		return nil
	}
	return l.list
}

// Rebalance updates the bias after a step, given the number n_e of the step's tokens that chose each expert (Wang et
// al. 2024, algorithm 1):
//
//	b_e ← b_e + u·sign(n̄ − n_e),  n̄ = Σ n_e/E
//
// Experts with few tokens are chosen more often from then on, without a loss that would change the gradients of the
// weights. The sign of 0 is 0. Entries without a count do not change.
func (l Load) Rebalance(counts []float64) {
	var sum float64
	b := l.Bias.Tensor()
	for _, n := range counts {
		sum += n
	}
	for e, n := range counts[:min(len(counts), b.Len())] {
		switch excess := float64(n*float64(len(counts))) - sum; { // exact in whole numbers
		case excess < 0:
			b.Set(e, b.At(e)+l.Rate)
		case excess > 0:
			b.Set(e, b.At(e)-l.Rate)
		}
	}
}
