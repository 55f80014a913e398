package parts

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/pedestrian-ml/pedestrian/gpt/internal/field"
	"github.com/pedestrian-ml/pedestrian/internal/spelling"
	"github.com/pkg/errors"
)

// Scaling names a parametrization, and describes the base model, for which the learning rate was chosen. The sizes that
// Scaling lacks, such as n_inner, are in proportion to the width.
type Scaling struct {
	Parametrization string // by default "standard"
	BaseWidth       int    // n_embd of the base model
	BaseDepth       int    // its n_layer; 0 means that the number of blocks changes nothing
	BaseHead        int    // its n_head; by default the model's, so that heads grow with the width
	Multipliers
}

// Multipliers holds constant factors of published models, with the names of Granite (IBM 2024). 0 means the default.
type Multipliers struct {
	EmbeddingMultiplier float64 // on the embeddings of tokens; by default 1, in Gemma √d
	AttentionMultiplier float64 // on the scores q·k; by default 1/√dρ
	ResidualMultiplier  float64 // on the results of attention and MLP, before the residual stream; by default 1
	LogitsScaling       float64 // divisor of the logits; by default 1
}

// parametrization is a rule by which constants of a network and of its training change with its size.
type parametrization struct {
	Name
	check   func(c Scaling, s Stack) error
	factors func(c Scaling, s Stack) Factors
}

// parametrizations lists the library's parametrizations, the default first.
func parametrizations() []parametrization { return []parametrization{standard(), mup()} }

// Factors holds the constants in which a network differs from a standard one. A hidden matrix is one that a layer of a
// block builds by nn.Site.Affine, without its adapters.
type Factors struct {
	Hidden  float64 // factor on the initial values of hidden matrices
	Tokens  float64 // factor on the embeddings of tokens
	Head    float64 // factor on the input of the head
	Logits  float64 // factor on the logits
	Queries float64 // factor on all queries, and so on all scores
	Branch  float64 // factor on the results of attention and MLP before they enter the residual stream
	Blocks  int     // n_layer of the network whose residual stream has the same initial scale

	HiddenRate float64 // factor on the learning rate of hidden matrices
	BlockRate  float64 // factor on the learning rate of the other parameters of a block, except adapters

	Optimizers []string // for which the factors on the rates are right; nil means all
}

// standard is the parametrization without factors.
func standard() parametrization {
	return parametrization{
		Name: "standard",
		factors: func(_ Scaling, s Stack) Factors {
			return Factors{
				Hidden: 1, Tokens: 1, Head: 1, Logits: 1, Queries: 1, Branch: 1, Blocks: s.NLayer, HiddenRate: 1,
				BlockRate: 1,
			}
		},
		check: func(c Scaling, _ Stack) error {
			for _, f := range c.sizes() {
				if got := f.String(); got != "0" {
					return errors.Errorf("%s: got %s, want 0 with parametrization standard, which has no base model",
						f.Name, got)
				}
			}
			return nil
		},
	}
}

// NewFactors returns the constants for a stack, which must be resolved. If c names no parametrization or does not fit
// the stack, the error names the field, and the constants are a standard network's.
func NewFactors(c Scaling, s Stack) (Factors, error) {
	p := Find(parametrizations(), cmp.Or(c.Parametrization, string(standard().Name)))
	if p.check == nil {
		names := Names(parametrizations())
		return standard().factors(c, s), errors.Errorf("parametrization: got %s, want one of %s%s",
			field.Clip(c.Parametrization), strings.Join(names, ", "), spelling.Hint(c.Parametrization, names))
	}
	if err := p.check(c, s); err != nil {
		return standard().factors(c, s), err
	}
	if err := c.Multipliers.check(string(p.Name), s); err != nil {
		return standard().factors(c, s), err
	}
	return c.Multipliers.on(p.factors(c, s), s), nil
}

// on returns f with the multipliers.
func (m Multipliers) on(f Factors, s Stack) Factors {
	f.Tokens *= cmp.Or(m.EmbeddingMultiplier, 1)
	f.Branch *= cmp.Or(m.ResidualMultiplier, 1)
	f.Logits /= cmp.Or(m.LogitsScaling, 1)
	if m.AttentionMultiplier != 0 {
		f.Queries *= m.AttentionMultiplier * math.Sqrt(float64(s.QKSize))
	}
	return f
}

// check returns an error for multipliers of a network in which they would be undone or not be read.
func (m Multipliers) check(parametrization string, s Stack) error {
	for _, f := range m.fields() {
		if err := f.Check(); err != nil {
			return err
		}
		if f.String() != "0" && parametrization != string(standard().Name) {
			return errors.Errorf("%s: got %s, want 0 with parametrization %s, which has factors of its own",
				f.Name, f, parametrization)
		}
	}
	switch a, r := m.AttentionMultiplier, m.ResidualMultiplier; {
	case r != 0 && slices.Contains([]string{"sandwich", "post_part", "elman"}, s.Block):
		return errors.Errorf("residual_multiplier: got %v, want 0 with block %s, which has no results to scale, or a "+
			"norm after them", r, s.Block)
	case a == 0:
		return nil
	case s.Block == "elman":
		return errors.Errorf("attention_multiplier: got %v, want 0 with block elman, which has no attention", a)
	case s.optional("qk_norm") != "":
		return errors.Errorf("attention_multiplier: got %v, want 0 with qk_norm %s, which undoes it", a,
			s.optional("qk_norm"))
	}
	if other := s.otherProducts(); other != "" {
		return errors.Errorf("attention_multiplier: got %v, want 0 with attention %s, not one of %s",
			m.AttentionMultiplier, other, strings.Join(productsOfQueries(), ", "))
	}
	return nil
}

func (m *Multipliers) fields() field.List {
	return field.List{
		field.New("embedding_multiplier", &m.EmbeddingMultiplier, field.NonNegative(),
			"factor on the embeddings of tokens; 0 is 1").Optional(),
		field.New("attention_multiplier", &m.AttentionMultiplier, field.NonNegative(),
			"factor on the products of queries and keys; 0 is 1/√qk_size").Optional(),
		field.New("residual_multiplier", &m.ResidualMultiplier, field.NonNegative(),
			"factor on the results of attention and MLP in a block; 0 is 1").Optional(),
		field.New("logits_scaling", &m.LogitsScaling, field.NonNegative(), "divisor of the logits; 0 is 1").Optional(),
	}
}

// ScalingFields returns the fields of c, which the JSON leaves out while they have their defaults.
func (c *Scaling) ScalingFields() field.List {
	if c == nil {
		return nil
	}
	names := Names(parametrizations())
	name := NameField("parametrization", &c.Parametrization, names,
		"how initial values, factors and learning rates change with the size").Optional(names[0])
	return slices.Concat(field.List{name}, c.sizes(), c.Multipliers.fields()).Topic("scaling")
}

func (c *Scaling) sizes() field.List {
	return field.List{
		field.New("base_width", &c.BaseWidth, field.Size(0),
			"mup: n_embd of the base model, for which the learning rate was chosen").Optional(),
		field.New("base_depth", &c.BaseDepth, field.Size(0),
			"mup: n_layer of the base model; 0 is scaling by the width alone").Optional(),
		field.New("base_head", &c.BaseHead, field.Size(0), "mup: n_head of the base model; 0 is n_head").Optional(),
	}
}
