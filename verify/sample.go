package verify

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/pedestrian-ml/pedestrian/verify/hand"
	"github.com/pedestrian-ml/pedestrian/verify/internal/fixture"
)

// sampling selects the entries for the roads that differentiate by one entry at a time. Up to every parameters they
// take all entries, beyond that the few largest of every row and the same number of random ones.
type sampling struct{ every, few int }

func defaultSampling() sampling { return sampling{every: 5_000, few: 8} }

// complexStep compares the gradients with the complex step of f, which uses no derivative.
func (r *Report) complexStep(w work, f Objective, p, want hand.Parameters[float64], look sampling, seed uint64) error {
	rng := rand.New(rand.NewPCG(seed, 5))
	z := lifted(p)
	err := r.oneByOne(w, complexStep, want, look, rng, func(name string, at int) (float64, error) {
		return stepAt(f, z, name, at)
	})
	if err != nil {
		return err
	}
	direction := hand.Parameters[float64]{}
	var slope, size float64
	for _, name := range slices.Sorted(maps.Keys(want)) {
		direction[name] = fixture.Random("direction "+name, want[name].Rows, want[name].Cols)
		for i, v := range direction[name].Data {
			slope += v * want[name].Data[i]
			size += math.Abs(v * want[name].Data[i])
		}
	}
	along, err := ComplexStepAlong(f, p, direction)
	if err != nil {
		return err
	}
	r.Direction = gap(math.Abs(along-slope) / max(size, math.SmallestNonzeroFloat64))
	if !(r.Direction <= Tolerance) {
		r.Failures = append(r.Failures,
			fmt.Sprintf("complex step along a random direction: %v, by hand %v", along, slope))
	}
	return nil
}

// oneByOne fills the column of a road that differentiates by one entry at a time.
func (r *Report) oneByOne(w work, road string, want hand.Parameters[float64], look sampling, rng *rand.Rand,
	at func(name string, i int) (float64, error)) error {
	type entry struct{ row, at int }
	var entries []entry
	for i := range r.Rows {
		row := &r.Rows[i]
		full := want[row.parameter]
		few := look.few
		if r.Parameters <= look.every {
			few = len(full.Data)
		}
		for _, e := range row.entries(full, few, rng) {
			entries = append(entries, entry{i, e})
		}
	}
	r.Entries = len(entries)
	derivatives := make([]float64, len(entries))
	err := w.each(len(entries), func(i int) (err error) {
		derivatives[i], err = at(r.Rows[entries[i].row].parameter, entries[i].at)
		return err
	})
	if err != nil {
		return err
	}
	largest := Largest(want)
	for i := range r.Rows {
		row := &r.Rows[i]
		got, expected := hand.Zeros[float64](1, 0), hand.Zeros[float64](1, 0)
		for j, e := range entries {
			if e.row == i {
				got.Data = append(got.Data, derivatives[j])
				expected.Data = append(expected.Data, want[row.parameter].Data[e.at])
			}
		}
		got.Cols, expected.Cols = len(got.Data), len(expected.Data)
		row.put(road, row.difference(got, expected, largest).Distance)
	}
	return nil
}

// entries returns the few largest entries of the row and the same number of random ones, as indices into the complete
// parameter.
func (r *Row) entries(full hand.Matrix[float64], few int, rng *rand.Rand) (list []int) {
	for i := range full.Rows {
		for j := r.from; j < r.to; j++ {
			list = append(list, i*full.Cols+j)
		}
	}
	if len(list)-few <= few {
		return list
	}
	rng.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	random := slices.Clone(list[:few])
	slices.SortStableFunc(list, func(a, b int) int {
		return cmp.Compare(math.Abs(full.Data[b]), math.Abs(full.Data[a]))
	})
	return append(random, list[:few]...)
}
