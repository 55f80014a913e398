package main

import (
	"math"
	"slices"
	"testing"

	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/verify"
)

// The first block of a model with one block has the same loss as the model, with all tokens or only the text's.
func TestFirstBlock(t *testing.T) {
	for _, head := range []string{"tied", "linear"} {
		c := small()
		c.NLayer, c.NHead, c.NEmbd, c.BlockSize, c.VocabSize, c.Head = 1, 2, 8, 7, 23, head
		m, err := gpt.New(graph.New(graph.Float64, 3), c, 1)
		if err != nil {
			t.Fatal(err)
		}
		for i, p := range m.Params() {
			for j := range p.Tensor().Len() {
				if err := p.Tensor().Set(j, math.Sin(float64(i*1000+j))); err != nil {
					t.Fatal(err)
				}
			}
		}
		ids := []int{19, 4, 11, 4, 22, 0}
		copy(m.Tokens.Ints(), ids[:5])
		p, err := graph.Compile(m.Logits)
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Run(); err != nil {
			t.Fatal(err)
		}
		want := 0.0
		for i := range 5 {
			row, all := p.Value().Row(i), 0.0
			for _, id := range slices.Compact(slices.Sorted(slices.Values(ids))) {
				all += math.Exp(row.At(id))
			}
			want += (math.Log(all) - row.At(ids[i+1])) / 5
		}
		sample, err := firstBlock(m, ids)
		if err != nil {
			t.Fatal(err)
		}
		r, err := verify.Check(sample)
		if err != nil || !r.OK() || !(math.Abs(r.Loss-want) <= 1e-12*want) {
			t.Errorf("%s: got %v and loss %v, want %v", head, err, r.Loss, want)
		}
	}
}
