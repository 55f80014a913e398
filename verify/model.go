package verify

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"

	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/nn"
	"github.com/pedestrian-ml/pedestrian/verify/hand"
	"github.com/pedestrian-ml/pedestrian/verify/internal/fixture"
	"github.com/pedestrian-ml/pedestrian/verify/internal/parts"
	"github.com/pkg/errors"
)

// Model is a decoder for Check to look at: a configuration, the numbers of its parameters, and a batch of text.
type Model struct {
	Config          gpt.Config
	Sum             bool // the loss is the sum over the targets, not their mean
	Parameters      hand.Parameters[float64]
	Tokens, Targets []int  // B·T each
	Seed, Step      uint64 // of the dropout
}

// NewModel fills the model that c describes with random numbers: nothing is left at 0 or 1, where a mistake could hide,
// words repeat within and across sequences, and one target in seven is ignored.
func NewModel(c gpt.Config, batch int, seed uint64) (Model, error) {
	m := Model{Config: c.Resolved(), Seed: seed, Step: 3}
	m.Tokens = make([]int, batch*c.BlockSize)
	b, err := m.build(kernels64)
	if err != nil {
		return Model{}, err
	}
	if m.Parameters, err = randomParameters(b.graph, seed); err != nil {
		return Model{}, err
	}
	rng := rand.New(rand.NewPCG(seed, 2))
	m.Tokens, m.Targets = m.Tokens[:0], nil
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

// randomParameters asks the library which parameters a model has.
func randomParameters(g *graph.Graph, seed uint64) (hand.Parameters[float64], error) {
	out := hand.Parameters[float64]{}
	for _, p := range g.Params() {
		name := p.Name()
		if _, twice := out[name]; twice {
			return nil, errors.Errorf("verify: %s is declared twice", name)
		}
		rows, cols := matrixShape(p.Tensor().Shape)
		m := fixture.Random(fmt.Sprint(seed, " ", name), rows, cols)
		if strings.Contains(name, "ln_") && strings.HasSuffix(name, ".weight") {
			m = m.Scale(0.5).Shift(1)
		}
		out[name] = m
	}
	return out, nil
}

// batch is B.
func (m Model) batch() int { return len(m.Tokens) / m.Config.BlockSize }

// Count is the number of parameters.
func (m Model) Count() (n int) {
	for _, p := range m.Parameters {
		n += len(p.Data)
	}
	return n
}

// subject is the model as Check sees it.
func (m Model) subject() subject {
	return subject{
		parameters: m.Parameters, text: hand.Text{Tokens: m.Tokens, Targets: m.Targets}, seed: m.Seed,
		build: m.build, plan: m.plan, position: m.position,
	}
}

func (m Model) build(f form) (*built, error) {
	g := f.graph(m.Seed, m.Step)
	model, err := gpt.New(g, m.Config, m.batch())
	if err != nil {
		return nil, err
	}
	b := &built{graph: g, loss: model.Loss, places: m.places(g)}
	if m.Sum {
		l := nn.NewCrossEntropy(g.Root().Sub("loss"))
		l.Sum = true
		b.loss = l.Forward(model.Logits, model.Targets)
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
	p.add("lm_head", "loss")
	if c.Block == "pre" {
		p.add("ln_f", "lm_head")
	}
	for i := range c.NLayer {
		h, next := fmt.Sprintf("h.%d", i), fmt.Sprintf("h.%d", i+1)
		if i == c.NLayer-1 {
			if next = "ln_f"; c.Block != "pre" {
				next = "lm_head"
			}
		}
		p.add(h, next)
		if c.Block == "elman" {
			continue
		}
		p.sublayers(h, !strings.HasPrefix(c.Attention, "mla") && c.Attention != "longformer")
		if c.Block == "post" {
			p.add(h+".attn", h+".mlp.c_fc")
		} else {
			p.add(h+".ln_2", h+".mlp.c_fc")
			p.add(h+".attn", h+".ln_2")
			p.add(h+".ln_1", h+".attn.c_attn")
		}
	}
	p.add("drop", "h.0")
	return p.found
}

// plan describes the model to the formulas. It reads the masks of dropout that the library will draw, so that the hand can
// use the same, and which keys chance has drawn.
func (m Model) plan(g *graph.Graph) (parts.Plan, error) {
	c := m.Config
	p := parts.Plan{
		Batch: m.batch(), Context: c.BlockSize, Layers: c.NLayer, Heads: c.NHead, QK: c.QKSize,
		Position: c.Position, Attention: c.Attention, Norm: c.Norm, Block: c.Block, Activation: c.Activation, Head: c.Head,
		Options: options(c), Eps: c.Eps, Theta: c.RopeTheta,
	}
	if m.Sum {
		p.Reduction = hand.Sum
	}
	if c.LoraR > 0 {
		if p.LoRAScale = c.LoraAlpha; c.LoraScale == "alpha/r" {
			p.LoRAScale /= float64(c.LoraR)
		}
	}
	if c.Dropout > 0 {
		p.Dropout = func(path string) hand.Matrix[float64] {
			rows, cols := m.batch()*c.BlockSize, c.NEmbd
			if strings.HasSuffix(path, "attn_dropout") {
				if rows, cols = m.batch()*c.NHead*c.BlockSize, c.BlockSize; c.Attention == "longformer" {
					cols *= 2 // a window's key and a global one of every token
				}
			}
			return hand.NewMatrix(rows, cols, g.DropoutMask(path, c.Dropout, rows*cols)...)
		}
	}
	if c.Attention == "bigbird" {
		return p, drawn(g, &p)
	}
	return p, nil
}

func options(c gpt.Config) map[string]int {
	return map[string]int{
		"window": c.Window, "dilation": c.Dilation, "global_tokens": c.GlobalTokens, "random_keys": c.RandomKeys,
	}
}

// drawn reads which keys chance has drawn for the queries.
func drawn(g *graph.Graph, p *parts.Plan) error {
	x, ok := g.Leaf("visible.mask")
	if !ok {
		return errors.New("verify: the model has no visible.mask in which chance could have drawn keys")
	}
	var candidates []int
	p.Random, candidates = p.Drawn(x.Tensor().Floats(), func(x float64) bool { return !math.IsInf(x, -1) })
	for i, keys := range p.Random {
		if want := min(p.Options["random_keys"], candidates[i]); len(keys) != want || want > 0 && keys[want-1] > i {
			return errors.Errorf("verify: chance has drawn the keys %v for query %d, want %d of those before it", keys, i, want)
		}
	}
	return nil
}

// position says where in an activation of the model a difference is: sequence, token, and head where it has one.
func (m Model) position(name string, d Difference) string {
	c := m.Config
	where := fmt.Sprintf("feature %d", d.Col)
	switch {
	case strings.HasSuffix(name, ".attn.heads"):
		where = fmt.Sprintf("head %d, feature %d", d.Col/c.VSize, d.Col%c.VSize)
	case strings.HasSuffix(name, ".attn.c_attn"):
		qk := c.NHead * c.QKSize
		switch block := min(d.Col/qk, 2); block {
		case 2:
			where = fmt.Sprintf("values, head %d, feature %d", (d.Col-2*qk)/c.VSize, (d.Col-2*qk)%c.VSize)
		default:
			where = fmt.Sprintf("%s, head %d, feature %d", []string{"queries", "keys"}[block], d.Col%qk/c.QKSize, d.Col%c.QKSize)
		}
	}
	return fmt.Sprintf("sequence %d, token %d, %s", d.Row/c.BlockSize, d.Row%c.BlockSize, where)
}
