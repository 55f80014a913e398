package papers

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/verify/hand"
	"github.com/pedestrian-ml/pedestrian/verify/internal/fixture"
)

// recurrent returns an Elman layer on two sequences of six tokens.
func recurrent() (x, u, w, b matrix) {
	return fixture.Random("x", 12, 8).Scale(4), fixture.Random("u", 8, 8), fixture.Random("w", 8, 8),
		fixture.Random("b", 1, 8)
}

// Written out as CS 224n (6) has it for two tokens, columns and all: h₂ = σ(W σ(W h₀ + U x₁) + U x₂).
func TestI33TwoTokens(t *testing.T) {
	x, u, w, _ := recurrent()
	column := func(i int) matrix { return x.Tokens(i, i+1).Transpose() }
	ut, wt, h0 := u.Transpose(), w.Transpose(), hand.Zeros[float64](8, 1)
	h1 := wt.MatMul(h0).Add(ut.MatMul(column(0))).Tanh()
	h2 := wt.MatMul(h1).Add(ut.MatMul(column(1))).Tanh()
	near(t, "h", elmanForward(x, u, w, matrix{}, 2).Tokens(0, 2), hand.Join(h1, h2).Transpose())
}

// Without W the tokens do not interact: the layer is tanh(xU + b), each token by itself, and Δ goes only to its own
// token.
func TestI33WithoutMemory(t *testing.T) {
	x, u, w, b := recurrent()
	delta := fixture.Random("delta", 12, 8)
	near(t, "h", elmanForward(x, u, w.Scale(0), b, 2), linearForward(x, u, b).Tanh())
	for i := range 6 { // Δ at one token
		one := hand.Zeros[float64](12, 8)
		copy(one.Data[i*8:], delta.Data[i*8:(i+1)*8])
		dx, _, _, _ := elmanBackward(x, u, w.Scale(0), b, 2, one)
		for j := range 12 {
			if got := frobenius(dx.Tokens(j, j+1)); (got > 0) != (j == i) {
				t.Errorf("Δ at %d: ‖Δx_%d‖ = %v", i, j, got)
			}
		}
		dx, _, _, _ = elmanBackward(x, u, w, b, 2, one)
		for j := range 12 {
			if got := frobenius(dx.Tokens(j, j+1)); (got > 0) != (j <= i) {
				t.Errorf("with a memory, Δ at %d: ‖Δx_%d‖ = %v", i, j, got)
			}
		}
	}
}

// Δ at the last token comes to a token k before it through k factors diag(1 − h²)Wᵗ: written out as that product. The
// smaller W, the faster it vanishes, at most ‖W‖ᵏ.
func TestI33ProductThroughTime(t *testing.T) {
	x, u, w, b := recurrent()
	for _, scale := range []float64{1, 0.2} {
		w := w.Scale(scale)
		h, last := elmanForward(x, u, w, b, 2), hand.Zeros[float64](12, 8)
		delta := fixture.Random("delta", 1, 8)
		copy(last.Data[5*8:], delta.Data)
		dx, _, _, _ := elmanBackward(x, u, w, b, 2, last)
		jacobian := lifted(h.Tokens(5, 6).Square().Scale(-1).Shift(1)) // diag(1 − h²)   (d, d)
		product := delta.MatMul(jacobian)
		for k := 0; ; k++ {
			near(t, fmt.Sprintf("Δx, %d back", k), dx.Tokens(5-k, 6-k), product.MatMul(u.Transpose()))
			limit := frobenius(delta) * math.Pow(frobenius(w), float64(k)) * frobenius(u)
			if got := frobenius(dx.Tokens(5-k, 6-k)); !(got <= limit) {
				t.Errorf("%d back: ‖Δx‖ = %v, want at most %v", k, got, limit)
			}
			if k == 5 {
				break
			}
			product = product.MatMul(w.Transpose()).MatMul(lifted(h.Tokens(4-k, 5-k).Square().Scale(-1).Shift(1)))
		}
	}
}

func TestElmanErrors(t *testing.T) {
	x, u, w, b := recurrent()
	h := elmanForward(x, u, w, b, 5)
	if h.Err == nil || !strings.Contains(h.Err.Error(), "12 tokens in 5 sequences") {
		t.Errorf("got error %v, want both numbers", h.Err)
	}
	if dx, _, _, _ := elmanBackward(x, u.Transpose().Columns(0, 3), w, b, 2, x); dx.Err == nil {
		t.Error("a weight of another width: got no error")
	}
}
