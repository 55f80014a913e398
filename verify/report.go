package verify

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/pedestrian-ml/pedestrian/verify/hand"
)

// Report is the paper's Table 3 with measured distances.
type Report struct {
	ByHand           bool     `json:"by_hand"`    // otherwise autodiff is compared with central differences
	Roads            []string `json:"roads"`      // roads that ran; the others are compared with the first
	Parameters       int      `json:"parameters"` // numbers compared
	Entries          int      `json:"entries"`    // numbers that the complex step or central differences take
	Loss             float64  `json:"loss"`
	Tolerance        float64  `json:"tolerance"`
	ToleranceFloat32 float64  `json:"tolerance_float32"`
	ToleranceBF16    float64  `json:"tolerance_bf16,omitempty"`
	Precision        string   `json:"precision,omitempty"` // of products in bfloat16, and what computes them
	Rows             []Row    `json:"rows"`
	Worst            Gap      `json:"worst"`         // of the float64 roads; central differences are the coarsest
	WorstFloat32     Gap      `json:"worst_float32"` // of the kernels in float32
	WorstBF16        Gap      `json:"worst_bf16,omitempty"`
	Differing        Gap      `json:"differing"`        // most entries of a row that differ on the exact road
	Bound            float64  `json:"bound"`            // log₂ of the probability that it misses a wrong gradient
	Causal           bool     `json:"causal,omitempty"` // no token sees a later one or another text; Models only
	Direction        Gap      `json:"direction"`        // the complex step along a random direction
	Suspicious       []string `json:"suspicious,omitempty"`
	Failures         []string `json:"failures,omitempty"`
	First            string   `json:"first_wrong,omitempty"`
}

// OK reports whether every road agrees on every gradient. It returns false for a nil Report.
func (r *Report) OK() bool { return r != nil && len(r.Failures) == 0 }

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
