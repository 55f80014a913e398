package verify

import (
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"text/tabwriter"
)

// Report is the paper's Table 3 with measured distances.
type Report struct {
	Parameters   int      `json:"parameters"`
	Loss         float64  `json:"loss"`
	Tolerance    float64  `json:"tolerance"`
	Rows         []Row    `json:"rows"`
	Worst        float64  `json:"worst"`         // over all float64 witnesses
	WorstFloat32 float64  `json:"worst_float32"` // of the kernels in float32
	Direction    float64  `json:"direction"`     // the complex step along a random direction over everything
	Suspicious   []string `json:"suspicious,omitempty"`
	Failures     []string `json:"failures,omitempty"`
	First        string   `json:"first_wrong_delta,omitempty"`
}

// OK says whether every witness agrees with every gradient by hand.
func (r *Report) OK() bool { return len(r.Failures) == 0 }

// Row is one parameter, or one block of columns of a packed one: its gradient by hand, and how far the witnesses are from it.
type Row struct {
	Name     string  `json:"name"`
	Symbol   string  `json:"symbol"`   // the paper's
	Equation string  `json:"equation"` // of the paper
	Shape    [2]int  `json:"shape"`
	Count    int     `json:"count"`
	Norm     float64 `json:"norm"` // |∂L/∂p|
	Spelled  float64 `json:"spelled"`
	Kernels  float64 `json:"kernels"`
	Complex  float64 `json:"complex"`
	Float32  float64 `json:"float32"`
	Zero     bool    `json:"structural_zero,omitempty"` // 0 for every value of the parameters

	ZeroHolds bool `json:"-"`
	parameter string
	from, to  int
}

func (r *Row) put(witness string, distance float64) {
	if math.IsNaN(distance) {
		distance = math.Inf(1)
	}
	switch witness {
	case "spelled":
		r.Spelled = distance
	case "kernels":
		r.Kernels = distance
	case "complex":
		r.Complex = distance
	case "float32":
		r.Float32 = distance
	}
}

func length(m Matrix[float64]) float64 {
	var sum float64
	for _, v := range m.Data {
		sum += v * v
	}
	return math.Sqrt(sum)
}

// part is the row's columns of its parameter.
func (r *Row) part(p Parameters[float64]) Matrix[float64] {
	return p[r.parameter].Columns(r.from, r.to)
}

func (r *Row) worst() float64 { return max(r.Spelled, r.Kernels, r.Complex) }

func (r *Row) failures() (list []string) {
	for _, w := range []struct {
		name          string
		got, tolerate float64
	}{{"spelled", r.Spelled, Tolerance}, {"kernels", r.Kernels, Tolerance}, {"complex step", r.Complex, Tolerance}, {"float32 kernels", r.Float32, ToleranceFloat32}} {
		if !(w.got <= w.tolerate) {
			list = append(list, fmt.Sprintf("%s %s: %s: distance %.1e, want ≤ %.0e", r.Name, r.Equation, w.name, w.got, w.tolerate))
		}
	}
	if r.Zero && !r.ZeroHolds {
		list = append(list, fmt.Sprintf("%s %s: identically zero, but is not", r.Name, r.Equation))
	}
	return list
}

// entries picks the entries of the row that the complex step looks at, as indices into the whole parameter.
func (r *Row) entries(full Matrix[float64], every bool, rng *rand.Rand) (list []int) {
	for i := range full.Rows {
		for j := r.from; j < r.to; j++ {
			list = append(list, i*full.Cols+j)
		}
	}
	if every || len(list) <= 2*sampled {
		return list
	}
	rng.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	random := slices.Clone(list[:sampled])
	slices.SortStableFunc(list, func(a, b int) int {
		x, y := math.Abs(full.Data[a]), math.Abs(full.Data[b])
		switch {
		case x > y:
			return -1
		case x < y:
			return 1
		}
		return 0
	})
	return append(random, list[:sampled]...)
}

// WriteTo prints the table.
func (r *Report) WriteTo(w io.Writer) (n int64, err error) {
	var b strings.Builder
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "parameter\tsymbol\tequation\tshape\tcount\t|∂L/∂p|\tautodiff\tkernels\tcomplex step\tfloat32")
	for _, row := range r.Rows {
		size := fmt.Sprintf("%.2e", row.Norm)
		if row.Zero {
			size = "≡ 0"
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t(%d, %d)\t%d\t%s\t%.1e\t%.1e\t%.1e\t%.1e\n",
			row.Name, row.Symbol, row.Equation, row.Shape[0], row.Shape[1], row.Count, size, row.Spelled, row.Kernels, row.Complex, row.Float32)
	}
	t.Flush()
	fmt.Fprintf(&b, "\n%d parameters in %d rows, each compared with its gradient by hand; loss %.6f\n", r.Parameters, len(r.Rows), r.Loss)
	fmt.Fprintf(&b, "worst distance %.1e in float64 (%.0e fails), %.1e in float32 (%.0e fails); along a random direction %.1e\n",
		r.Worst, r.Tolerance, r.WorstFloat32, ToleranceFloat32, r.Direction)
	if len(r.Suspicious) > 0 {
		fmt.Fprintf(&b, "above %.0e: %s\n", Suspicion, strings.Join(r.Suspicious, ", "))
	}
	for _, f := range r.Failures {
		fmt.Fprintln(&b, "FAIL", f)
	}
	if r.First != "" {
		fmt.Fprintln(&b, r.First)
	}
	if r.OK() {
		fmt.Fprintln(&b, "every gradient by hand equals autodiff")
	}
	m, err := io.WriteString(w, b.String())
	return int64(m), err
}
