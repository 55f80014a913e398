package verify

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/pedestrian-ml/pedestrian/gpt/seq2seq"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/verify/hand"
	"github.com/pedestrian-ml/pedestrian/verify/internal/variants"
	"github.com/pkg/errors"
)

// Pairs is an encoder–decoder for Check: a configuration, the values of its parameters, and a batch of pairs.
type Pairs struct {
	Config     seq2seq.Config
	Parameters hand.Parameters[float64]
	Pairs      []seq2seq.Pair
	Seed, Step uint64 // of the dropout
}

// NewPairs fills the model of configuration c with random numbers, none of them 0 or 1. The first pair has the largest
// lengths, the others have random lengths.
func NewPairs(c seq2seq.Config, batch int, seed uint64) (Pairs, error) {
	if batch < 1 {
		return Pairs{}, errors.Errorf("verify: batch: got %d, want ≥ 1", batch)
	}
	m := Pairs{Config: c.Resolved(), Seed: seed, Step: 3}
	model, err := seq2seq.New(kernels64.graph(seed, m.Step), c, batch)
	if err != nil {
		return Pairs{}, err
	}
	m.Pairs = make([]seq2seq.Pair, batch)
	if m.Parameters, err = randomParameters(model.Graph, seed); err != nil {
		return Pairs{}, err
	}
	rng := rand.New(rand.NewPCG(seed, 2))
	text := func(n, vocabulary int) (ids []int) {
		first := min(seq2seq.Hidden+1, vocabulary-1) // after the tokens that stand for no word
		for range n {
			ids = append(ids, first+rng.IntN(vocabulary-first))
		}
		return ids
	}
	for i := range m.Pairs {
		source, target := c.SourceSize, c.TargetSize-1
		if i > 0 {
			target = rng.IntN(target + 1)
			if m.Config.Attention != "linformer" { // its sources have a fixed length
				source = 1 + rng.IntN(source)
			}
		}
		m.Pairs[i] = seq2seq.Pair{Source: text(source, c.SourceVocab), Target: text(target, c.TargetVocab)}
	}
	return m, nil
}

func (m Pairs) subject() (subject, error) {
	if err := m.Config.ValidateModel(); err != nil {
		return subject{}, errors.Wrap(err, "verify: Pairs.Config")
	}
	m.Config = m.Config.Resolved()
	switch {
	case len(m.Pairs) == 0:
		return subject{}, errors.New("verify: Pairs.Pairs: got none, want the pairs of NewPairs or your own")
	case len(m.Parameters) == 0:
		return subject{}, errors.New(
			"verify: Pairs.Parameters: got none, want the parameters of NewPairs or ParametersOf")
	}
	return subject{
		parameters: m.Parameters, text: m.text(), seed: m.Seed, precision: m.Config.Precision,
		build: m.build, plan: m.plan, position: m.position,
	}, nil
}

// text returns the inputs of both sides and the targets, padded after their ends.
func (m Pairs) text() (t hand.Text) {
	for _, p := range m.Pairs {
		for i := range m.Config.SourceSize {
			t.Source = append(t.Source, at(p.Source, i, seq2seq.Pad, seq2seq.Pad))
		}
		for i := range m.Config.TargetSize {
			t.Tokens = append(t.Tokens, at(append([]int{seq2seq.Begin}, p.Target...), i, seq2seq.Pad, seq2seq.Pad))
			t.Targets = append(t.Targets, at(p.Target, i, seq2seq.End, hand.Ignore))
		}
	}
	return t
}

// at returns entry i of ids, end for the entry after the last, and padding after that.
func at(ids []int, i, end, padding int) int {
	switch {
	case i < len(ids):
		return ids[i]
	case i == len(ids):
		return end
	}
	return padding
}

func (m Pairs) build(f form) (*built, error) { return f.built(m.Seed, m.Step, m.in) }

// in builds the model in a graph.
func (m Pairs) in(g *graph.Graph) (*built, error) {
	model, err := seq2seq.New(g, m.Config, len(m.Pairs))
	if err != nil {
		return nil, err
	}
	feed := func() error { return model.Fill(m.Pairs) }
	return &built{graph: g, loss: model.Loss, places: m.places(g), feed: feed}, nil
}

func (m Pairs) places(g *graph.Graph) map[string]graph.Expr {
	c, p := m.Config, places{g, map[string]graph.Expr{}}
	const z = "decoder.h.0.cross.c_kv"
	p.add("decoder.lm_head", "loss")
	p.add("z", z)
	for side, end := range map[string]string{"encoder": z, "decoder": "decoder.lm_head"} {
		if c.Block == "pre" {
			p.add(side+".ln_f", end)
			end = side + ".ln_f"
		}
		p.add(side+".drop", side+".h.0")
		for i := range c.NLayer {
			h, next := fmt.Sprintf("%s.h.%d", side, i), fmt.Sprintf("%s.h.%d", side, i+1)
			if i == c.NLayer-1 {
				next = end
			}
			p.add(h, next)
			p.sublayers(h, true)
		}
	}
	return p.found
}

// plan describes the model to the formulas, with the dropout masks that the library will draw.
func (m Pairs) plan(g *graph.Graph) (variants.Plan, error) {
	c := m.Config
	e := variants.Encoder{Context: c.SourceSize, Attention: c.Attention}
	for _, p := range m.Pairs {
		e.Lengths = append(e.Lengths, len(p.Source))
	}
	p := stackPlan(c.Stack, c.Parts)
	p.Batch, p.Context, p.Attention, p.Head, p.Encoder = len(m.Pairs), c.TargetSize, "causal", "linear", &e
	p.Experts.Balance = 0 // the loss is the cross entropy alone
	if c.Dropout > 0 {
		p.Dropout = remembered(func(path string) hand.Matrix[float64] {
			rows, cols := m.shape(path)
			return hand.NewMatrix(rows, cols, g.DropoutMask(path, c.Dropout, rows*cols)...)
		})
	}
	return p, nil
}

// shape returns the shape of the dropout mask at a path.
func (m Pairs) shape(path string) (rows, cols int) {
	c := m.Config
	size, keys := c.TargetSize, c.TargetSize
	if strings.HasPrefix(path, "encoder.") {
		if size, keys = c.SourceSize, c.SourceSize; c.Attention == "linformer" {
			keys = c.Options.Get("mixed_keys")
		}
	}
	switch {
	case strings.HasSuffix(path, "cross.attn_dropout"):
		return len(m.Pairs) * c.NHead * size, c.SourceSize
	case strings.HasSuffix(path, "attn_dropout"):
		return len(m.Pairs) * c.NHead * size, keys
	}
	return len(m.Pairs) * size, c.NEmbd
}

// position describes where a difference is in an activation: pair, token, feature.
func (m Pairs) position(name string, d Difference) string {
	size := m.Config.TargetSize
	if name == "z" || strings.HasPrefix(name, "encoder.") {
		size = m.Config.SourceSize
	}
	return fmt.Sprintf("pair %d, token %d, feature %d", d.Row/size, d.Row%size, d.Col)
}
