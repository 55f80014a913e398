package gpt

import (
	"fmt"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/pedestrian-ml/pedestrian/gpt/parts"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/nn/causal"
)

// permitted returns all valid combinations of parts, as the index of each part in its list.
func permitted() (list [][8]int, build func([8]int) Config) {
	positions, attentions, norms, blocks := parts.Positions(), parts.Attentions(), parts.Norms(), parts.Blocks()
	activations, mlps, heads := parts.Activations(), parts.MLPs(), parts.Heads()
	build = func(at [8]int) Config {
		c := odd()
		c.QKSize, c.Attention = 4, attentions[at[1]].String()
		for name, n := range map[string]int{"window": 3, "dilation": 2, "global_tokens": 1, "random_keys": 1, "n_kv_head": 1} {
			c.Options.Offer(name, n)
		}
		c.Position, c.Norm, c.Block = positions[at[0]].String(), norms[at[2]].String(), blocks[at[3]].String()
		c.Activation, c.Head, c.Bias = activations[at[4]].String(), heads[at[5]].String(), at[6] == 1
		c.MLP = mlps[at[7]].String()
		return c
	}
	sizes := [8]int{len(positions), len(attentions), len(norms), len(blocks), len(activations), len(heads), 2, len(mlps)}
	total := 1
	for _, n := range sizes {
		total *= n
	}
	for n := range total {
		var at [8]int
		rest := n
		for k, size := range sizes {
			at[k], rest = rest%size, rest/size
		}
		c := build(at)
		if c.Stack.Check(c.known(), c.BlockSize) == nil && c.Attention != "linformer" {
			list = append(list, at)
		}
	}
	return list, build
}

// covering returns a part of list, drawn by seed, that contains every pair of parts that can be combined.
func covering(list [][8]int, seed uint64) (sample [][8]int) {
	rng := rand.New(rand.NewPCG(seed, 17))
	rng.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	seen := map[[4]int]bool{}
	missing := func(at [8]int) (pairs [][4]int) {
		for i := range at {
			for j := range i {
				if p := [4]int{i, at[i], j, at[j]}; !seen[p] {
					pairs = append(pairs, p)
				}
			}
		}
		return pairs
	}
	for least := 28; least > 0; least-- { // those with the most new pairs first
		for _, at := range list {
			if pairs := missing(at); len(pairs) >= least {
				sample = append(sample, at)
				for _, p := range pairs {
					seen[p] = true
				}
			}
		}
	}
	return sample
}

// In every combination of parts, the number of parameters is the counted one, no token sees a later one or another
// text, and the decoder computes, token by token, the same as a forward pass over the window.
func TestCombinations(t *testing.T) {
	list, build := permitted()
	if os.Getenv("NIGHTLY") == "" {
		list = covering(list, 1)
	}
	if testing.Short() {
		list = list[:len(list)/4]
	}
	t.Logf("%d combinations", len(list))
	for i, at := range list {
		c := build(at)
		name := fmt.Sprint(c.Position, " ", c.Attention, " ", c.Norm, " ", c.Block, " ", c.Activation, " ", c.MLP, " ", c.Head, " ", c.Bias)
		m := model64(t, c, true, 1)
		built := int64(0)
		for _, p := range m.Params() {
			built += int64(p.Tensor().Len())
		}
		if got, _ := c.Count(); got != built {
			t.Errorf("%s: counted %d parameters, %d are built", name, got, built)
		}
		g := graph.New(graph.Float32, 3)
		g.Kernels = i%2 == 0
		ahead := m.Config.causalModel(g, 2)
		causal.Perturb(g)
		if err := causal.Check(ahead); err != nil {
			t.Errorf("%s: kernels %t: %v", name, g.Kernels, err)
		}
		d := newDecoderOf(t, m)
		tokens := make([]int, 1+i%c.BlockSize)
		for j := range tokens {
			tokens[j] = (i*5 + j*3) % c.VocabSize
		}
		var got []float64
		for _, id := range tokens {
			got = feed(t, d, id)
		}
		want := newFull(t, m).last(t, tokens)
		if d := relative(got, want, 0); !(d < 1e-9) {
			t.Errorf("%s: after %d tokens the decoder is %v off a forward pass", name, len(tokens), d)
		}
	}
}
