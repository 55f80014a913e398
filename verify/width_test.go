package verify

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// A report fits on a terminal of 100 columns, with the longest names of GPT-2's layers and every road.
func TestReportWidth(t *testing.T) {
	row := Row{
		Name: "h.11.attn.c_attn.weight q", Symbol: "w_q", Equation: "a₁₁ᵗΔ₁₂", Shape: [2]int{768, 2304}, Norm: 0.1,
	}
	for apart, r := range map[string]*Report{
		"symbol  equation": {Roads: []string{"autodiff"}, Rows: []Row{row}, Tolerance: 1e-10},
		" symbol  equation": {
			ByHand: true,
			Rows:   []Row{{Name: "h.0.ln_1.weight", Symbol: "b₁₁", Equation: "a₁₁ᵗΔ₁₂", Shape: [2]int{11, 8}}},
		},
		" symbol equation": {ByHand: true, Rows: []Row{row}},
		"parameter                 equation": {
			ByHand: true, Rows: []Row{row}, ToleranceBF16: 0.1, Precision: "bfloat16 by VDPBF16PS",
		},
	} {
		var b strings.Builder
		if _, err := r.WriteTo(&b); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(b.String(), apart) {
			t.Errorf("want %q in\n%s", apart, b.String())
		}
		for line := range strings.Lines(b.String()) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > 100 {
				t.Errorf("%d columns, want at most 100: %s", n, line)
			}
		}
	}
}
