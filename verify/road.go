package verify

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
)

// road is a way to the gradients, and a column of the table.
type road struct {
	key       string // in Row.Gaps and in JSON
	name      string // in Report.Roads; its first word heads the column
	ran       bool
	tolerance float64
	suspicion float64          // a row with a larger distance is suspicious; 0 if none is
	worst     *Gap             // field of the report that holds the largest distance
	text      func(Gap) string // formats a distance
}

// Keys of the roads that differentiate by one entry at a time.
const (
	complexStep = "complex"
	differences = "differences"
	exactRoad   = "exact"
)

// roads returns every road, in the order of the table. A new one is an entry here; its distances are put in the rows by
// compare or oneByOne.
func (r *Report) roads() []road {
	return []road{
		{reference.name, reference.name, r.ByHand, r.Tolerance, Suspicion, &r.Worst, Gap.scientific},
		{differences, "central differences", !r.ByHand, toleranceDifferences, 0, &r.Worst, Gap.scientific},
		{kernels64.name, kernels64.name, true, r.Tolerance, Suspicion, &r.Worst, Gap.scientific},
		{complexStep, "complex step", r.ByHand, r.Tolerance, Suspicion, &r.Worst, Gap.scientific},
		{exactRoad, "exact in GF(2⁶¹ − 1)", r.ByHand, 0, 0, &r.Differing, Gap.count},
		{kernels32.name, kernels32.name, true, r.ToleranceFloat32, 0, &r.WorstFloat32, Gap.scientific},
		{rounded32.name, rounded32.name, r.ToleranceBF16 > 0, r.ToleranceBF16, 0, &r.WorstBF16, Gap.scientific},
	}
}

// columns returns the roads that ran.
func (r *Report) columns() []road {
	return slices.DeleteFunc(r.roads(), func(c road) bool { return !c.ran })
}

// road returns the road with the key of a form or of a derivative by entries.
func (r *Report) road(key string) road {
	roads := r.roads()
	return roads[slices.IndexFunc(roads, func(c road) bool { return c.key == key })]
}

// failure describes a distance above the tolerance.
func (c road) failure(g Gap) string {
	if c.key == exactRoad {
		return fmt.Sprintf("%s entries differ from the derivative of the forward pass", c.text(g))
	}
	return fmt.Sprintf("distance %s, want ≤ %.0e", c.text(g), c.tolerance)
}

// Gap is the distance of two gradients, see Difference. It is +Inf, null in JSON, if one of them is not a number.
type Gap float64

func gap(distance float64) Gap {
	if math.IsNaN(distance) {
		return Gap(math.Inf(1))
	}
	return Gap(distance)
}

// count formats a number of entries that differ.
func (g Gap) count() string {
	if g == 0 {
		return "="
	}
	return fmt.Sprintf("%.0f", float64(g))
}

func (g Gap) scientific() string { return fmt.Sprintf("%.1e", float64(g)) }

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
