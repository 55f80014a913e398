package gpt

import (
	"fmt"
	"math"
	"slices"

	"github.com/pedestrian-ml/pedestrian/gpt/parts"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/nn"
	"github.com/pedestrian-ml/pedestrian/nn/causal"
	"github.com/pkg/errors"
)

// hasOwn reports whether the network has a user-defined part. The tests of the library check its own parts.
func (p plan) hasOwn() bool {
	return p.Stack.HasOwn(p.Parts) || slices.Contains(parts.Names(p.Parts.Heads), p.Head)
}

// checkCausal refuses a network with a user-defined part that looks ahead, unless its Registry declares it
// Bidirectional. Texts must not influence one another in any case. It computes on a separate graph and adds noise to
// the weights, because weights that begin at 0 would hide a layer.
func (c Config) checkCausal() error {
	p := c.planned()
	if !p.hasOwn() {
		return nil
	}
	p = p.targeted()
	return twoTexts(func(batch int) error {
		for _, perturb := range []func(*graph.Graph){causal.Perturb, func(*graph.Graph) {}} {
			_, err := graph.Build(graph.Float32, c.Seed, func(g *graph.Graph) error {
				c.Configure(g)
				m := p.causalModel(g, batch)
				if err := g.Err(); err != nil {
					return err
				}
				perturb(g)
				return causal.Check(m)
			})
			if !errors.Is(err, graph.ErrNotFinite) {
				return err
			}
		}
		return nil // the first step reports the loss that is not finite
	})
}

// checkCausal refuses a model that looks ahead with its present weights, as Config.checkCausal does.
func (m *Model) checkCausal(bidirectional bool) error {
	if !m.plan.hasOwn() || m.Graph.Edited() {
		return nil
	}
	p := m.plan
	p.Parts.Bidirectional = bidirectional
	return twoTexts(func(batch int) error {
		_, err := m.Graph.BuildSibling(func(g *graph.Graph) error {
			return causal.Check(p.causalModel(g, batch))
		})
		if errors.Is(err, graph.ErrNotFinite) {
			return nil
		}
		return err
	})
}

// twoTexts calls check with a batch of two texts, or of one if two cannot be built, for lack of memory for example.
func twoTexts(check func(batch int) error) error {
	err := check(2)
	if leak := (*causal.Leak)(nil); err == nil || errors.As(err, &leak) {
		return err
	}
	return check(1)
}

// causalModel builds the network without its loss.
func (p plan) causalModel(g *graph.Graph, batch int) causal.Model {
	s := g.Root()
	tokens := s.Ints("tokens", batch*p.BlockSize, p.VocabSize, graph.NoneIgnored)
	net := newStack(p.site(s, batch, parts.Places(s, batch, p.BlockSize)), p.next())
	return causal.Model{
		Input: tokens, Output: net.Predict(net.Forward(tokens)), Batch: batch, Vocabulary: p.VocabSize,
		Bidirectional: p.Parts.Bidirectional,
	}
}

// checkSteps compares Step with Forward over a full context, in the embeddings and every attention, or in every block,
// that may contain a user-defined part. A type that embeds a layer of the library and replaces its Forward inherits a
// Step that computes something else, which decoding would use without an error. The tests of the library compare its
// own layers.
func (m *Model) checkSteps() error {
	own := m.plan.Parts
	if len(own.Attentions)+len(own.Positions)+len(own.Kinds) > 0 {
		if err := m.compareSteps(false); err != nil {
			return err
		}
	}
	if len(own.Blocks)+len(own.Norms)+len(own.MLPs)+len(own.Activations) > 0 {
		return m.compareSteps(true)
	}
	return nil
}

// compareSteps computes random rows all at once with Forward, and by halves with Step.
func (m *Model) compareSteps(blocks bool) error {
	context := m.Config.BlockSize
	n := max(1, context/2)
	all, err := m.newWindow(context, blocks, false)
	if err != nil || len(all.names) == 0 {
		return err
	}
	some, err := m.newWindow(n, blocks, true)
	if err != nil {
		return err
	}
	if err := all.program.Run(); err != nil {
		return err
	}
	for first := 0; first+n <= context; first += n {
		some.at.Ints()[0] = first
		for i := range n {
			some.positions.Ints()[i], some.ids.Ints()[i] = first+i, all.ids.Ints()[first+i]
			if err := some.x.Tensor().Row(i).Copy(all.x.Tensor().Row(first + i)); err != nil {
				return err
			}
		}
		if err := some.program.Run(); err != nil {
			return err
		}
		if err := all.compare(some.program.Value(), first, n); err != nil {
			return err
		}
	}
	return nil
}

