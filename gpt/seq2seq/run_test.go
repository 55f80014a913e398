package seq2seq

import (
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/gpt/train"
)

// Run does the remaining steps, and frozen parameters do not change; a pattern that matches nothing is refused.
func TestRunWithAFrozenEncoder(t *testing.T) {
	c := small()
	c.MaxIters, c.Frozen = 3, train.Frozen{"encoder.*"}
	tr := newTrainer(t, c)
	before := map[string]float64{}
	for _, p := range tr.Model.Params() {
		before[p.Name()] = p.Tensor().At(0)
	}
	for range 2 {
		for p, err := range tr.Run(t.Context()) {
			if err != nil || p.Step == 2 {
				break
			}
		}
	}
	frozen := 0
	for _, p := range tr.Model.Params() {
		if is := strings.HasPrefix(p.Name(), "encoder."); is {
			frozen++
			if p.Tensor().At(0) != before[p.Name()] {
				t.Errorf("%s has changed", p.Name())
			}
		} else if strings.HasSuffix(p.Name(), "c_fc.weight") && p.Tensor().At(0) == before[p.Name()] {
			t.Errorf("%s has not changed", p.Name())
		}
	}
	if tr.Done != 3 || frozen == 0 || len(tr.Moments()) != 2*(len(tr.Model.Params())-frozen) {
		t.Errorf("%d steps, %d frozen of %d, %d moments", tr.Done, frozen, len(tr.Model.Params()), len(tr.Moments()))
	}
	c.Frozen = train.Frozen{"encoder.h.8.*"}
	if _, err := NewTrainer(c, backwards{}); err == nil ||
		!strings.Contains(err.Error(), "frozen: got encoder.h.8.*, which is none of the ") {
		t.Errorf("got error %v", err)
	}
	for _, nothing := range []*Trainer{nil, {}} {
		for _, err := range nothing.Run(t.Context()) {
			if err == nil {
				t.Error("got a step")
			}
		}
	}
}
