package verify

import (
	"math"
	"strings"

	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/nn"
	"github.com/pkg/errors"
)

// form is one way in which the library computes a model.
type form struct {
	name    string
	wide    bool // float64
	kernels bool
}

// The forms that are held against the formulas.
var (
	spelled   = form{"autodiff", true, false}
	kernels64 = form{"kernels", true, true}
	kernels32 = form{"float32", false, true}
)

func forms() []form { return []form{spelled, kernels64, kernels32} }

func (f form) graph(seed, step uint64) *graph.Graph {
	dtype := graph.Float32
	if f.wide {
		dtype = graph.Float64
	}
	g := graph.New(dtype, seed)
	g.Kernels = f.kernels
	g.SetStep(step)
	return g
}

// built is a model in one form.
type built struct {
	model *gpt.Model
	loss  graph.Expr
}

func build(m Model, batch int, f form) (*built, error) {
	g := f.graph(m.Seed, m.Step)
	model, err := gpt.New(g, m.Config, batch)
	if err != nil {
		return nil, err
	}
	b := &built{model: model, loss: model.Loss}
	if m.Reduction == Sum {
		l := nn.NewCrossEntropy(g.Root().Sub("loss"))
		l.Sum = true
		b.loss = l.Forward(model.Logits, model.Targets)
	}
	return b, g.Err()
}

// answers are the loss, the gradients and the Δ that a form computes.
type answers struct {
	form   form
	loss   float64
	grads  Parameters[float64]
	deltas map[string]Matrix[float64] // by the hand's names
}

// run computes with the model's numbers.
func (b *built) run(m Model) (*answers, error) {
	copy(b.model.Tokens.Ints(), m.Tokens)
	copy(b.model.Targets.Ints(), m.Targets)
	wrt := b.model.Params()
	for _, p := range wrt {
		if err := set(p, m.Parameters); err != nil {
			return nil, err
		}
	}
	if len(wrt) != len(m.Parameters) {
		return nil, errors.Wrapf(ErrCoverage, "the model has %d parameters, %d are given", len(wrt), len(m.Parameters))
	}
	places := b.places(m.Config)
	for _, x := range places {
		wrt = append(wrt, x)
	}
	p, err := graph.Compile(b.loss, wrt...)
	if err != nil {
		return nil, err
	}
	if err := p.Run(); err != nil {
		return nil, err
	}
	a := &answers{loss: p.Loss(), grads: Parameters[float64]{}, deltas: map[string]Matrix[float64]{}}
	for _, x := range b.model.Params() {
		a.grads[x.Name()] = FromTensor(p.Grad(x))
	}
	for name, x := range places {
		a.deltas[name] = FromTensor(p.Grad(x))
	}
	return a, nil
}

func set(p graph.Expr, from Parameters[float64]) error {
	t, m := p.Tensor(), from[p.Name()]
	if rows, cols := matrixShape(t.Shape); m.Rows != rows || m.Cols != cols {
		return errors.Wrapf(ErrCoverage, "%s: (%d, %d) in the model, (%d, %d) given", p.Name(), rows, cols, m.Rows, m.Cols)
	}
	for i, v := range m.Data {
		t.Set(i, v)
	}
	return nil
}

// FromTensor copies a tensor of the library; vectors become rows (1, d).
func FromTensor(t graph.Tensor) Matrix[float64] {
	if t.Len() == 0 {
		return Matrix[float64]{}
	}
	rows, cols := matrixShape(t.Shape)
	return NewMatrix(rows, cols, t.Floats()...)
}

// places are the activations whose Δ both sides know: what the hand calls the Δ at the output of one part is the gradient
// of what enters the next.
func (b *built) places(c gpt.Config) map[string]graph.Expr {
	out := map[string]graph.Expr{}
	add := func(name, next string) {
		if x, ok := b.model.Graph.Entering(next); ok {
			out[name] = x
		}
	}
	add("lm_head", "loss")
	add("ln_f", "lm_head")
	for i := range c.NLayer {
		h, next := blockName(i), blockName(i+1)
		if i == c.NLayer-1 {
			if next = "ln_f"; c.Block != "pre" {
				next = "lm_head"
			}
		}
		add(h, next)
		if c.Block == "elman" {
			continue
		}
		add(h+".mlp.act", h+".mlp.c_proj")
		add(h+".mlp.c_fc", h+".mlp")
		add(h+".attn.heads", h+".attn.c_proj")
		if !strings.HasPrefix(c.Attention, "mla") && c.Attention != "longformer" { // else queries, keys and values come by ways of their own
			add(h+".attn.c_attn", h+".attn")
		}
		if c.Block == "post" {
			add(h+".attn", h+".mlp.c_fc")
		} else {
			add(h+".ln_2", h+".mlp.c_fc")
			add(h+".attn", h+".ln_2")
			add(h+".ln_1", h+".attn.c_attn")
		}
	}
	add("drop", "h.0")
	return out
}

// dropout reads the masks that the library will draw, so that the hand can use the same.
func (b *built) dropout(m Model) func(site string) Matrix[float64] {
	c := m.Config
	if c.Dropout == 0 {
		return nil
	}
	return func(site string) Matrix[float64] {
		rows, cols := m.batch()*c.BlockSize, c.NEmbd
		if strings.HasSuffix(site, "attn_dropout") {
			if rows, cols = m.batch()*c.NHead*c.BlockSize, c.BlockSize; c.Attention == "longformer" {
				cols *= 2 // a window's key and a global one of every token
			}
		}
		return NewMatrix(rows, cols, b.model.Graph.DropoutMask(site, c.Dropout, rows*cols)...)
	}
}

// draw reads which keys chance has drawn, and nothing else: the rest of the mask is the hand's own.
func (b *built) draw(m Model, h *GPT) error {
	c := m.Config
	if c.Attention != "bigbird" {
		return nil
	}
	x, ok := b.model.Graph.Leaf("visible.mask")
	if !ok {
		return errors.New("verify: the model has no visible.mask in which chance could have drawn keys")
	}
	n, global := c.BlockSize, firstTokens(c)
	width := 2*c.Options.Get("window") - 1
	plain, causal := BigBirdMask(n, width, global, make([][]int, n)), CausalMask(n)
	keys, candidates := make([][]int, n), make([]int, n)
	for i, v := range x.Tensor().Floats()[:n*n] {
		if plain.Data[i] == 0 {
			continue
		}
		if causal.Data[i] == 0 {
			candidates[i/n]++
		}
		if !math.IsInf(v, -1) {
			keys[i/n] = append(keys[i/n], i%n)
		}
	}
	for i, drawn := range keys {
		if want := min(c.Options.Get("random_keys"), candidates[i]); len(drawn) != want || want > 0 && drawn[want-1] > i {
			return errors.Errorf("verify: chance has drawn the keys %v for query %d, want %d of those before it", drawn, i, want)
		}
	}
	mask := BigBirdMask(n, width, global, keys).Add(causal)
	h.Mask = func(_, _, head int) Matrix[float64] {
		if c.Position == "alibi" {
			return mask.Add(ALiBiMask(n, head+1, c.NHead))
		}
		return mask
	}
	return nil
}
