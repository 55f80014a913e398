package verify_test

import (
	"io"
	"math"
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/seq2seq"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/nn"
	"github.com/pedestrian-ml/pedestrian/verify"
	"github.com/pedestrian-ml/pedestrian/verify/hand"
)

// A missing part is an error that names it.
func TestNoPanic(t *testing.T) {
	var c gpt.Config
	c.BlockSize, c.VocabSize, c.NLayer, c.NHead, c.NEmbd = 4, 5, 1, 1, 4
	good, err := verify.NewModel(c, 1, 1)
	if err != nil {
		t.Fatal(err)
	}
	but := func(change func(m *verify.Model)) verify.Model {
		m := good
		change(&m)
		return m
	}
	check := func(s verify.Subject) func() error {
		return func() error { _, err := verify.Check(s); return err }
	}
	run := func(c verify.Case) func() error {
		return func() error { _, err := c.Run(); return err }
	}
	layer := func(at nn.Site) nn.Layer { return nn.NewMLP(at) }
	f := func(hand.Parameters[complex128]) (complex128, error) { return 0, nil }
	p := hand.Parameters[float64]{"w": hand.NewMatrix(1, 2, 1.0, 2)}
	for name, tc := range map[string]struct {
		call func() error
		want string
	}{
		"no subject": {check(nil), "want a Model or Pairs"},
		"zero model": {check(verify.Model{}), "Model.Config: vocab_size: got 0"},
		"no tokens": {
			check(but(func(m *verify.Model) { m.Tokens = nil })),
			"Model.Tokens: got 0, want a multiple of block_size, 4",
		},
		"odd tokens": {check(but(func(m *verify.Model) { m.Tokens = make([]int, 5) })), "Model.Tokens: got 5"},
		"few targets": {
			check(but(func(m *verify.Model) { m.Targets = m.Targets[:3] })),
			"Model.Targets: got 3, want as many as Tokens, 4",
		},
		"a wrong token": {check(but(func(m *verify.Model) { m.Tokens = []int{0, 1, 2, 5} })), "tokens[3] is 5"},
		"no parameters": {check(but(func(m *verify.Model) { m.Parameters = nil })), "Model.Parameters: got none"},
		"zero pairs":    {check(verify.Pairs{}), "Pairs.Config: "},
		"zero case":     {run(verify.Case{Name: "c"}), "case c: verify: give one of Build and Layer"},
		"layer of nil":  {run(verify.Case{Layer: func(nn.Site) nn.Layer { return nil }}), "Layer: got nil"},
		"build of zero": {
			run(verify.Case{Build: func(nn.Site, graph.Expr) graph.Expr { return graph.Expr{} }}), "got no expression",
		},
		"panic": {
			run(verify.Case{Build: func(nn.Site, graph.Expr) graph.Expr { panic("mine") }}), "panic: mine at ",
		},
		"size": {
			run(verify.Case{Layer: layer, Dims: nn.Dims{QK: math.MaxInt}}), "Dims: qk: got 9223372036854775807",
		},
		"zero config":  {func() error { _, err := verify.NewModel(gpt.Config{}, 1, 1); return err }, "vocab_size"},
		"batch":        {func() error { _, err := verify.NewModel(c, -1, 1); return err }, "batch: got -1, want ≥ 1"},
		"large batch":  {func() error { _, err := verify.NewModel(c, math.MaxInt, 1); return err }, ""},
		"zero seq2seq": {func() error { _, err := verify.NewPairs(seq2seq.Config{}, 1, 1); return err }, ""},
		"batch of pairs": {
			func() error { _, err := verify.NewPairs(seq2seq.Config{}, -1, 1); return err }, "batch: got -1, want ≥ 1",
		},
		"no objective": {func() error { _, err := verify.ComplexStep(nil, p); return err }, "no objective"},
		"no entry": {
			func() error { _, err := verify.ComplexStepAt(f, p, "w", 2); return err },
			`"w", entry 2: the parameter has 2`,
		},
		"no parameter": {
			func() error { _, err := verify.ComplexStepAt(f, nil, "v", 0); return err },
			`"v", entry 0: the parameter has 0`,
		},
		"long direction": {
			func() error { _, err := verify.ComplexStepAlong(f, nil, p); return err },
			`"w": a direction of 2 numbers, the parameter has 0`,
		},
		"false matrix": {func() error {
			_, err := verify.ComplexStep(f, hand.Parameters[float64]{"w": {Rows: 2, Cols: 2}})
			return err
		}, "(2, 2) from 0 values"},
		"no report": {
			func() error { _, err := (*verify.Report)(nil).WriteTo(io.Discard); return err }, "got no Report",
		},
		"no writer": {func() error { _, err := new(verify.Report).WriteTo(nil); return err }, "no Writer"},
	} {
		t.Run(name, func(t *testing.T) {
			if err := tc.call(); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got error %v, want %q", err, tc.want)
			}
		})
	}
	if (*verify.Report)(nil).OK() || verify.Worst(nil).OK() ||
		verify.Distance(hand.NewMatrix(1, 1, 1.0), p["w"], 1).OK() ||
		verify.Distance(
			hand.Matrix[float64]{Cols: 1}, hand.Matrix[float64]{Rows: 1, Data: make([]float64, 1)}, 1,
		).OK() {
		t.Error("nothing to compare, or matrices of other shapes, passes")
	}
	if list, err := verify.Compare(nil, nil); len(list) > 0 || err != nil ||
		len(verify.ParametersOf([]graph.Expr{{}})) != 1 ||
		verify.FromTensor(graph.Tensor{Shape: []int{2, 2}, F64: make([]float64, 3)}).Err == nil ||
		(verify.Entry{}).String() == "" {
		t.Error("a zero value is taken for something else")
	}
}
