package main

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/pedestrian-ml/pedestrian/examples/internal/base"
	"github.com/pedestrian-ml/pedestrian/examples/internal/page"
	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/inspect"
	"github.com/pkg/errors"
)

// experiment asks what the model predicts after a text, without some parts, and with a patch.
type experiment struct {
	Text    string
	Removed []removedPart
	Patch   *patchFrom
}

// removedPart is a head, or the MLP of a block.
type removedPart struct {
	Block, Head int
	MLP         bool
}

// patchFrom is the stream behind a block at a token, as it is on another text.
type patchFrom struct {
	Text         string
	Block, Token int
}

// look answers an experiment.
func (o *exploring) look(q experiment) (c page.Changed, err error) {
	ids, err := o.encoded(q.Text)
	if err != nil {
		return c, err
	}
	m, err := o.changed(q, len(ids))
	if err != nil {
		return c, err
	}
	before, err := logits(o.m, ids)
	if err != nil {
		return c, err
	}
	now, err := logits(m, ids)
	if err != nil {
		return c, err
	}
	for _, id := range ids {
		c.Tokens = append(c.Tokens, shown(o.tok, id))
	}
	if layers, err := base.Weights(m, ids); err == nil { // other attentions have no weights to show
		c.Layers = layers
	}
	c.Loss, c.Changed = lossOf(before, ids), lossOf(now, ids)
	c.Next = next(before[len(ids)-1], now[len(ids)-1], func(id int) string { return shown(o.tok, id) })
	return c, nil
}

// encoded returns the tokens of a text, at least one and at most block_size.
func (o *exploring) encoded(text string) ([]int, error) {
	ids, err := base.Prompt(o.tok, text)
	if err == nil && len(ids) > o.m.Config.BlockSize {
		err = errors.Errorf("the text has %d tokens, want at most block_size, %d", len(ids), o.m.Config.BlockSize)
	}
	return ids, err
}

// changed returns the model with the changes of an experiment.
func (o *exploring) changed(q experiment, tokens int) (m *gpt.Model, err error) {
	m = o.m
	for _, r := range q.Removed {
		if r.Block < 0 || r.Block >= m.Config.NLayer {
			return nil, errors.Errorf("block: got %d, want one of 0 … %d", r.Block, m.Config.NLayer-1)
		}
		at, entries := fmt.Sprintf("h.%d.attn.heads", r.Block), inspect.All(m).Head(r.Head)
		if r.MLP {
			at, entries = fmt.Sprintf("h.%d.mlp", r.Block), inspect.All(m)
		}
		if m, err = inspect.Replace(m, at, entries.Zero()); err != nil {
			return nil, err
		}
	}
	if q.Patch == nil {
		return m, nil
	}
	ids, err := o.encoded(q.Patch.Text)
	if err != nil {
		return nil, err
	}
	if most := min(tokens, len(ids)); q.Patch.Token < 0 || q.Patch.Token >= most {
		return nil, errors.Errorf("token: got %d, want one that both texts have, 0 … %d", q.Patch.Token, most-1)
	}
	at := fmt.Sprintf("h.%d", q.Patch.Block)
	probe, err := inspect.Tap(o.m, at)
	if err != nil {
		return nil, err
	}
	activations, err := probe.Run(ids)
	if err != nil {
		return nil, err
	}
	other, err := activations.At(at)
	if err != nil {
		return nil, err
	}
	return inspect.Replace(m, at, inspect.All(m).Tokens(q.Patch.Token, q.Patch.Token+1).Set(other))
}

// logits returns the logits after each token.
func logits(m *gpt.Model, ids []int) (rows [][]float64, err error) {
	probe, err := inspect.Tap(m, "logits")
	if err != nil {
		return nil, err
	}
	activations, err := probe.Run(ids)
	if err != nil {
		return nil, err
	}
	x, err := activations.At("logits")
	if err != nil {
		return nil, err
	}
	return slices.Collect(slices.Chunk(x.Floats(), m.Config.VocabSize))[:len(ids)], nil
}

// logSum returns ln Σ eˣ.
func logSum(row []float64) float64 {
	largest, sum := slices.Max(row), 0.0
	for _, z := range row {
		sum += math.Exp(z - largest)
	}
	return largest + math.Log(sum)
}

// lossOf returns the mean loss of the tokens after the first.
func lossOf(rows [][]float64, ids []int) (mean float64) {
	for i, id := range ids[1:] {
		mean += (logSum(rows[i]) - rows[i][id]) / float64(len(ids)-1)
	}
	return mean
}

// next returns the tokens that are among the ten likeliest before or after a change.
func next(before, now []float64, name func(id int) string) (list []page.Next) {
	const most = 10
	ids := map[int]bool{}
	for _, row := range [][]float64{before, now} {
		order := make([]int, len(row))
		for i := range order {
			order[i] = i
		}
		slices.SortFunc(order, func(a, b int) int { return cmp.Compare(row[b], row[a]) })
		for _, id := range order[:min(most, len(order))] {
			ids[id] = true
		}
	}
	was, is := logSum(before), logSum(now)
	for id := range ids {
		list = append(list, page.Next{
			Token: name(id), P: math.Exp(before[id] - was), Changed: math.Exp(now[id] - is),
			Moved: now[id] - before[id],
		})
	}
	slices.SortFunc(list, func(a, b page.Next) int {
		return cmp.Or(cmp.Compare(max(b.P, b.Changed), max(a.P, a.Changed)), cmp.Compare(a.Token, b.Token))
	})
	return list
}
