package seq2seq

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/pedestrian-ml/pedestrian/gpt/parts"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/nn"
)

// mixing is a norm that first adds to the rows a mixture of all rows of the batch.
type mixing struct {
	nn.Layer
	shares graph.Expr
}

func (l mixing) Forward(x graph.Expr) graph.Expr { return l.Layer.Forward(x.Add(l.shares.MatMul(x))) }

// mixingNorm returns a norm that mixes row j into row i where takes reports true, on one side of the model.
func mixingNorm(context int, takes func(i, j int) bool) parts.Norm {
	return parts.Norm{Name: "own", New: func(at nn.Site) nn.Layer {
		n := at.Batch * at.Context
		if at.Context != context {
			return nn.NewLayerNorm(at)
		}
		return mixing{nn.NewLayerNorm(at), at.Value("shares", func(k int, _ *rand.Rand) float64 {
			if takes(k/n, k%n) {
				return 1
			}
			return 0
		}, n, n)}
	}}
}

// A part by which a target's token sees later ones, or a pair sees another one, is refused when a run begins and when
// a checkpoint is opened; sources are completely visible.
func TestLookingAheadIsRefused(t *testing.T) {
	c := small()
	if c.SourceSize == c.TargetSize {
		t.Fatal("both sides have the same size")
	}
	honest := mixingNorm(c.SourceSize, func(i, j int) bool { return i == j })
	c.Norm, c.Parts.Norms = "own", []parts.Norm{honest}
	run := begun(t, c)
	cp := saved(t, run, abc(t), "", nil)
	loaded, _, err := LoadModel(cp, c.Parts)
	if err != nil {
		t.Fatal(err)
	}
	for i, p := range loaded.Params() {
		if want := run.Model.Params()[i]; !slices.Equal(p.Tensor().F32, want.Tensor().F32) {
			t.Errorf("%s: the check of a checkpoint has changed its numbers", want.Name())
		}
	}
	text := func(size int) func(i, j int) bool { return func(i, j int) bool { return i/size == j/size } }
	batch := func(size int) func(i, j int) bool { return func(i, j int) bool { return i%size == j%size } }
	for name, tc := range map[string]struct {
		norm parts.Norm
		want []string
	}{
		"source": {mixingNorm(c.SourceSize, text(c.SourceSize)), nil},
		"target": {
			mixingNorm(c.TargetSize, text(c.TargetSize)),
			[]string{"decoder.h.0.", "token 0 sees later tokens of its text, 1–"},
		},
		"sources of a batch": {
			mixingNorm(c.SourceSize, batch(c.SourceSize)), []string{"encoder.h.0.", "sees another text of the batch"},
		},
		"targets of a batch": {
			mixingNorm(c.TargetSize, batch(c.TargetSize)), []string{"decoder.h.0.", "sees another text of the batch"},
		},
	} {
		c.Parts.Norms = []parts.Norm{tc.norm}
		_, begun := NewTrainer(c, run.pairs)
		_, _, opened := LoadModel(cp, c.Parts)
		for _, err := range []error{begun, opened} {
			if tc.want == nil && err != nil {
				t.Errorf("%s: got %v", name, err)
			}
			mustSay(t, err, tc.want...)
		}
		c.Parts.Bidirectional = name == "target"
		if _, err := NewTrainer(c, run.pairs); c.Parts.Bidirectional && err != nil {
			t.Errorf("%s, declared: got %v", name, err)
		}
		c.Parts.Bidirectional = false
	}
}
