package parts

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/pkg/errors"
)

// mup is the maximal update parametrization (Yang et al., Tensor Programs V, arXiv 2203.03466): the best learning rate
// of the base model, of width d₀, is a wider model's, too. With m = d/d₀, and η and σ of the base model,
//
//	                   initial deviation  rate of Adam  factor          (table 8)
//	hidden matrices    σ/√m               η/m           1
//	head               σ                  η             1/m, on its input; a tied head, too
//	embeddings         σ                  η             1
//	gains and biases   σ                  η             1
//
// and the scores are √dρ₀·q·kᵀ/dρ instead of q·kᵀ/√dρ (definition 4.1), for the size dρ₀ of the base model's heads.
// Lion's updates are, like Adam's, of a size that does not depend on the gradient's, so its table is the same. SGD's is
// another.
//
// With base_depth, L₀, the depth L is scaled as well (Tensor Programs VI, arXiv 2310.02244): the results of attention
// and MLP are multiplied by √(L₀/L), and so is Adam's rate of all parameters of the blocks. The initial values of the
// matrices that write to the residual stream are then those for L₀ blocks.
//
// The rows follow table 8, of which table 3 is another form for a head that is not tied. The width is there the fan-in
// of every hidden matrix, so an inner width, a qk_size or a v_size that is given must grow with it, as the default ones
// do. Definition 4.1 has q·kᵀ/dρ; the constant √dρ₀ makes the base model the standard one. Tensor Programs VI derives
// its factors for branches of a single matrix. It shows that no such parametrization is perfect for the branches of a
// transformer, which have more, so that rates transfer less well over depth than over width.
//
// Weight decay is the base model's: every matrix shrinks by ηλ in a step, whatever the factor on its rate. Adam's ε,
// the norm at which gradients are clipped, and adapters do not change. The gradient of a hidden matrix shrinks with the
// width, so an ε of its size would slow wide models down; the usual 1e-8 is far smaller.
func mup() parametrization {
	return parametrization{Name: "mup", check: checkMup, factors: mupFactors}
}

func mupFactors(c Scaling, s Stack) Factors {
	m := float64(s.NEmbd) / float64(c.BaseWidth)
	heads := float64(s.NHead) / float64(cmp.Or(c.BaseHead, s.NHead)) // H/H₀, so that dρ/dρ₀ = m/heads
	f := Factors{
		Hidden: 1 / math.Sqrt(m), Tokens: 1, Head: 1 / m, Logits: 1, Queries: math.Sqrt(heads / m), Branch: 1,
		Blocks: s.NLayer, HiddenRate: 1 / m, BlockRate: 1, Optimizers: []string{"adamw", "lion"},
	}
	if c.BaseDepth > 0 {
		f.Branch = math.Sqrt(float64(c.BaseDepth) / float64(s.NLayer))
		f.Blocks, f.BlockRate, f.HiddenRate = c.BaseDepth, f.Branch, f.HiddenRate*f.Branch
	}
	return f
}

// checkMup refuses parts whose products the table does not describe. The attentions that it accepts multiply queries by
// keys, both from one projection. A user-defined attention must do so, too, or scale its scores itself.
func checkMup(c Scaling, s Stack) error {
	const want = "want %s with parametrization mup"
	switch {
	case c.BaseWidth == 0:
		return errors.New("base_width: got 0, want n_embd of the base model with parametrization mup")
	case s.Block == "elman":
		return errors.Errorf("block: got %s, "+want, s.Block, "another")
	case c.BaseDepth > 0 && slices.Contains([]string{"post", "sandwich", "post_part"}, s.Block):
		return errors.Errorf("base_depth: got %d, want 0 with block %s, whose norms undo a factor on the branches",
			c.BaseDepth, s.Block)
	case s.optional("qk_norm") != "":
		return errors.Errorf("qk_norm: got %s, "+want+", whose norm undoes a factor on them", s.optional("qk_norm"),
			noPart)
	case s.mixes():
		return errors.Errorf("mlp: got %s, "+want+", whose table has no row for a router", s.MLP, "another")
	case s.otherProducts() != "":
		return errors.Errorf("attention: got %s, "+want, s.otherProducts(), strings.Join(productsOfQueries(), ", "))
	}
	return nil
}

// otherProducts returns the first attention of s that is the library's and not one of productsOfQueries, or "".
func (s Stack) otherProducts() string {
	for _, name := range s.Attentions() {
		if slices.Contains(Names(Attentions()), name) && !slices.Contains(productsOfQueries(), name) {
			return name
		}
	}
	return ""
}

// productsOfQueries returns the attentions whose scores are products of queries and keys from one projection.
func productsOfQueries() []string {
	return []string{
		"causal", "sigmoid", "gqa", "gqa_bias", "gqa_window", "window", "alternating", "alternating_proj_bias",
		"dilated", "bigbird",
	}
}
