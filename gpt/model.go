// Package gpt stacks the layers of nn into a GPT, trains it on a text and generates text with it. A Config describes
// network and training in nanoGPT's names. Start with NewTrainer: Run does the training steps, and Save writes
// checkpoints that Open reads. New builds the network alone, in the order of the paper's Table 2. NewDecoder
// generates texts with a KV cache. The package prints nothing; flags and output are left to the program.
package gpt

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/pedestrian-ml/pedestrian/gpt/internal/field"
	"github.com/pedestrian-ml/pedestrian/gpt/internal/made"
	"github.com/pedestrian-ml/pedestrian/gpt/parts"
	"github.com/pedestrian-ml/pedestrian/gpt/text"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/nn"
	"github.com/pkg/errors"
)

// Model is a decoder-only transformer on batches of B sequences of T tokens: the forward column of the paper's Table 2.
// Its fields are read-only: functions that use a model return an error if one has been replaced.
type Model struct {
	Config  Config // resolved
	Graph   *graph.Graph
	Tokens  graph.Expr // (B·T) ids, which the caller sets with Ints
	Targets graph.Expr // (B·T) ids, or text.Ignore for tokens that are not to be predicted
	Logits  graph.Expr // (B·T, V)
	// Future holds the logits of the tokens after the next one, with n_future_tokens above 1, for the Objective alone.
	Future []graph.Expr
	Loss   graph.Expr // the mean cross entropy in nats over the targets that count, or the loss of Hooks
	// Objective is the loss that training minimises: Loss, or with label_smoothing, z_loss and n_future_tokens the
	// cross entropy with these, plus the loss that balances experts with router_aux_loss_coef.
	Objective graph.Expr

	plan     plan
	adapters []*nn.LoRA
	loads    []nn.Load       // of the blocks with experts
	carry    *nn.Carry       // the states that a window hands on, with Carry
	hidden   map[string]bool // names of the hidden matrices
	inUse    inUse           // set by Use
	merged   []Adapter       // those that Merge has added to the weights
	built    *made.Network
}

// New builds the model on an empty Graph for batches of batch sequences. The Graph's switches, which [Config.Configure]
// sets, take precedence: the model's Config has the Graph's value of Kernels. If the Config is invalid, New returns an
// error that names the field, and allocates nothing.
func New(g *graph.Graph, c Config, batch int) (*Model, error) {
	if g == nil {
		return nil, errors.New("graph: got nil, want one from graph.New")
	}
	if batch < 1 || batch > field.MaxSize {
		return nil, errors.Errorf("gpt: got a batch of %d, want 1 to %d", batch, field.MaxSize)
	}
	limited := c
	limited.Run, limited.Kernels = c.Within(g), g.Kernels
	p, declared, err := limited.validated()
	if err != nil {
		return nil, err
	}
	p.Run = c.Run
	m := p.declare(g, batch)
	if err := g.Err(); err != nil {
		return nil, errors.Wrap(err, "gpt")
	}
	fields := m.withConfig()
	m.built = &fields
	return m, m.checkCount(declared)
}

// declare builds the model.
func (p plan) declare(g *graph.Graph, batch int) *Model {
	s := g.Root()
	n := batch * p.BlockSize
	m := &Model{
		Config:  p.Config,
		Graph:   g,
		Tokens:  s.Ints("tokens", n, p.VocabSize, graph.NoneIgnored),
		Targets: s.Ints("targets", n, p.VocabSize, text.Ignore),
		plan:    p,
	}
	collect := func(l *nn.LoRA) { m.adapters = append(m.adapters, l) }
	at := p.site(s, batch, parts.Places(s, batch, p.BlockSize))
	if p.Carry {
		m.carry = &nn.Carry{}
		at.Carry = m.carry
	}
	m.hidden = map[string]bool{}
	at.Affine = p.affine(collect, func(name string) { m.hidden[name] = true })
	at.Adapt = p.adapt(collect)
	net := newStack(at, p)
	m.Logits, m.Future = net.heads(m.Tokens)
	if err := net.CheckUsed(); err != nil {
		s.Failf("%v", err)
	}
	m.Loss = p.loss(s.Sub("loss"), m.Logits, m.Targets)
	m.Objective = m.Loss
	if p.LabelSmoothing != 0 || p.ZLoss != 0 || len(m.Future) > 0 {
		l := nn.NewMultiToken(s.Sub("objective"), p.BlockSize)
		l.Smoothing, l.ZLoss = p.LabelSmoothing, p.ZLoss
		m.Objective = l.Forward(append([]graph.Expr{m.Logits}, m.Future...), m.Targets)
	}
	m.Objective, m.loads = net.Balanced(m.Objective), net.Loads()
	return m
}

// checkCount compares the number of parameters with the number that was counted before, layer by layer. They differ if
// a part declares other parameters the second time, or declares some in Forward; memory and FLOPs would be wrong.
func (m *Model) checkCount(declared outline) error {
	if m.Config.NLayer > mostDeclared {
		return nil
	}
	var places []string // in the order of declaration
	built := map[string]float64{}
	for _, p := range m.Params() {
		at := layerOf(p.Name())
		if _, seen := built[at]; !seen {
			places = append(places, at)
		}
		built[at] += p.Entries()
	}
	for _, at := range slices.Sorted(maps.Keys(declared.layers)) {
		if _, seen := built[at]; !seen {
			places = append(places, at)
		}
	}
	for _, at := range places {
		if got, want := built[at], declared.layers[at]; got != want {
			return errors.Errorf("gpt: layer %s: built %.0f parameters, but counted %.0f before: "+
				"a layer declares parameters in Forward, or different ones every time", at, got, want)
		}
	}
	return nil
}

