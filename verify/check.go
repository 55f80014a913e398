package verify

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/pkg/errors"
)

// What "equal" means for the other witnesses.
const (
	ToleranceFloat32 = 1e-3  // kernels in float32, a whole model
	everyEntry       = 5_000 // parameters up to which the complex step looks at every entry
	sampled          = 8     // beyond: so many of the largest and of random entries of every tensor
)

// Check works out every gradient of m by hand and compares it, parameter by parameter, with four witnesses: Gorgonia's
// differentiation of the spelled graph, the kernels' backward operations in float64 and in float32, and the complex step
// of the forward by hand, which knows no derivative. The error is of a model that cannot be built or evaluated;
// disagreements are in the Report.
func Check(m Model) (*Report, error) {
	h, err := m.hand()
	if err != nil {
		return nil, err
	}
	witnesses := map[form]*answers{}
	for _, f := range []form{spelled, kernels64, kernels32} {
		b, err := build(m, m.batch(), f)
		if err != nil {
			return nil, err
		}
		if witnesses[f], err = b.run(m); err != nil {
			return nil, errors.Wrap(err, f.name)
		}
		h.Dropout = b.dropout(m)
	}
	a, err := GPTForward(h, m.Parameters, m.Tokens, m.Targets)
	if err != nil {
		return nil, err
	}
	g, err := GPTBackward(h, m.Parameters, m.Tokens, m.Targets, a)
	if err != nil {
		return nil, err
	}
	r := &Report{Parameters: m.Count(), Loss: a.Loss.Data[0], Tolerance: Tolerance}
	for f, w := range witnesses {
		r.loss(f, w.loss)
		if err := r.compare(m, f, w.grads, g.Parameters); err != nil {
			return nil, err
		}
	}
	if err := r.complexStep(m, h, g.Parameters); err != nil {
		return nil, err
	}
	r.finish(m, g, witnesses)
	return r, nil
}

// loss compares the value of the loss itself.
func (r *Report) loss(f form, got float64) {
	d := math.Abs(got-r.Loss) / max(1, math.Abs(r.Loss))
	if !(d <= f.tolerance()) {
		r.Failures = append(r.Failures, fmt.Sprintf("%s: the loss is %v, by hand %v", f.name, got, r.Loss))
	}
}

func (f form) tolerance() float64 {
	if f.wide {
		return Tolerance
	}
	return ToleranceFloat32
}

// compare fills one column of the table. Parameters that only one side has are failures.
func (r *Report) compare(m Model, f form, got, want Parameters[float64]) error {
	if len(r.Rows) == 0 {
		r.Rows = rows(m, want)
	}
	if _, err := Compare(got, want); err != nil {
		return errors.Wrap(err, f.name)
	}
	largest := Largest(want)
	for i := range r.Rows {
		row := &r.Rows[i]
		row.put(f.name, Distance(row.part(got), row.part(want), largest).Distance)
		if row.Zero && f.wide {
			row.ZeroHolds = row.ZeroHolds && StructuralZero(row.part(got), largest)
		}
	}
	return nil
}

// rows lists the parameters from the embeddings to the head, the packed ones in their blocks.
func rows(m Model, hand Parameters[float64]) (list []Row) {
	largest := Largest(hand)
	for _, name := range slices.SortedFunc(maps.Keys(hand), order) {
		g := hand[name]
		for _, s := range sources(name) {
			row := Row{Name: name + s.suffix, Symbol: s.symbol, Equation: s.equation, parameter: name, to: g.Cols, Zero: s.zero, ZeroHolds: true}
			if s.block >= 0 {
				qk := m.Config.NHead * m.Config.QKSize
				row.from, row.to = s.block*qk, min((s.block+1)*qk, g.Cols)
				if s.block == 2 {
					row.to = g.Cols
				}
			}
			part := row.part(hand)
			row.Shape, row.Count, row.Norm = [2]int{part.Rows, part.Cols}, part.Rows*part.Cols, length(part)
			if row.Zero {
				row.ZeroHolds = StructuralZero(part, largest)
			}
			list = append(list, row)
		}
	}
	return list
}

