package main

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/parts"
	"github.com/pedestrian-ml/pedestrian/gpt/seq2seq"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/verify"
	"github.com/pkg/errors"
)

// kind is a kind of parts: its key in a configuration, the names of its parts, and the field that names one.
type kind struct {
	key   string
	names []string
	get   func(c *gpt.Config) string
	set   func(c *gpt.Config, name string)
}

// kinds lists the kinds of parts that a formula has.
func kinds() []kind {
	typed := func(key string, names []string, field func(c *gpt.Config) *string) kind {
		return kind{key, names, func(c *gpt.Config) string { return *field(c) },
			func(c *gpt.Config, name string) { *field(c) = name }}
	}
	list := []kind{
		typed("position", parts.Names(parts.Positions()), func(c *gpt.Config) *string { return &c.Position }),
		typed("attention", parts.Names(parts.Attentions()), func(c *gpt.Config) *string { return &c.Attention }),
		typed("norm", parts.Names(parts.Norms()), func(c *gpt.Config) *string { return &c.Norm }),
		typed("block", parts.Names(parts.Blocks()), func(c *gpt.Config) *string { return &c.Block }),
		typed("mlp", parts.Names(parts.MLPs()), func(c *gpt.Config) *string { return &c.MLP }),
		typed("activation", parts.Names(parts.Activations()), func(c *gpt.Config) *string { return &c.Activation }),
		typed("head", parts.Names(parts.Heads()), func(c *gpt.Config) *string { return &c.Head }),
	}
	for _, k := range parts.Kinds() {
		if k.Computes() {
			get := func(c *gpt.Config) string { return k.Get(c.Stack) }
			set := func(c *gpt.Config, name string) { c.With.Set(k.Key, name) }
			list = append(list, kind{k.Key, parts.Names(k.Variants()), get, set})
		}
	}
	return list
}

// whole is a small model of random parts and sizes.
type whole struct {
	gpt.Config
	pairs bool // an encoder–decoder with the parts of Config, for attentions that no decoder can have
	batch int
	seed  uint64
}

// randomModels returns at least n models, in which every part occurs at least ofPart times: each has one of the parts
// that are the rarest before it.
func randomModels(random *rand.Rand, n, ofPart int) (list []whole, err error) {
	count := map[string]int{}
	for {
		k, part := rarest(count)
		if len(list) >= n && count[k.key+" "+part] >= ofPart {
			return list, nil
		}
		m, err := randomModel(random, k, part)
		if err != nil {
			return nil, err
		}
		for _, name := range m.parts() {
			count[name]++
		}
		list = append(list, m)
	}
}

// rarest returns the first part with the smallest count.
func rarest(count map[string]int) (of kind, part string) {
	for _, k := range kinds() {
		for _, name := range k.names {
			if part == "" || count[k.key+" "+name] < count[of.key+" "+part] {
				of, part = k, name
			}
		}
	}
	return of, part
}

// parts returns the parts of the model, each after the key of its kind.
func (m whole) parts() (list []string) {
	for _, k := range kinds() {
		for name := range strings.SplitSeq(k.get(&m.Config), ",") {
			if name = k.key + " " + name; !slices.Contains(list, name) {
				list = append(list, name)
			}
		}
	}
	return list
}

// randomModel returns a model with the given part, in random sizes that this part allows. Of some random further parts
// and settings it has those that fit.
func randomModel(random *rand.Rand, k kind, part string) (m whole, err error) {
	const attempts = 100
	for i := range attempts {
		m = whole{Config: randomSizes(random), pairs: i >= attempts/2, batch: 1 + random.IntN(2)}
		k.set(&m.Config, part)
		if err = m.fits(); err == nil {
			break
		}
	}
	if err != nil {
		return m, errors.Wrapf(err, "no model of %d random sizes has %s %s", attempts, k.key, part)
	}
	changes := randomChanges(random, k.key)
	for _, i := range random.Perm(len(changes)) {
		next := m
		changes[i](&next.Config)
		if next.fits() == nil {
			m = next
		}
	}
	m.seed = random.Uint64()
	return m, nil
}