// compare compares rows of Step, from first on, with rows of Forward, layer by layer. It skips numbers for which
// Forward is not finite.
func (w *window) compare(step graph.Tensor, first, n int) error {
	tolerance := 1e4 * 0x1p-52
	if step.F32 != nil {
		tolerance = 1e4 * 0x1p-23
	}
	forward, from := w.program.Value(), 0
	for i, name := range w.names {
		var worst, got, want, largest float64
		token := 0
		for t := range n {
			a, b := step.Row(t), forward.Row(first+t)
			for j := from; j < from+w.widths[i]; j++ {
				if b.At(j)-b.At(j) != 0 {
					continue
				}
				largest = max(largest, math.Abs(b.At(j)))
				if d := math.Abs(a.At(j) - b.At(j)); !(d <= worst) {
					worst, got, want, token = d, a.At(j), b.At(j), first+t
				}
			}
		}
		if from += w.widths[i]; !(worst <= tolerance*largest) {
			return errors.Errorf("%s: Step and Forward differ: token %d of a text gives %.6g by Step, %.6g by Forward;"+
				" a layer that replaces one of them must replace both", name, token, got, want)
		}
	}
	return nil
}

// window applies the embeddings to ids and each attention, or each block, of a model to the same rows, and joins the
// results side by side.
type window struct {
	x, ids, positions, at graph.Expr
	names                 []string // of the layers
	widths                []int    // number of columns of their results
	program               *graph.Program
}

// newWindow builds a window for n tokens of one text, with Step or with Forward.
func (m *Model) newWindow(n int, blocks, step bool) (w *window, err error) {
	_, err = m.Graph.BuildSibling(func(g *graph.Graph) (err error) {
		g.SetTraining(false)
		p, root := m.plan, g.Root()
		w = &window{
			x:         root.Value("window", graph.Normal(1), n, p.NEmbd),
			ids:       root.Ints("ids", n, p.VocabSize, graph.NoneIgnored),
			positions: root.Ints("positions", n, p.BlockSize, graph.NoneIgnored),
			at:        root.Ints("at", 1, p.BlockSize, graph.NoneIgnored),
		}
		for i := range n {
			w.positions.Ints()[i], w.ids.Ints()[i] = i, (5*i+i*i)%p.VocabSize
		}
		var results []graph.Expr
		add := func(name string, y graph.Expr) {
			if len(y.Shape()) == 2 {
				w.names, w.widths, results = append(w.names, name), append(w.widths, y.Shape()[1]), append(results, y)
			}
		}
		apply := func(name string, l nn.Layer) {
			if step {
				add(name, l.(nn.Cached).Step(w.x, w.at)) // if the model has steps, all layers are Cached
			} else {
				add(name, l.Forward(w.x))
			}
		}
		if step {
			g.SetRows(w.positions)
		}
		at := p.site(root, 1, w.positions)
		at.Caches = nn.Caches{}
		embeddings := p.design.Embeddings(at, p.VocabSize)
		at.Rotary, at.Scores = embeddings.Placement.Rotary, embeddings.Placement.Scores
		switch {
		case blocks: // the embeddings come before them
		case step:
			add("embeddings", embeddings.Step(w.ids, w.at))
		default:
			add("embeddings", embeddings.Forward(w.ids))
		}
		mask, block := p.blockBuilder(at, func(at nn.Site, l nn.Layer) {
			if !blocks {
				apply(at.Path(), l)
			}
		})
		at.Mask = mask
		for i := range p.NLayer {
			at := at.At(fmt.Sprintf("h.%d", i))
			at.Block = i
			if l := block(at); blocks {
				apply(at.Path(), l)
			}
		}
		if err := g.Err(); err != nil || len(results) == 0 {
			return err
		}
		if all := results[0]; len(results) > 1 {
			results[0] = all.Join(results[1:]...)
		}
		w.program, err = graph.Compile(results[0])
		return err
	})
	return w, err
}
