package verify

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/parts"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/nn"
	"github.com/pedestrian-ml/pedestrian/nn/causal"
	"github.com/pedestrian-ml/pedestrian/verify/hand"
	"github.com/pedestrian-ml/pedestrian/verify/internal/variants"
	"github.com/pkg/errors"
)

// Model is a decoder for Check: a configuration, the values of its parameters, and a batch of text.
type Model struct {
	Config          gpt.Config
	Sum             bool // the loss is the sum over the targets, not the mean
	Parameters      hand.Parameters[float64]
	Tokens, Targets []int  // B·T each
	Seed, Step      uint64 // of the dropout
}

// NewModel fills the model of configuration c with random numbers. No number stays at 0 or 1, which could hide a
// mistake. Words repeat within and across sequences, and one target in seven is ignored.
func NewModel(c gpt.Config, batch int, seed uint64) (Model, error) {
	if batch < 1 {
		return Model{}, errors.Errorf("verify: batch: got %d, want ≥ 1", batch)
	}
	m := Model{Config: c.Resolved(), Seed: seed, Step: 3}
	model, err := gpt.New(kernels64.graph(seed, m.Step), c, batch)
	if err != nil {
		return Model{}, err
	}
	if m.Parameters, err = randomParameters(model.Graph, seed); err != nil {
		return Model{}, err
	}
	rng := rand.New(rand.NewPCG(seed, 2))
	for i := range batch * c.BlockSize {
		m.Tokens = append(m.Tokens, rng.IntN(c.VocabSize))
		target := rng.IntN(c.VocabSize)
		if i%7 == 3 {
			target = hand.Ignore
		}
		m.Targets = append(m.Targets, target)
	}
	return m, nil
}

// batch returns B.
func (m Model) batch() int { return len(m.Tokens) / m.Config.BlockSize }

// Count returns the number of parameters.
func (m Model) Count() (n int) {
	for _, p := range m.Parameters {
		n += len(p.Data)
	}
	return n
}

// subject returns the model in the form that Check uses.
func (m Model) subject() (subject, error) {
	if err := m.Config.ValidateModel(); err != nil {
		return subject{}, errors.Wrap(err, "verify: Model.Config")
	}
	m.Config = m.Config.Resolved()
	n := len(m.Tokens)
	switch {
	case n == 0 || n%m.Config.BlockSize != 0:
		return subject{}, errors.Errorf("verify: Model.Tokens: got %d, want a multiple of block_size, %d",
			n, m.Config.BlockSize)
	case len(m.Targets) != n:
		return subject{}, errors.Errorf("verify: Model.Targets: got %d, want as many as Tokens, %d", len(m.Targets), n)
	case len(m.Parameters) == 0:
		return subject{}, errors.New(
			"verify: Model.Parameters: got none, want the parameters of NewModel or ParametersOf")
	}
	return subject{
		parameters: m.Parameters, text: hand.Text{Tokens: m.Tokens, Targets: m.Targets},
		seed: m.Seed, precision: m.Config.Precision,
		build: m.build, plan: m.plan, position: m.position,
	}, nil
}

func (m Model) build(f form) (*built, error) { return f.built(m.Seed, m.Step, m.in) }

// in builds the model in a graph.
func (m Model) in(g *graph.Graph) (*built, error) {
	model, err := gpt.New(g, m.Config, m.batch())
	if err != nil {
		return nil, err
	}
	b := &built{graph: g, loss: model.Objective, places: m.places(g)}
	if m.Sum {
		l := nn.NewMultiToken(g.Root().Sub("loss"), m.Config.BlockSize)
		l.Sum, l.Smoothing, l.ZLoss = true, m.Config.LabelSmoothing, m.Config.ZLoss
		b.loss = l.Forward(append([]graph.Expr{model.Logits}, model.Future...), model.Targets)
	}
	b.sight = &causal.Model{
		Input: model.Tokens, Output: model.Logits, Batch: m.batch(), Vocabulary: m.Config.VocabSize,
		Bidirectional: m.Config.Parts.Bidirectional,
	}
	b.feed = func() error {
		copy(model.Tokens.Ints(), m.Tokens)
		copy(model.Targets.Ints(), m.Targets)
		return nil
	}
	return b, g.Err()
}