// randomSizes returns a small model of the default parts.
func randomSizes(random *rand.Rand) gpt.Config {
	c := small()
	c.Position, c.Attention, c.Norm, c.Block = "learned", "causal", "layernorm", "pre"
	c.MLP, c.Activation, c.Head = "mlp", "gelu", "linear"
	c.BlockSize, c.VocabSize, c.NLayer = 2+random.IntN(4), 3+random.IntN(5), 1+random.IntN(2)
	c.NHead = 1 + random.IntN(3)
	c.NEmbd, c.QKSize, c.VSize = 2*c.NHead*(1+random.IntN(2)), 2*(1+random.IntN(2)), 1+random.IntN(3)
	c.NInner, c.Bias = 3+random.IntN(5), random.IntN(2) == 0
	for name, n := range map[string]int{
		"window": 2, "dilation": 2, "global_tokens": 1, "random_keys": 1, "n_kv_head": 1, "sink_tokens": 1,
	} {
		c.Options.Offer(name, n)
	}
	return c
}

// randomChanges returns changes to a random part of every kind but one, and to random settings.
func randomChanges(random *rand.Rand, but string) []func(c *gpt.Config) {
	changes := []func(c *gpt.Config){
		func(c *gpt.Config) { c.LogitCap = []float64{0, 0, 30}[random.IntN(3)] },
		func(c *gpt.Config) { c.Sublayers.AttnLogitSoftcapping = []float64{0, 0, 20}[random.IntN(3)] },
		func(c *gpt.Config) { c.FutureTokens = 1 + max(0, random.IntN(6)-3) },
		func(c *gpt.Config) { c.LogitsScaling = []float64{0, 2}[random.IntN(2)] },
		func(c *gpt.Config) { c.Experts.ScoringFunc = []string{"softmax", "sigmoid"}[random.IntN(2)] },
		func(c *gpt.Config) { c.Experts.NormTopKProb = random.IntN(2) == 0 },
		func(c *gpt.Config) { c.Experts.NSharedExperts = random.IntN(2) },
	}
	for _, k := range kinds() {
		name := k.names[random.IntN(len(k.names))]
		switch {
		case k.key != but:
			changes = append(changes, func(c *gpt.Config) { k.set(c, name) })
		case k.key == "attention": // a second one, if there are two blocks
			changes = append(changes, func(c *gpt.Config) { c.Attention += "," + name })
		}
	}
	return changes
}

// fits returns an error for parts that do not fit together, or that no layer uses.
func (m whole) fits() (err error) {
	if g := graph.Outline(graph.Float32); m.pairs {
		_, err = seq2seq.New(g, m.encoderDecoder(), 1)
	} else {
		_, err = gpt.New(g, m.Config, 1)
	}
	return err
}

// encoderDecoder returns the encoder–decoder of the same parts.
func (m whole) encoderDecoder() seq2seq.Config {
	return seq2seq.Config{
		Stack: m.Stack, SourceSize: m.BlockSize, TargetSize: m.BlockSize, SourceVocab: seq2seq.Hidden + 1 + m.VocabSize,
		TargetVocab: seq2seq.Hidden + 1 + m.VocabSize, Training: m.Training, Run: m.Run,
	}
}

// exact compares the formulas of the model at a random point, and returns the number of points that it has drawn before
// in vain: at these a layer has no derivative, such as LayerNormSigma of features that ReLU has made 0.
func (m whole) exact() (r verify.Exact, vain int, err error) {
	const points = 100
	for vain = range points {
		seed := m.seed + uint64(vain)
		if m.pairs {
			var model verify.Pairs
			if model, err = verify.NewPairs(m.encoderDecoder(), m.batch, seed); err == nil {
				r, err = model.Exact(1, seed)
			}
		} else {
			var model verify.Model
			if model, err = verify.NewModel(m.Config, m.batch, seed); err == nil {
				r, err = model.Exact(1, seed)
			}
		}
		if !errors.Is(err, verify.ErrUndefined) {
			break
		}
	}
	return r, vain, errors.Wrap(err, strings.Join(m.parts(), ", "))
}

// exactModels draws a point of each of n models, which the seed determines, and counts the points drawn in vain.
func exactModels(ctx context.Context, n int, seed uint64) (total verify.Exact, vain int, err error) {
	models, err := randomModels(rand.New(rand.NewPCG(1, seed)), n, 0)
	if err != nil {
		return total, vain, err
	}
	total.Bound = math.Inf(-1)
	for _, m := range models {
		if ctx.Err() != nil {
			break
		}
		r, more, err := m.exact()
		if err != nil {
			return total, vain, err
		}
		total, vain = sum(total, r), vain+more
	}
	return total, vain, nil
}
