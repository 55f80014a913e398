package main

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"github.com/pedestrian-ml/pedestrian/examples/internal/page"
	"github.com/pedestrian-ml/pedestrian/gpt/inspect"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pkg/errors"
)

// peak is a place of the text at which a neuron is large.
type peak struct {
	value float64
	at    int
}

// neurons returns the number of neurons of an MLP.
func (o *exploring) neurons() int { return cmp.Or(o.m.Config.NInner, 4*o.m.Config.NEmbd) }

// shownPlaces is the number of places that are shown of a neuron.
const shownPlaces = 8

// largest returns the places of the text at which a neuron is largest.
func (o *exploring) largest(block, neuron string) (list []page.Neuron, err error) {
	b, errB := strconv.Atoi(block)
	n, errN := strconv.Atoi(neuron)
	if errB != nil || errN != nil || b < 0 || b >= o.m.Config.NLayer || n < 0 || n >= o.neurons() {
		return nil, errors.Errorf("got block %.20q and neuron %.20q, want 0 … %d and 0 … %d", block, neuron,
			o.m.Config.NLayer-1, o.neurons()-1)
	}
	if o.found[b] == nil {
		if o.found[b], err = o.search(b); err != nil {
			return nil, err
		}
	}
	const around = 24
	text := func(from, to int) string {
		s, err := o.tok.Decode(o.ids[max(from, 0):min(to, len(o.ids))])
		if err != nil {
			return "…"
		}
		return s
	}
	for _, p := range o.found[b][n] {
		list = append(list, page.Neuron{
			Value: p.value, Before: text(p.at-around, p.at), Token: text(p.at, p.at+1),
			After: text(p.at+1, p.at+around/2),
		})
	}
	return list, nil
}

// search returns the largest places of each neuron of a block.
func (o *exploring) search(block int) ([][]peak, error) {
	at := fmt.Sprintf("h.%d.mlp.act", block)
	probe, err := inspect.Tap(o.m, at)
	if err != nil {
		return nil, err
	}
	var found [][]peak
	for begin := 0; begin < len(o.ids); begin += o.m.Config.BlockSize {
		window := o.ids[begin:min(begin+o.m.Config.BlockSize, len(o.ids))]
		activations, err := probe.Run(window)
		if err != nil {
			return nil, err
		}
		x, err := activations.At(at)
		if err != nil {
			return nil, err
		}
		found = gather(found, x, begin, len(window))
	}
	return found, nil
}

// gather adds the numbers of a window to the largest places of each neuron.
func gather(found [][]peak, x graph.Tensor, begin, tokens int) [][]peak {
	width := x.Shape[len(x.Shape)-1]
	if found == nil {
		found = make([][]peak, width)
	}
	for i, v := range x.Floats()[:tokens*width] {
		list := found[i%width]
		if len(list) == shownPlaces && list[len(list)-1].value >= v {
			continue
		}
		at, _ := slices.BinarySearchFunc(list, v, func(p peak, v float64) int { return cmp.Compare(v, p.value) })
		list = slices.Insert(list, at, peak{v, begin + i/width})
		found[i%width] = list[:min(len(list), shownPlaces)]
	}
	return found
}
