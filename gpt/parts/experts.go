package parts

import (
	"cmp"
	"slices"
	"strings"

	"github.com/pedestrian-ml/pedestrian/gpt/internal/field"
	"github.com/pedestrian-ml/pedestrian/graph/fused"
	"github.com/pedestrian-ml/pedestrian/nn"
	"github.com/pkg/errors"
)

// mixture and clamped are the names of the MLPs with experts.
const mixture, clamped = "moe", "moe_clamped"

// Experts holds the settings of the MLPs with experts, moe and moe_clamped. Others refuse them.
type Experts struct {
	NumExperts       int  // E; by default 8
	NumExpertsPerTok int  // k, the number of experts that a token passes; by default 2
	NSharedExperts   int  // number of experts that every token passes, in addition
	NormTopKProb     bool // divide the gates of a token by their sum
	// ScoringFunc is how the logits of the experts become probabilities.
	ScoringFunc string
	// RouterAuxLossCoef is α of the loss α·E·Σ f_e·P_e, which balances the experts of every block. 0 is none, except
	// in a new training: see Stack.Begun.
	RouterAuxLossCoef float64
	// RouterBiasUpdateRate is u of the bias that balances the experts of every block without a loss: nn.Load.Rebalance.
	RouterBiasUpdateRate float64
	SwigluLimit          float64 // L of mlp moe_clamped; by default 7
}

// mixes reports whether s has an MLP with experts.
func (s Stack) mixes() bool { return s.MLP == mixture || s.MLP == clamped }

// score is how the logits of a router become probabilities.
type score struct {
	Name
	sigmoid bool
}

// scores lists them, the default first.
func scores() []score { return []score{{"softmax", false}, {"sigmoid", true}} }

// withDefaults returns x with the defaults for the MLP of s.
func (x Experts) withDefaults(s Stack) Experts {
	if s.MLP == clamped {
		x.SwigluLimit = cmp.Or(x.SwigluLimit, 7)
	}
	if s.mixes() {
		x.NumExperts, x.NumExpertsPerTok = cmp.Or(x.NumExperts, 8), cmp.Or(x.NumExpertsPerTok, 2)
	}
	x.ScoringFunc = cmp.Or(x.ScoringFunc, Names(scores())[0])
	return x
}

// experts returns the settings of the experts. s must be resolved.
func (s Stack) experts() nn.Experts {
	x := s.Experts
	built := nn.Experts{
		Routing: nn.Routing{Router: fused.Router{
			Experts: x.NumExperts, Active: x.NumExpertsPerTok, Norm: x.NormTopKProb,
			Sigmoid: Find(scores(), x.ScoringFunc).sigmoid,
		}},
		Shared: x.NSharedExperts, Loads: new(nn.Loads), BiasRate: x.RouterBiasUpdateRate, Limit: x.SwigluLimit,
	}
	if x.RouterAuxLossCoef > 0 {
		built.Balance = new(nn.Balance)
	}
	return built
}

// usualBalance is α of the loss that balances experts in a new training: the larger of the factors of Fedus et al.
// (2021, arXiv:2101.03961), with which the loads are even and the loss stays the same.
const usualBalance = 0.01

// Begun returns s for a training that begins: with mlp moe and without anything that balances the experts,
// RouterAuxLossCoef is 0.01. Otherwise nearly all tokens go to the same few experts after some hundred steps. A
// training that is resumed keeps what it has, even 0.
func (s Stack) Begun() Stack {
	d := s.withDefaults(nil)
	x := d.Experts
	unbalanced := x.RouterAuxLossCoef == 0 && x.RouterBiasUpdateRate == 0 && x.NumExpertsPerTok < x.NumExperts
	if d.mixes() && unbalanced {
		s.Experts.RouterAuxLossCoef = usualBalance
	}
	return s
}

// Resumed returns s for a training that continues one with the given Stack: without a RouterAuxLossCoef it has the one
// that Begun has set there, or has not in an earlier version.
func (s Stack) Resumed(saved Stack) Stack {
	s.Experts.RouterAuxLossCoef = cmp.Or(s.Experts.RouterAuxLossCoef, saved.Experts.RouterAuxLossCoef)
	return s
}

