package parts

import "github.com/pedestrian-ml/pedestrian/graph"

// Initialization says how the matrices start that write to the residual stream, c_proj of attention and MLP.
type Initialization struct {
	Name
	residual graph.Init // nil is N(0, 0.02²/2L), as in GPT-2
}

// scaledProj is the name of the default.
const scaledProj = "scaled_proj"

// Initializations lists them, the default first. With zero_proj, c_proj starts at 0, so that every pre-norm block
// starts as the identity, as in modded-nanogpt (Jordan et al. 2024).
func Initializations() []Initialization {
	return []Initialization{{scaledProj, nil}, {"zero_proj", graph.Const(0)}}
}
