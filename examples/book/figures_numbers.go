package main

import (
	"fmt"
	"math"
)

// bf16 returns x rounded to bfloat16, the nearest number, in case of a tie the one whose last bit is 0.
func bf16(x float32) float32 {
	bits := math.Float32bits(x)
	return math.Float32frombits((bits + 0x7fff + bits>>16&1) &^ 0xffff)
}

// figureStuck shows a sum that grows by 1, in two precisions.
func figureStuck() (string, error) {
	const most = 600
	wide, narrow := curve{name: "float32"}, curve{name: "bf16"}
	var a, b float32
	for n := 0; n <= most; n++ {
		if n%10 == 0 {
			wide.x, wide.y = append(wide.x, float64(n)), append(wide.y, float64(a))
			narrow.x, narrow.y = append(narrow.x, float64(n)), append(narrow.y, float64(b))
		}
		a, b = a+1, bf16(b+1)
	}
	return chart("ones that were added", "sum", wide, narrow), nil
}

// figureOrders shows the sum of the same numbers in four orders.
func figureOrders() (string, error) {
	const n, lanes = 100_000, 16
	var up, down float32
	exact, parts := 0., [lanes]float32{}
	for i := range n {
		x := 1 / float32(i+1)
		up += x
		down += 1 / float32(n-i)
		parts[i%lanes] += x
		exact += float64(x)
	}
	var wide float32
	for _, x := range parts {
		wide += x
	}
	rows := [][]string{{"order", "sum", "bits"}}
	for _, row := range []struct {
		name string
		sum  float32
	}{
		{"from the largest to the smallest", up}, {"from the smallest to the largest", down},
		{"16 sums side by side, then their sum", wide}, {"in 64 bits, rounded at the end", float32(exact)},
	} {
		bits := fmt.Sprintf("%08x", math.Float32bits(row.sum))
		rows = append(rows, []string{row.name, fmt.Sprintf("%.6f", row.sum), bits})
	}
	return table(rows...), nil
}

// figureVariance shows two formulas of the variance in float32.
func figureVariance() (string, error) {
	rows := [][]string{{"added", "mean of (x − mean)²", "mean of x² − (mean of x)²"}}
	for _, shift := range []float32{0, 100, 1000, 10_000, 100_000} {
		var sum, squares, apart float32
		for i := range 4 {
			x := shift + float32(i+1)
			sum, squares = sum+x, squares+float32(x*x)
		}
		mean := sum / 4
		for i := range 4 {
			x := shift + float32(i+1) - mean
			apart += float32(x * x)
		}
		rows = append(rows, []string{
			fmt.Sprintf("%.0f", shift), signed(float64(apart/4), 2), signed(float64(squares/4-float32(mean*mean)), 2),
		})
	}
	return table(rows...), nil
}