func (m Model) places(g *graph.Graph) map[string]graph.Expr {
	c, p := m.Config, places{g, map[string]graph.Expr{}}
	if c.LogitCap > 0 {
		p.add("lm_head", "logit_cap")
		p.add("logit_cap", "loss")
	} else {
		p.add("lm_head", "loss")
	}
	final := parts.Find(parts.Blocks(), c.Block).Final
	if final {
		p.add("ln_f", "lm_head")
	}
	for i := range c.NLayer + c.FutureTokens - 1 {
		h, next := fmt.Sprintf("h.%d", i), fmt.Sprintf("h.%d", i+1)
		if i == c.NLayer-1 {
			if next = "ln_f"; !final {
				next = "lm_head"
			}
		}
		if i < c.NLayer {
			p.add(h, next)
		} else {
			p.leaving(h)
		}
		if c.Block == "elman" {
			continue
		}
		attention := c.AttentionOf(min(i, c.NLayer-1))
		p.sublayers(h, !strings.HasPrefix(attention, "mla") && attention != "longformer")
		for name, next := range aroundSublayers(c.Block) {
			p.add(h+"."+name, h+"."+next)
		}
	}
	p.add("drop", "h.0")
	return p.found
}

// aroundSublayers returns the norms and sublayers of a block, each with the part that its output enters.
func aroundSublayers(block string) map[string]string {
	switch block {
	case "post":
		return map[string]string{"ln_1": "mlp.c_fc"}
	case "sandwich":
		return map[string]string{
			"ln_1": "attn.c_attn", "attn": "ln_1_post", "ln_1_post": "ln_2", "ln_2": "mlp.c_fc", "mlp": "ln_2_post",
		}
	case "post_part":
		return map[string]string{"attn": "ln_1", "ln_1": "mlp.c_fc", "mlp": "ln_2"}
	case "parallel", "parallel_two":
		return map[string]string{"ln_1": "attn.c_attn", "ln_2": "mlp.c_fc"}
	}
	return map[string]string{"ln_1": "attn.c_attn", "attn": "ln_2", "ln_2": "mlp.c_fc"}
}

// plan describes the model to the formulas. It reads the dropout masks that the library will draw and the keys that it
// has drawn at random, so that the formulas use the same ones.
func (m Model) plan(g *graph.Graph) (variants.Plan, error) {
	c := m.Config
	p := stackPlan(c.Stack, c.Parts)
	p.Batch, p.Context, p.Attention, p.Head, p.LogitCap = m.batch(), c.BlockSize, c.Attention, c.Head, c.LogitCap
	p.Smoothing, p.ZLoss, p.Future = c.LabelSmoothing, c.ZLoss, c.FutureTokens-1
	if m.Sum {
		p.Reduction, p.Experts.Balance = hand.Sum, 0
	}
	if c.Parametrization == "mup" {
		width := float64(c.BaseWidth) / float64(c.NEmbd)
		heads := float64(c.NHead) / float64(cmp.Or(c.BaseHead, c.NHead))
		p.HeadInput, p.Queries = width, math.Sqrt(width*heads) // √(dρ₀/dρ)
		if c.BaseDepth > 0 {
			p.Branch = math.Sqrt(float64(c.BaseDepth) / float64(c.NLayer))
		}
	}
	p.Embeddings, p.Branch = c.EmbeddingMultiplier, cmp.Or(p.Branch, c.ResidualMultiplier)
	if c.AttentionMultiplier != 0 {
		p.Queries = c.AttentionMultiplier * math.Sqrt(float64(c.QKSize))
	}
	if c.LogitsScaling != 0 {
		p.Logits = 1 / c.LogitsScaling
	}
	if c.LoraR > 0 {
		switch p.LoRAScale = c.LoraAlpha; c.LoraScale {
		case "alpha/r":
			p.LoRAScale /= float64(c.LoraR)
		case "alpha/sqrt(r)":
			p.LoRAScale /= math.Sqrt(float64(c.LoraR))
		}
	}
	if c.Dropout > 0 {
		p.Dropout = remembered(func(path string) hand.Matrix[float64] {
			rows, cols := m.batch()*c.BlockSize, c.NEmbd
			if strings.HasSuffix(path, "attn_dropout") {
				if rows, cols = m.batch()*c.NHead*c.BlockSize, c.BlockSize; m.attentionAt(path) == "longformer" {
					cols *= 2 // a key of the window and a global one for every token
				}
			}
			return hand.NewMatrix(rows, cols, g.DropoutMask(path, c.Dropout, rows*cols)...)
		})
	}
	if of := c.Attentions(); slices.Contains(of, "bigbird") {
		mask := "visible.mask"
		if len(of) > 1 {
			mask = "bigbird." + mask
		}
		return p, drawn(g, mask, &p)
	}
	return p, nil
}

