package program

import (
	"fmt"
	"math"
	"testing"
)

func TestThousands(t *testing.T) {
	for n, want := range map[int]string{
		0: "0", 7: "7", 999: "999", 1000: "1,000", 65_536: "65,536", 804_096: "804,096", 1_234_567: "1,234,567",
		-1: "-1", -999: "-999", -1000: "-1,000", -123_456: "-123,456",
	} {
		if got := Thousands(n); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// TestRoundZero checks that a number that rounds to zero has no sign.
func TestRoundZero(t *testing.T) {
	for _, x := range []float64{-0.004, math.Copysign(0, -1), 0.004, -1e-300} {
		if got := fmt.Sprintf("%.2f %+.2f", Round(x, 2), Round(x, 2)); got != "0.00 +0.00" {
			t.Errorf("%g: got %q, want zero without a sign", x, got)
		}
	}
}

// TestQuantile checks quantiles of lists in any order, which stay unchanged.
func TestQuantile(t *testing.T) {
	for _, tc := range []struct {
		list []float64
		q    float64
		want float64
	}{
		{nil, 0.5, 0}, {[]float64{7}, 0.9, 7}, {[]float64{3, 1, 2}, 0.5, 2}, {[]float64{4, 1, 3, 2}, 0.5, 3},
		{[]float64{4, 1, 3, 2}, 0, 1},
		{[]float64{9, 8, 7, 6, 5, 4, 3, 2, 1, 0}, 0.1, 1}, {[]float64{4, 1, 3, 2}, 0.99, 4},
	} {
		before := fmt.Sprint(tc.list)
		if got := Quantile(tc.list, tc.q); got != tc.want || fmt.Sprint(tc.list) != before {
			t.Errorf("%v at %v: got %v, want %v", tc.list, tc.q, got, tc.want)
		}
	}
}

// The median of an even number of values is the mean of the two in the middle.
func TestMedian(t *testing.T) {
	for _, tc := range []struct {
		list []float64
		want float64
	}{{nil, 0}, {[]float64{7}, 7}, {[]float64{9, 1}, 5}, {[]float64{3, 1, 2}, 2}, {[]float64{4, 1, 3, 2}, 2.5}} {
		before := fmt.Sprint(tc.list)
		if got := Median(tc.list); got != tc.want || fmt.Sprint(tc.list) != before {
			t.Errorf("%v: got %v, want %v", tc.list, got, tc.want)
		}
	}
}

func TestSignificant(t *testing.T) {
	for x, want := range map[float64]string{
		0: "0", 22210.4: "22,210", 22216: "22,220", 1234567: "1,235,000", 10.3: "10.3", 3.14159: "3.142",
		0.000012345: "0.00001234",
		-1234.56:    "-1,235", 999.96: "1,000",
	} {
		if got := Significant(x, 4); got != want {
			t.Errorf("%v: got %s, want %s", x, got, want)
		}
	}
}
