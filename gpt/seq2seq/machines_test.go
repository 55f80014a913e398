package seq2seq

import (
	"fmt"
	"slices"
	"testing"

	"github.com/pedestrian-ml/pedestrian/gpt/dist"
)

// Machines train an encoder–decoder to the same bits as one alone and share an evaluation whose last batch is not
// full; different pairs are refused by name.
func TestMachinesSameBits(t *testing.T) {
	c := small()
	c.GradientAccumulationSteps, c.Dropout, c.Threads = 4, 0.1, 1
	do := func(g dist.Group) (said []string, err error) {
		tr, err := NewTrainer(c, backwards{})
		if err != nil {
			return nil, err
		}
		tr.Group = g
		for range 3 {
			p, err := tr.Step()
			if err != nil {
				return nil, err
			}
			p.Took = 0
			said = append(said, fmt.Sprint(p))
		}
		loss, err := tr.Evaluate(t.Context(), backwards{})
		said = append(said, fmt.Sprint(loss, tr.Best))
		for _, p := range tr.Model.Params() {
			said = append(said, fmt.Sprint(p.Tensor().F32[:1]))
		}
		for _, m := range tr.Moments() {
			said = append(said, fmt.Sprint(m.F32[:1]))
		}
		return said, err
	}
	want, err := do(nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, ranks := range []int{2, 4} {
		err := dist.Run(t.Context(), ranks, func(g dist.Group) error {
			got, err := do(g)
			if err == nil && !slices.Equal(got, want) {
				err = fmt.Errorf("got %v, want %v", got, want)
			}
			return err
		})
		if err != nil {
			t.Errorf("%d ranks: %v", ranks, err)
		}
	}
	err = dist.Run(t.Context(), 2, func(g dist.Group) error {
		tr, err := NewTrainer(c, backwards{})
		if err != nil {
			return err
		}
		tr.Group = g
		tr.SHA256 = fmt.Sprint(g.Rank()) // as if of other pairs
		tr.original.SHA256 = tr.SHA256
		_, err = tr.Step()
		return err
	})
	if want := "rank 1: step 1: got corpus_sha256 1, rank 0 has corpus_sha256 0"; err == nil || err.Error() != want {
		t.Errorf("got error %v, want %s", err, want)
	}
}
