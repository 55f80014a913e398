package verify

import (
	"fmt"
	"math"

	"github.com/pedestrian-ml/pedestrian/verify/hand"
	"github.com/pkg/errors"
)

// compare fills the rows with the distances of each road from want. It returns an error if their parameters differ.
func (r *Report) compare(roads []*results, want hand.Parameters[float64]) error {
	if err := r.partition(want); err != nil {
		return err
	}
	if math.IsNaN(r.Loss) || math.IsInf(r.Loss, 0) {
		return errors.Errorf("verify: the loss is %v", r.Loss)
	}
	largest := Largest(want)
	for i := range r.Rows {
		row := &r.Rows[i]
		part := row.part(want)
		row.Shape, row.Count, row.Norm = [2]int{part.Rows, part.Cols}, part.Rows*part.Cols, length(part)
		if math.IsNaN(row.Norm) || math.IsInf(row.Norm, 0) {
			return errors.Errorf("verify: %s: the gradient has length %v", row.Name, row.Norm)
		}
		r.Parameters += row.Count
		row.nonzero = row.Zero && !StructuralZero(part, largest)
	}
	for _, road := range roads {
		r.loss(road)
		r.Causal = road.looked && road.leak == "" && (r.Causal || road == roads[0])
		if road.leak != "" {
			r.Failures = append(r.Failures, road.form.name+": "+road.leak)
		}
		if _, err := Compare(road.grads, want); err != nil {
			return errors.Wrap(err, road.form.name)
		}
		for i := range r.Rows {
			row := &r.Rows[i]
			got := row.part(road.grads)
			row.put(road.form.name, row.difference(got, row.part(want), largest).Distance)
			if row.Zero && road.form.double && !StructuralZero(got, largest) {
				row.nonzero = true
			}
		}
	}
	return nil
}

// partition returns an error unless the rows hold every column of every parameter once.
func (r *Report) partition(want hand.Parameters[float64]) error {
	next := map[string]int{}
	for _, row := range r.Rows {
		if row.from != next[row.parameter] || row.to <= row.from {
			return errors.Wrapf(ErrCoverage, "%s: compares columns %d to %d, want from %d",
				row.Name, row.from, row.to, next[row.parameter])
		}
		next[row.parameter] = row.to
	}
	for name, g := range want {
		if next[name] != g.Cols {
			return errors.Wrapf(ErrCoverage, "%s: compared %d columns, want %d", name, next[name], g.Cols)
		}
	}
	return nil
}

// loss compares the loss of a road with the report's.
func (r *Report) loss(road *results) {
	d := math.Abs(road.loss-r.Loss) / max(1, math.Abs(r.Loss))
	if !(d <= r.road(road.form.name).tolerance) {
		r.Failures = append(r.Failures, fmt.Sprintf("%s: the loss is %v, want %v", road.form.name, road.loss, r.Loss))
	}
}

// finish sets the failures, the worst distances and the names of the roads.
func (r *Report) finish() {
	if r.Roads = []string{"by hand"}; !r.ByHand {
		r.Roads = []string{reference.name}
	}
	columns := r.columns()
	for _, c := range columns {
		r.Roads = append(r.Roads, c.name)
	}
	for _, row := range r.Rows {
		r.Failures = append(r.Failures, r.failures(row)...)
		suspicious := false
		for _, c := range columns {
			got := row.Gaps[c.key]
			*c.worst = max(*c.worst, got)
			suspicious = suspicious || c.suspicion > 0 && !(float64(got) <= c.suspicion)
		}
		if suspicious {
			r.Suspicious = append(r.Suspicious, row.Name)
		}
	}
}

func (r *Report) failures(row Row) (list []string) {
	for _, c := range r.columns() {
		if got := row.Gaps[c.key]; !(float64(got) <= c.tolerance) {
			list = append(list, fmt.Sprintf("%s: %s: %s", row.title(), c.name, c.failure(got)))
		}
	}
	if row.nonzero {
		list = append(list, row.title()+": identically zero, but is not")
	}
	return list
}

func length(m hand.Matrix[float64]) float64 {
	var sum float64
	for _, v := range m.Data {
		sum += v * v
	}
	return math.Sqrt(sum)
}

func (r *Report) done(want hand.Parameters[float64], roads []*results) *Report {
	r.finish()
	if !r.OK() {
		r.First = firstGradient(r, want, roads)
	}
	return r
}