// layerOf returns the place of the layer that declares the named parameter.
func layerOf(name string) string {
	return name[:max(0, strings.LastIndexByte(name, '.'))]
}

// Params lists the parameters in the order of Table 2.
func (m *Model) Params() []graph.Expr {
	if m == nil {
		return nil
	}
	return m.Graph.Params()
}

// Trainable lists the parameters to train, that is, all, or only the adapters with LoRA, except those in Frozen.
func (m *Model) Trainable() []graph.Expr {
	if m == nil {
		return nil
	}
	return m.Config.Frozen.Rest(m.candidates())
}

// candidates returns all parameters that have a gradient, or with LoRA the adapters, including those in Frozen.
func (m *Model) candidates() []graph.Expr {
	return slices.DeleteFunc(slices.Clone(m.Params()), func(p graph.Expr) bool {
		return nn.IsBalancing(p) || m.Config.LoraR > 0 && !isAdapter(p)
	})
}

// balanced returns the loads of the experts. Their biases are fixed with LoRA, like all weights but the adapters.
func (m *Model) balanced() []nn.Load {
	list := slices.Clone(m.loads)
	for i := range list {
		if m.Config.LoraR > 0 {
			list[i].Bias = graph.Expr{}
		}
	}
	return list
}

// fields returns the exported fields of m except Config.
func (m *Model) fields() made.Network {
	list := []made.Expr{
		{Name: "Tokens", Expr: m.Tokens}, {Name: "Targets", Expr: m.Targets},
		{Name: "Logits", Expr: m.Logits}, {Name: "Loss", Expr: m.Loss},
		{Name: "Objective", Expr: m.Objective},
	}
	for i, x := range m.Future {
		list = append(list, made.Expr{Name: fmt.Sprintf("Future[%d]", i), Expr: x})
	}
	return made.Network{Graph: m.Graph, Exprs: list}
}

// withConfig returns the exported fields of m, and those fields of its Config that change what a graph computes when it
// does not train.
func (m *Model) withConfig() made.Network {
	all := m.fields()
	all.Config = append(m.Config.NetworkFields().Without("dropout").Lines(),
		fmt.Sprintf("DrawnTokens %d", m.Config.DrawnTokens))
	return all
}

// Check returns an error unless m is as New or LoadModel has returned it. The error names the field that has been
// replaced: a decoder or a file of such a model would belong to another network than the weights.
func (m *Model) Check() error {
	if m == nil {
		return errors.New("model: got nil, want one from New or LoadModel")
	}
	return made.Check(m.built, m.withConfig())
}

// checkTokenizer returns an error if tok, which may be nil, has more tokens than the model has logits.
func (m *Model) checkTokenizer(tok text.Tokenizer) error {
	if tok != nil && tok.Size() > m.Config.VocabSize {
		return errors.Errorf("tokenizer: got %d tokens, want at most the model's vocab_size %d",
			tok.Size(), m.Config.VocabSize)
	}
	return nil
}

// loss returns the cross entropy, or the hook's loss, which must be a scalar. Unless there is a Fill, the loss must
// depend on the targets.
func (c Config) loss(s graph.Scope, logits, targets graph.Expr) (loss graph.Expr) {
	if c.Hooks.Loss == nil {
		return nn.NewCrossEntropy(s).Forward(logits, targets)
	}
	ok := s.Try(func() { loss = c.Hooks.Loss(logits.In(s), targets.In(s)) })
	switch {
	case !ok:
	case loss.Graph() == nil || len(loss.Shape()) > 0:
		s.Failf("the hook's loss has shape %v, want a scalar", loss.Shape())
	case c.Hooks.Fill == nil && !loss.DependsOn(targets): // Fill may fill other inputs of the loss
		s.Failf("the hook's loss does not read its targets, so nothing would be learnt from the text: " +
			"want one that does, such as nn.NewCrossEntropy")
	}
	return loss
}

// Packed returns m for decoding and measuring, with the matrices of its linear layers and its head (the embedding, if
// they are tied) stored as bfloat16, as int8 with a scale for every output, or as int4 with one for every 32 inputs of
// an output, rounded from their present values. It needs less memory and decodes faster in proportion, because it reads
// less. Its results equal the results of a model with the rounded weights and sums in float32: to the bit, except with
// a tied head. With int4 the factors of the matrices are rounded, too (see stored.Int4). No file changes, and m stays
// as it is; the original weights are freed when m is no longer referenced.
//
// The packed model has no weights to write, to set or to train. The formats are in package graph/stored: stored.BF16,
// stored.Int8 and stored.Int4. Packed returns an error for an unknown format, for a model without kernels or of a type
// other than float32, and for weights that are not finite.
func (m *Model) Packed(p graph.Packing) (*Model, error) {
	if err := m.CheckNumbers(); err != nil {
		return nil, err
	}
	c, batch := m.Config, m.Tokens.Shape()[0]/m.Config.BlockSize
	g, err := m.Graph.Packed(p) // the last use of m, so that its weights can be freed while they are packed
	if err != nil {
		return nil, errors.Wrap(err, "model")
	}
	g.SetTraining(false)
	return New(g, c, batch)
}

// CheckNumbers returns an error unless m is valid, as Check does, and all its parameters have numbers, which are not
// packed.
func (m *Model) CheckNumbers() error {
	if err := m.Check(); err != nil {
		return err
	}
	return unpacked(m.Params())
}

// unpacked returns an error that names the first packed parameter, if there is one.
func unpacked(params []graph.Expr) error {
	if i := slices.IndexFunc(params, packed); i >= 0 {
		return errors.Errorf("model: its weights are packed, %s among them: "+
			"want the model from which they were packed", params[i].Name())
	}
	return nil
}
