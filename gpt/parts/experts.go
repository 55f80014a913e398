package parts

import (
	"slices"
	"strings"

	"github.com/pedestrian-ml/pedestrian/gpt/internal/field"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/nn"
	"github.com/pkg/errors"
)

// mixture and clamped are the names of the MLPs with experts.
const mixture, clamped = "moe", "moe_clamped"

// mixes reports whether s has an MLP with experts.
func (s Stack) mixes() bool { return s.MLP == mixture || s.MLP == clamped }

// score is how the logits of a router become probabilities.
type score struct {
	Name
	sigmoid bool
}

// scores lists them, the default first.
func scores() []score { return []score{{"softmax", false}, {"sigmoid", true}} }

// experts returns the settings of the experts. s must be resolved.
func (s Stack) experts() nn.Experts {
	x := nn.Experts{
		Routing: nn.Routing{Router: graph.Router{
			Experts: s.NumExperts, Active: s.NumExpertsPerTok, Norm: s.NormTopKProb,
			Sigmoid: Find(scores(), s.ScoringFunc).sigmoid,
		}},
		Shared: s.NSharedExperts, Loads: new(nn.Loads), BiasRate: s.RouterBiasUpdateRate, Limit: s.SwigluLimit,
	}
	if s.RouterAuxLossCoef > 0 {
		x.Balance = new(nn.Balance)
	}
	return x
}

// usualBalance is α of the loss that balances experts in a new training: the larger of the factors of Fedus et al.
// (2021, arXiv:2101.03961), with which the loads are even and the loss stays the same.
const usualBalance = 0.01

// Begun returns s for a training that begins: with mlp moe and without anything that balances the experts,
// RouterAuxLossCoef is 0.01. Otherwise nearly all tokens go to the same few experts after some hundred steps. A
// training that is resumed keeps what it has, even 0.
func (s Stack) Begun() Stack {
	d := s.withDefaults()
	unbalanced := d.RouterAuxLossCoef == 0 && d.RouterBiasUpdateRate == 0 && d.NumExpertsPerTok < d.NumExperts
	if d.mixes() && unbalanced {
		s.RouterAuxLossCoef = usualBalance
	}
	return s
}

// checkExperts returns an error if the settings of experts do not fit, or if no MLP reads them. given is s with zeros
// for defaults.
func (s Stack) checkExperts(given Stack) error {
	if l := given.SwigluLimit; l != 0 && s.MLP != clamped {
		return errors.Errorf("swiglu_limit: got %v, want 0 with mlp %s, which has no limit", l, s.MLP)
	}
	if s.mixes() {
		if k, n := s.NumExpertsPerTok, s.NumExperts; k > n {
			return errors.Errorf("num_experts_per_tok: got %d, want at most num_experts %d", k, n)
		}
		if k := s.NumExpertsPerTok; s.NormTopKProb && k == 1 {
			return errors.Errorf("norm_topk_prob: got true, want false with num_experts_per_tok 1: " +
				"the only gate would be 1, and the router would learn nothing")
		}
		if k, u := s.NumExpertsPerTok, s.RouterBiasUpdateRate; u > 0 && k == s.NumExperts {
			return errors.Errorf("router_bias_update_rate: got %v, want 0 with num_experts_per_tok %d of "+
				"num_experts %d: every token passes all experts, so that there is nothing to balance", u, k, k)
		}
		if slices.Contains(Find(ShortConvs(), s.ShortConv).places, nn.ConvInner) {
			return errors.Errorf("short_conv: got %s, want one without place d with mlp %s, "+
				"whose experts have no convolutions", s.ShortConv, s.MLP)
		}
		return nil
	}
	for _, f := range given.expertFields() {
		if got := f.String(); !slices.Contains([]string{"0", "false", "", Names(scores())[0]}, got) {
			return errors.Errorf("%s: got %s, want its default with mlp %s, which has no experts", f.Name, got, s.MLP)
		}
	}
	return nil
}

// expertFields returns the fields that only an MLP with experts reads.
func (s *Stack) expertFields() field.List {
	return field.List{
		field.New("num_experts", &s.NumExperts, field.UpTo(graph.MaxExperts),
			"mlp moe*: number of experts; 0 is 8").Optional(),
		field.New("num_experts_per_tok", &s.NumExpertsPerTok, field.UpTo(graph.MaxExperts),
			"mlp moe*: number of experts that a token passes; 0 is 2").Optional(),
		field.New("n_shared_experts", &s.NSharedExperts, field.UpTo(graph.MaxExperts),
			"mlp moe*: further experts, which every token passes").Optional(),
		field.New("norm_topk_prob", &s.NormTopKProb, field.Any(),
			"mlp moe*: divide the gates of a token by their sum").Optional("false"),
		field.New("router_aux_loss_coef", &s.RouterAuxLossCoef, field.NonNegative(),
			"mlp moe*: factor on the loss that balances the experts; 0 is 0.01 in a new training, unless "+
				"router_bias_update_rate balances them").Optional(),
		field.New("router_bias_update_rate", &s.RouterBiasUpdateRate, field.Fraction(),
			"mlp moe*: rate of a bias that balances experts without a loss, such as 0.001; 0 is no bias").Optional(),
		field.New("swiglu_limit", &s.SwigluLimit, field.NonNegative(),
			"mlp moe_clamped: limit of the features of experts; 0 is 7").Optional(),
		NameField("scoring_func", &s.ScoringFunc, Names(scores()), "mlp moe*: probabilities of the experts").
			Optional(Names(scores())[0]),
	}
}

// Share returns the share of tokens that a parameter of that name multiplies: k/E in an expert, otherwise 1. Without a
// kernel, in mlp moe_clamped, experts multiply all tokens. s must be resolved.
func (s Stack) Share(parameter string) float64 {
	if s.MLP == mixture && s.NumExperts > 0 && strings.Contains(parameter, "mlp.experts.") {
		return float64(s.NumExpertsPerTok) / float64(s.NumExperts)
	}
	return 1
}
