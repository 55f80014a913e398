package verify

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"

	"github.com/pedestrian-ml/pedestrian/verify/hand"
)

// Row is one parameter, or one block of columns of a packed one: its gradient by hand, and the distances of the other
// roads from it.
type Row struct {
	Name     string         `json:"name"`
	Symbol   string         `json:"symbol,omitempty"`   // in the paper
	Equation string         `json:"equation,omitempty"` // in the paper
	Shape    [2]int         `json:"shape"`
	Count    int            `json:"count"`
	Norm     float64        `json:"norm"`                      // |∂L/∂p|
	Zero     bool           `json:"structural_zero,omitempty"` // 0 for every value of the parameters
	Gaps     map[string]Gap `json:"-"`                         // by road; in JSON each is a key of the row

	nonzero   bool // a structural zero whose gradient is not 0
	parameter string
	from, to  int
}

// MarshalJSON writes the fields and the distance of every road, under the road's key.
func (r Row) MarshalJSON() ([]byte, error) {
	type fields Row
	text, err := json.Marshal(fields(r))
	if err != nil || len(r.Gaps) == 0 {
		return text, err
	}
	gaps, err := json.Marshal(r.Gaps)
	if err != nil {
		return nil, err
	}
	return append(append(text[:len(text)-1], ','), gaps[1:]...), nil
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (r *Row) UnmarshalJSON(text []byte) error {
	type fields Row
	if err := json.Unmarshal(text, (*fields)(r)); err != nil {
		return err
	}
	var keys map[string]json.RawMessage
	if err := json.Unmarshal(text, &keys); err != nil {
		return err
	}
	r.Gaps = nil
	for _, road := range (&Report{}).roads() {
		value, ok := keys[road.key]
		if !ok {
			continue
		}
		var g Gap
		if err := json.Unmarshal(value, &g); err != nil {
			return fmt.Errorf("row %s: %s: %w", r.Name, road.key, err)
		}
		r.put(road.key, float64(g))
	}
	return nil
}

// put sets the distance of a road.
func (r *Row) put(key string, distance float64) {
	if r.Gaps == nil {
		r.Gaps = map[string]Gap{}
	}
	r.Gaps[key] = gap(distance)
}

func length(m hand.Matrix[float64]) float64 {
	var sum float64
	for _, v := range m.Data {
		sum += v * v
	}
	return math.Sqrt(sum)
}

// part returns the row's columns of its parameter.
func (r *Row) part(p hand.Parameters[float64]) hand.Matrix[float64] {
	return p[r.parameter].Columns(r.from, r.to)
}

// difference returns the Distance of two gradients. For a structural zero it is relative to the largest gradient,
// because there is nothing else to compare rounding with.
func (r *Row) difference(got, want hand.Matrix[float64], largest float64) Difference {
	if r.Zero {
		largest /= relativeFloor
	}
	return Distance(got, want, largest)
}

func (r *Row) title() string { return strings.TrimSpace(r.Name + " " + r.Equation) }

func (r *Report) failures(row Row) (list []string) {
	for _, c := range r.columns() {
		if got := row.Gaps[c.key]; !(float64(got) <= c.tolerance) {
			list = append(list, fmt.Sprintf("%s: %s: distance %s, want ≤ %.0e",
				row.title(), c.name, c.text(got), c.tolerance))
		}
	}
	if row.nonzero {
		list = append(list, row.title()+": identically zero, but is not")
	}
	return list
}
