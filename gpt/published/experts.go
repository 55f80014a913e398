package published

import (
	"slices"
	"strings"

	"github.com/pedestrian-ml/pedestrian/gpt/internal/field"
	"github.com/pedestrian-ml/pedestrian/gpt/parts"
)

// expertRows returns the keys that families with experts share, given the default of router_aux_loss_coef.
func expertRows(balance float64) []row {
	return []row{
		fixed("output_router_logits", false).byLink(),
		number("router_aux_loss_coef", balance, field.NonNegative()).byLink(),
	}
}

// expertMLPs returns Hugging Face's names of the activation of experts.
func expertMLPs([]parts.Activation) []name { return []name{{"silu", "moe"}, {"swish", "moe"}} }

// ofExperts returns rows with mixtures of experts for gated MLPs.
func ofExperts(rows []row) []row {
	i := slices.IndexFunc(rows, func(r row) bool { return r.key == "hidden_act" })
	rows[i].names = expertMLPs
	return rows
}

// balanced translates the loss that balances experts, which counts only if output_router_logits is set.
func balanced() link {
	const factor, counts = "router_aux_loss_coef", "output_router_logits"
	return link{
		read: func(file, network field.List) error {
			if shown(file, counts) != "true" {
				return nil
			}
			return parse(network, factor, shown(file, factor))
		},
		write: func(file, network field.List) error {
			value := shown(network, factor)
			if value == "0" {
				return nil
			}
			if err := parse(file, counts, "true"); err != nil {
				return err
			}
			return parse(file, factor, value)
		},
	}
}

// experts replaces the tensor names of the MLP by the names of the router and the experts, which are in a module of
// each block.
func (n names) experts(module, gate, up, down string) names {
	n.rules = slices.DeleteFunc(n.rules, func(r rule) bool { return strings.Contains(r.ours, ".mlp.") })
	ours, theirs := "h.#.mlp.", "layers.#."+module+"."
	n.rules = append(n.rules,
		matrix(ours+"router.weight", theirs+"gate.weight"),
		matrix(ours+"experts.@.c_gate.weight", theirs+"experts.@."+gate+".weight"),
		matrix(ours+"experts.@.c_fc.weight", theirs+"experts.@."+up+".weight"),
		matrix(ours+"experts.@.c_proj.weight", theirs+"experts.@."+down+".weight"))
	return n
}
