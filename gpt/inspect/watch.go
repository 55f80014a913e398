package inspect

import (
	"math"
	"strings"

	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/train"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pkg/errors"
)

// Watch records the gradients and updates of a model's layers during training. Use its Gradients in [train.Hooks], and
// read the results with Layers. The zero Watch is ready to use.
type Watch struct {
	gradients map[string]float64   // squared norms of the newest gradients, by parameter
	before    map[string][]float64 // parameters at the last call of Layers
}

// LayerNorms holds norms √Σx² over the parameters of a layer, such as h.0.attn.c_attn.
type LayerNorms struct {
	Layer    string
	Weight   float64
	Gradient float64 // in the newest step, before clipping; 0 before the first step, and for frozen parameters
	Update   float64 // change since the last call of Layers; NaN at the first
}

// Ratio returns the ratio of update to weight. About a thousandth per step is usual when training goes well.
func (n LayerNorms) Ratio() float64 { return n.Update / n.Weight }

// Gradients records the norms of the gradients.
func (w *Watch) Gradients(_ int, grads []train.Named) error {
	if w == nil {
		return errors.New("inspect: no Watch (nil)")
	}
	w.gradients = map[string]float64{}
	for _, g := range grads {
		w.gradients[g.Name] = squares(g.Len(), g.At)
	}
	return nil
}

// Layers returns the norms of the model's layers, in the order of Table 2.
func (w *Watch) Layers(m *gpt.Model) (list []LayerNorms, err error) {
	if w == nil || m == nil || m.Graph == nil {
		return nil, errors.New("inspect: layers: got no Watch or no model, want one from gpt.New or of a trainer")
	}
	if err := m.Check(); err != nil {
		return nil, errors.Wrap(err, "inspect")
	}
	now, index := map[string][]float64{}, map[string]int{}
	err = m.Graph.Shared(func(graph.Reading) error { // all numbers belong to the same step
		for _, p := range m.Params() {
			now[p.Name()] = p.Tensor().Floats()
		}
		return nil
	})
	if err != nil {
		return nil, errors.Wrap(err, "inspect")
	}
	for _, p := range m.Params() {
		name, x := p.Name(), now[p.Name()]
		layer := name[:max(0, strings.LastIndexByte(name, '.'))]
		i, ok := index[layer]
		if !ok {
			i = len(list)
			index[layer], list = i, append(list, LayerNorms{Layer: layer})
		}
		before := w.before[name]
		list[i].Weight += squares(len(x), func(j int) float64 { return x[j] })
		list[i].Gradient += w.gradients[name]
		if len(before) == len(x) {
			list[i].Update += squares(len(x), func(j int) float64 { return x[j] - before[j] })
		} else {
			list[i].Update = math.NaN()
		}
	}
	w.before = now
	for i, n := range list {
		list[i] = LayerNorms{n.Layer, math.Sqrt(n.Weight), math.Sqrt(n.Gradient), math.Sqrt(n.Update)}
	}
	return list, nil
}

func squares(n int, at func(i int) float64) (sum float64) {
	for i := range n {
		sum += at(i) * at(i)
	}
	return sum
}