// checkExperts returns an error if the settings of experts do not fit, or if no MLP reads them. given is s with zeros
// for defaults.
func (s Stack) checkExperts(given Stack) error {
	if l := given.Experts.SwigluLimit; l != 0 && s.MLP != clamped {
		return errors.Errorf("swiglu_limit: got %v, want 0 with mlp %s, which has no limit", l, s.MLP)
	}
	if s.mixes() {
		if k, n := s.Experts.NumExpertsPerTok, s.Experts.NumExperts; k > n {
			return errors.Errorf("num_experts_per_tok: got %d, want at most num_experts %d", k, n)
		}
		if k := s.Experts.NumExpertsPerTok; s.Experts.NormTopKProb && k == 1 {
			return errors.Errorf("norm_topk_prob: got true, want false with num_experts_per_tok 1: " +
				"the only gate would be 1, and the router would learn nothing")
		}
		if k, u := s.Experts.NumExpertsPerTok, s.Experts.RouterBiasUpdateRate; u > 0 && k == s.Experts.NumExperts {
			return errors.Errorf("router_bias_update_rate: got %v, want 0 with num_experts_per_tok %d of "+
				"num_experts %d: every token passes all experts, so that there is nothing to balance", u, k, k)
		}
		if slices.Contains(Find(ShortConvs(), s.With.Get("short_conv")).places, nn.ConvInner) {
			return errors.Errorf("short_conv: got %s, want one without place d with mlp %s, "+
				"whose experts have no convolutions", s.With.Get("short_conv"), s.MLP)
		}
		return nil
	}
	for _, f := range given.Experts.fields() {
		if got := f.String(); !slices.Contains([]string{"0", "false", "", Names(scores())[0]}, got) {
			return errors.Errorf("%s: got %s, want its default with mlp %s, which has no experts", f.Name, got, s.MLP)
		}
	}
	return nil
}

// fields returns the fields that only an MLP with experts reads.
func (x *Experts) fields() field.List {
	return field.List{
		field.New("num_experts", &x.NumExperts, field.UpTo(fused.MaxExperts),
			"mlp moe*: number of experts; 0 is 8").Optional(),
		field.New("num_experts_per_tok", &x.NumExpertsPerTok, field.UpTo(fused.MaxExperts),
			"mlp moe*: number of experts that a token passes; 0 is 2").Optional(),
		field.New("n_shared_experts", &x.NSharedExperts, field.UpTo(fused.MaxExperts),
			"mlp moe*: further experts, which every token passes").Optional(),
		field.New("norm_topk_prob", &x.NormTopKProb, field.Any(),
			"mlp moe*: divide the gates of a token by their sum").Optional("false"),
		field.New("router_aux_loss_coef", &x.RouterAuxLossCoef, field.NonNegative(),
			"mlp moe*: factor on the loss that balances the experts; 0 is 0.01 in a new training, unless "+
				"router_bias_update_rate balances them").Optional(),
		field.New("router_bias_update_rate", &x.RouterBiasUpdateRate, field.Fraction(),
			"mlp moe*: rate of a bias that balances experts without a loss, such as 0.001; 0 is no bias").Optional(),
		field.New("swiglu_limit", &x.SwigluLimit, field.NonNegative(),
			"mlp moe_clamped: limit of the features of experts; 0 is 7").Optional(),
		NameField("scoring_func", &x.ScoringFunc, Names(scores()), "mlp moe*: probabilities of the experts").
			Optional(Names(scores())[0]),
	}
}

// Share returns the share of tokens that a parameter of that name multiplies: k/E in an expert, otherwise 1. Without a
// kernel, in mlp moe_clamped, experts multiply all tokens. s must be resolved.
func (s Stack) Share(parameter string) float64 {
	if s.MLP == mixture && s.Experts.NumExperts > 0 && strings.Contains(parameter, "mlp.experts.") {
		return float64(s.Experts.NumExpertsPerTok) / float64(s.Experts.NumExperts)
	}
	return 1
}