// complexStep is the witness that knows no derivative: entry by entry for a small model; for a large one the entries of
// every tensor that the hand finds largest, some random ones, and one random direction over everything.
func (r *Report) complexStep(m Model, h GPT, hand Parameters[float64]) error {
	f := h.Objective(m.Tokens, m.Targets)
	rng := rand.New(rand.NewPCG(m.Seed, 5))
	largest := Largest(hand)
	for i := range r.Rows {
		row := &r.Rows[i]
		full := hand[row.parameter]
		var got, want []float64
		for _, at := range row.entries(full, m.Count() <= everyEntry, rng) {
			d, err := ComplexStepAt(f, m.Parameters, row.parameter, at)
			if err != nil {
				return err
			}
			got, want = append(got, d), append(want, full.Data[at])
		}
		row.put("complex", Distance(NewMatrix(1, len(got), got...), NewMatrix(1, len(want), want...), largest).Distance)
	}
	direction, slope := Parameters[float64]{}, 0.0
	var size float64
	for _, name := range slices.Sorted(maps.Keys(hand)) {
		direction[name] = Random("direction "+name, hand[name].Rows, hand[name].Cols)
		for i, v := range direction[name].Data {
			slope += v * hand[name].Data[i]
			size += math.Abs(v * hand[name].Data[i])
		}
	}
	along, err := ComplexStepAlong(f, m.Parameters, direction)
	if err != nil {
		return err
	}
	r.Direction = math.Abs(along-slope) / max(size, math.SmallestNonzeroFloat64)
	if !(r.Direction <= Tolerance) {
		r.Failures = append(r.Failures, fmt.Sprintf("complex step along a random direction: %v, by hand %v", along, slope))
	}
	return nil
}

// finish says what failed, and where the first wrong Δ is, from the loss downwards.
func (r *Report) finish(m Model, g Gradients[float64], witnesses map[form]*answers) {
	for _, row := range r.Rows {
		r.Failures = append(r.Failures, row.failures()...)
		r.Worst = max(r.Worst, row.Spelled, row.Kernels, row.Complex)
		r.WorstFloat32 = max(r.WorstFloat32, row.Float32)
		if row.worst() > Suspicion {
			r.Suspicious = append(r.Suspicious, row.Name)
		}
	}
	if len(r.Failures) == 0 {
		return
	}
	var top float64
	for _, d := range g.Deltas {
		top = max(top, Largest(Parameters[float64]{"": d.Value}))
	}
	for _, d := range g.Deltas {
		for _, f := range []form{spelled, kernels64} {
			got, ok := witnesses[f].deltas[d.Name]
			if !ok || got.Rows != d.Value.Rows || got.Cols != d.Value.Cols {
				continue
			}
			if diff := Distance(got, d.Value, top); !diff.OK() {
				r.First = firstWrong(m, f.name, d.Name, diff)
				return
			}
		}
	}
}

// firstWrong names the place of a Δ: its row of Table 2, sequence, token, and head where it has one.
func firstWrong(m Model, witness, name string, d Difference) string {
	c := m.Config
	where := fmt.Sprintf("feature %d", d.Col)
	switch {
	case strings.HasSuffix(name, ".attn.heads"):
		where = fmt.Sprintf("head %d, feature %d", d.Col/c.VSize, d.Col%c.VSize)
	case strings.HasSuffix(name, ".attn.c_attn"):
		qk := c.NHead * c.QKSize
		switch block := min(d.Col/qk, 2); block {
		case 2:
			where = fmt.Sprintf("values, head %d, feature %d", (d.Col-2*qk)/c.VSize, (d.Col-2*qk)%c.VSize)
		default:
			where = fmt.Sprintf("%s, head %d, feature %d", []string{"queries", "keys"}[block], d.Col%qk/c.QKSize, d.Col%c.QKSize)
		}
	}
	return fmt.Sprintf("the first wrong Δ from the loss downwards: %s, at the output of %s, sequence %d, token %d, %s: %s has %v, by hand %v (row %d, column %d, distance %.1e)",
		equationOfDelta(name), name, d.Row/c.BlockSize, d.Row%c.BlockSize, where, witness, d.Got, d.Want, d.Row, d.Col, d.Distance)
}

func blockName(i int) string { return fmt.Sprintf("h.%d", i) }
