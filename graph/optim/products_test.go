package optim

import "testing"

// The products of Muon and SOAP are counted for every matrix that a parameter packs, and only for matrices.
func TestProducts(t *testing.T) {
	for _, c := range []struct {
		name           string
		rule           Rule
		shape, columns []int
		want           float64
	}{
		{"muon", Muon{}, []int{3, 5}, nil, 3*9*5 + 17*27}, {"muon, transposed", Muon{}, []int{5, 3}, nil, 3*9*5 +
			17*27},
		{"muon, one step", Muon{Steps: 1}, []int{3, 5}, nil, 3*9*5 + 27},
		{"muon, packed", Muon{}, []int{3, 7}, []int{5, 2}, 3*9*5 + 17*27 + 3*4*3 + 17*8},
		{"soap", SOAP{}, []int{3, 5}, nil, 5*(9*5+25*3) + (8*(27+125)+2*(9*5+25*3))/10.0},
		{"soap, often", SOAP{Frequency: 2}, []int{3, 5}, nil, 5*(9*5+25*3) + (8*(27+125)+2*(9*5+25*3))/2.0},
		{"soap, one side", SOAP{MaxDim: 4}, []int{3, 5}, nil, 5*9*5 + (8*27+2*9*5)/10.0},
	} {
		s, err := StateOf(c.rule, "w", c.shape)
		if err != nil {
			t.Fatal(err)
		}
		if got := s.Products(c.shape, c.columns); got != c.want {
			t.Errorf("%s: got %v operations, want %v", c.name, got, c.want)
		}
		if got := s.Products([]int{4}, nil); got != 0 {
			t.Errorf("%s: got %v operations for a vector, want none", c.name, got)
		}
	}
}
