package nn

import (
	"math"
	"testing"
)

func rms(at Site) Layer { return NewRMSNorm(at) }

// Without ε the size of a token is lost: the norm of c·x is that of x for c > 0, and the gradient is c times smaller
// and has no component along x. With ε it has a component that ε leaves.
func TestI64Scale(t *testing.T) {
	x, delta := wave(24, 1.7), wave(24, 0.9)
	moved := make([]float64, len(x))
	for i, v := range x {
		moved[i] = 5 * v
	}
	for _, kernels := range []bool{false, true} {
		y, dx := normOf(t, rms, 0, kernels, x, delta)
		again, far := normOf(t, rms, 0, kernels, moved, delta)
		_, left := normOf(t, rms, 0.1, kernels, x, delta)
		for row := range 3 {
			along, kept := 0.0, 0.0
			for i := 8 * row; i < 8*row+8; i++ {
				if !(math.Abs(y[i]-again[i]) <= 1e-14) || !(math.Abs(dx[i]-5*far[i]) <= 1e-14) {
					t.Fatalf("kernels %t, entry %d: %v and Δ %v, of 5x %v and %v", kernels, i, y[i], dx[i], again[i], far[i])
				}
				along, kept = along+dx[i]*x[i], kept+left[i]*x[i]
			}
			if !(math.Abs(along) <= 1e-14) || !(math.Abs(kept) > 1e-4) {
				t.Errorf("kernels %t, row %d: Δ·x is %v, want 0, and with ε %v, want more", kernels, row, along, kept)
			}
		}
	}
}

// For a token whose features have the mean 0 it has the value of the layer norm.
func TestI64OfCentredTokens(t *testing.T) {
	x, delta := wave(24, 1.7), wave(24, 0.9)
	for row := range 3 {
		mean := 0.0
		for _, v := range x[8*row : 8*row+8] {
			mean += v / 8
		}
		for i := range 8 {
			x[8*row+i] -= mean
		}
	}
	want, _ := normOf(t, norms()["inside"], 0.1, true, x, delta)
	for _, kernels := range []bool{false, true} {
		got, _ := normOf(t, rms, 0.1, kernels, x, delta)
		for i, w := range want {
			if !(math.Abs(got[i]-w) <= 1e-14) {
				t.Fatalf("kernels %t, entry %d: got %v, want %v", kernels, i, got[i], w)
			}
		}
	}
}

// A token of zeros stays 0, and its gradient is Δ/√ε; without ε both are NaN, only in that row.
func TestI64ZeroRow(t *testing.T) {
	x, delta := wave(24, 1.7), wave(24, 0.9)
	clear(x[8:16])
	for _, kernels := range []bool{false, true} {
		y, dx := normOf(t, rms, 0.01, kernels, x, delta)
		bare, none := normOf(t, rms, 0, kernels, x, delta)
		for i, d := range delta {
			inside := i/8 == 1
			if inside && (y[i] != 0 || !(math.Abs(dx[i]-10*d) <= 1e-13)) {
				t.Errorf("kernels %t, entry %d: got %v and %v, want 0 and %v", kernels, i, y[i], dx[i], 10*d)
			}
			if math.IsNaN(bare[i]) != inside || math.IsNaN(none[i]) != inside {
				t.Errorf("kernels %t, entry %d without ε: got %v and %v, want NaN: %t", kernels, i, bare[i], none[i], inside)
			}
		}
	}
}