// stackPlan describes a stack of blocks to the formulas, but for its batch and attention.
func stackPlan(s parts.Stack, own parts.Registry) variants.Plan {
	x := s.Experts
	p := variants.Plan{
		Layers: s.NLayer, Heads: s.NHead, QK: s.QKSize, Position: s.Position, Norm: s.Norm, Block: s.Block,
		Activation: s.Activation, MLP: s.MLP, With: s.Computed(own.WithLibrary().Kinds),
		Option: s.Options.Get, Eps: s.Eps, Theta: s.Rope.Theta, ThetaNear: s.Rope.LocalBaseFreq,
		NoRope:    s.Rope.NoRopeLayerInterval,
		RotaryDim: int(math.Round(s.Rope.PartialRotaryFactor * float64(s.QKSize))),
		Cap:       s.Sublayers.AttnLogitSoftcapping,
		Experts: variants.Experts{
			Count: x.NumExperts, Active: x.NumExpertsPerTok, Shared: x.NSharedExperts,
			Sigmoid: x.ScoringFunc == "sigmoid", Norm: x.NormTopKProb, Balance: x.RouterAuxLossCoef,
			Biased: x.RouterBiasUpdateRate > 0, Limit: x.SwigluLimit,
		},
	}
	p.Scaling, p.Divisors = rotaryScaling(s.Rope), divisors(s.Rope.LongFactor)
	return p
}

// attentionAt returns the attention of the block that contains a path.
func (m Model) attentionAt(path string) string {
	block := 0
	fmt.Sscanf(path, "h.%d.", &block) //nolint:errcheck // other paths are in no block
	return m.Config.AttentionOf(min(block, m.Config.NLayer-1))
}

// drawn reads the keys that were drawn at random for the queries from the named mask.
func drawn(g *graph.Graph, mask string, p *variants.Plan) error {
	x, ok := g.Leaf(mask)
	if !ok {
		return errors.Errorf("verify: the model has no %s, from which to read the random keys", mask)
	}
	var candidates []int
	p.Random, candidates = p.Drawn(x.Tensor().Floats(), func(x float64) bool { return !math.IsInf(x, -1) })
	for i, keys := range p.Random {
		if want := min(p.Option("random_keys"), candidates[i]); len(keys) != want || want > 0 && keys[want-1] > i {
			return errors.Errorf("verify: query %d has the random keys %v, want %d keys that do not follow it",
				i, keys, want)
		}
	}
	return nil
}

// position describes where a difference is in an activation of the model: sequence, token, and head if it has one.
func (m Model) position(name string, d Difference) string {
	c := m.Config
	where := fmt.Sprintf("feature %d", d.Col)
	switch {
	case strings.HasSuffix(name, ".attn.heads"):
		where = fmt.Sprintf("head %d, feature %d", d.Col/c.VSize, d.Col%c.VSize)
	case strings.HasSuffix(name, ".attn.c_attn"):
		what, col, size := "queries", d.Col, c.QKSize
		if q := c.NHead * c.QKSize; col >= q {
			what, col = "keys", col-q
			groups := c.NHead
			if strings.HasPrefix(m.attentionAt(name), "gqa") {
				groups = cmp.Or(c.Options.Get("n_kv_head"), c.NHead)
			}
			if k := groups * c.QKSize; col >= k {
				what, col, size = "values", col-k, c.VSize
			}
		}
		where = fmt.Sprintf("%s, head %d, feature %d", what, col/size, col%size)
	}
	return fmt.Sprintf("sequence %d, token %d, %s", d.Row/c.BlockSize, d.Row%c.BlockSize, where)
}

// rotaryScaling returns the scaling of rotary positions by hand.
func rotaryScaling(r parts.Rope) hand.RotaryScaling {
	if r.Scaling == "none" {
		return hand.RotaryScaling{}
	}
	scaling := hand.RotaryScaling{
		Kind: r.Scaling, Factor: r.Factor, Original: float64(r.Original), Fast: r.BetaFast,
		Slow: r.BetaSlow, Scale: r.AttentionFactor, Unrounded: r.Unrounded,
		Divisors: divisors(r.ShortFactor),
	}
	if r.Scaling == "longrope" && scaling.Scale == 0 {
		scaling.Scale = 1
		if r.Factor > 1 {
			scaling.Scale = math.Sqrt(1 + math.Log(r.Factor)/math.Log(float64(r.Original)))
		}
	}
	return scaling
}

// divisors returns the numbers of a list with commas between them.
func divisors(list string) (numbers []float64) {
	for _, text := range strings.FieldsFunc(list, func(r rune) bool { return r == ',' }) {
		x, _ := strconv.ParseFloat(text, 64) // a valid stack has numbers
		numbers = append(numbers, x)
	}
	return numbers
}
