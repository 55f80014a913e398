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
	Name        string  `json:"name"`
	Symbol      string  `json:"symbol,omitempty"`   // in the paper
	Equation    string  `json:"equation,omitempty"` // in the paper
	Shape       [2]int  `json:"shape"`
	Count       int     `json:"count"`
	Norm        float64 `json:"norm"` // |∂L/∂p|
	Autodiff    Gap     `json:"autodiff"`
	Kernels     Gap     `json:"kernels"`
	Complex     Gap     `json:"complex"`
	Float32     Gap     `json:"float32"`
	BF16        Gap     `json:"bf16,omitempty"`
	Differences Gap     `json:"differences,omitempty"`
	Zero        bool    `json:"structural_zero,omitempty"` // 0 for every value of the parameters

	nonzero   bool // a structural zero whose gradient is not 0
	parameter string
	from, to  int
}

// Gap is the distance of two gradients, see Difference. It is +Inf, null in JSON, if one of them is not a number.
type Gap float64

func gap(distance float64) Gap {
	if math.IsNaN(distance) {
		return Gap(math.Inf(1))
	}
	return Gap(distance)
}

// MarshalJSON writes a number, or null for +Inf.
func (g Gap) MarshalJSON() ([]byte, error) {
	if math.IsInf(float64(g), 1) {
		return []byte("null"), nil
	}
	return json.Marshal(float64(g))
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (g *Gap) UnmarshalJSON(text []byte) error {
	if string(text) == "null" {
		*g = Gap(math.Inf(1))
		return nil
	}
	return json.Unmarshal(text, (*float64)(g))
}

func (r *Row) put(road string, distance float64) {
	switch g := gap(distance); road {
	case reference.name:
		r.Autodiff = g
	case kernels64.name:
		r.Kernels = g
	case kernels32.name:
		r.Float32 = g
	case rounded32.name:
		r.BF16 = g
	case complexStep:
		r.Complex = g
	case differences:
		r.Differences = g
	}
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

// The roads that differentiate by one entry at a time.
const (
	complexStep = "complex step"
	differences = "central differences"
)

// column is a road in the table.
type column struct {
	road      string
	gap       func(Row) Gap
	tolerance float64
}

func (r *Report) columns() []column {
	kernels := column{kernels64.name, func(w Row) Gap { return w.Kernels }, r.Tolerance}
	float := column{kernels32.name, func(w Row) Gap { return w.Float32 }, r.ToleranceFloat32}
	list := []column{
		{reference.name, func(w Row) Gap { return w.Autodiff }, r.Tolerance},
		kernels,
		{complexStep, func(w Row) Gap { return w.Complex }, r.Tolerance},
		float,
	}
	if !r.ByHand {
		list = []column{{differences, func(w Row) Gap { return w.Differences }, toleranceDifferences}, kernels, float}
	}
	if r.ToleranceBF16 > 0 {
		list = append(list, column{rounded32.name, func(w Row) Gap { return w.BF16 }, r.ToleranceBF16})
	}
	return list
}

func (r *Report) failures(row Row) (list []string) {
	for _, c := range r.columns() {
		if got := c.gap(row); !(float64(got) <= c.tolerance) {
			list = append(list, fmt.Sprintf("%s: %s: distance %.1e, want ≤ %.0e",
				row.title(), c.road, got, c.tolerance))
		}
	}
	if row.nonzero {
		list = append(list, row.title()+": identically zero, but is not")
	}
	return list
}
