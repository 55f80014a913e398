package papers

import (
	"testing"

	"github.com/pedestrian-ml/pedestrian/verify/hand"
	"github.com/pedestrian-ml/pedestrian/verify/internal/fixture"
)

// Widths of the latents, and the features of a head that rotate.
const (
	latentSize  = 4
	queryLatent = 7
	rotatedSize = 2
)

func fixtureHeads() multiHead {
	causal := hand.CausalMask(fixture.Tokens)
	return multiHead{Batch: fixture.Batch, Heads: fixture.Heads, QK: fixture.QK, Masks: []matrix{causal, causal}}
}

// latentFixture returns latent attention with the sizes of the fixture, and Δ at its output.
func latentFixture() (x matrix, p mlaParameters, m multiHead, delta matrix) {
	const n, qk, v = fixture.Batch * fixture.Tokens, fixture.Heads * fixture.QK, fixture.Heads * fixture.Values
	p = mlaParameters{
		Wq: fixture.Random("wq", fixture.Features, qk), Down: fixture.Random("down", fixture.Features, latentSize),
		UpK: fixture.Random("k", latentSize, qk),
		UpV: fixture.Random("v", latentSize, v), Wo: fixture.Random("wo", v, fixture.Features),
		Bo: fixture.Random("bo", 1, fixture.Features),
	}
	return fixture.Random("x", n, fixture.Features).Scale(4), p, fixtureHeads(),
		fixture.Random("delta", n, fixture.Features)
}

// TestI41AbsorptionGivesTheSameGradients checks that absorption gives the same gradients and values: the absorbed
// matrices are differentiated first, then their factors.
func TestI41AbsorptionGivesTheSameGradients(t *testing.T) {
	x, p, m, delta := latentFixture()
	near(t, "y", mlaAbsorbedForward(x, p, m), mlaForward(x, p, m))
	wantX, want := mlaBackward(x, p, m, delta)
	gotX, got := mlaAbsorbedBackward(x, p, m, delta)
	near(t, "Δx", gotX, wantX)
	near(t, "∂w_q", got.Wq, want.Wq)
	near(t, "∂w↓", got.Down, want.Down)
	near(t, "∂w↑_k", got.UpK, want.UpK)
	near(t, "∂w↑_v", got.UpV, want.UpV)
	near(t, "∂w_o", got.Wo, want.Wo)
	near(t, "∂b_o", got.Bo, want.Bo)
}

// TestI41IsMultiHeadAttention checks that it is multi-headed attention with keys and values of rank dc: the products
// w↓w↑ are the matrices of the usual layer, and their gradients lead to the gradients of the factors (39).
func TestI41IsMultiHeadAttention(t *testing.T) {
	x, p, m, delta := latentFixture()
	wk, wv := p.Down.MatMul(p.UpK), p.Down.MatMul(p.UpV)
	w := hand.Join(p.Wq, wk, wv)
	packed := x.MatMul(w)
	near(t, "y", mlaForward(x, p, m), multiHeadForward(packed, m).MatMul(p.Wo).Add(p.Bo))
	dx, g := mlaBackward(x, p, m, delta)
	wantX, dw, _ := linearBackward(x, w, multiHeadBackward(packed, m, delta.MatMul(p.Wo.Transpose())))
	near(t, "Δx", dx, wantX)
	dwk, dwv := dw.Columns(wk.Cols, 2*wk.Cols), dw.Columns(2*wk.Cols, dw.Cols)
	near(t, "∂w↑_k", g.UpK, p.Down.Transpose().MatMul(dwk))
	near(t, "∂w↑_v", g.UpV, p.Down.Transpose().MatMul(dwv))
	near(t, "∂w↓", g.Down, dwk.MatMul(p.UpK.Transpose()).Add(dwv.MatMul(p.UpV.Transpose())))
}

// rotaryFixture returns the same with rotating parts; the rotating key is computed from the given number of features.
func rotaryFixture(from int) (x matrix, p mlaRoPEParameters, m multiHead, r rotary, delta matrix) {
	x, plain, m, delta := latentFixture()
	p = mlaRoPEParameters{
		DownQ: fixture.Random("qdown", fixture.Features, queryLatent),
		UpQ:   fixture.Random("q", queryLatent, plain.Wq.Cols),
		RoPEQ: fixture.Random("qr", queryLatent, fixture.Heads*rotatedSize),
		RoPEK: fixture.Random("kr", from, rotatedSize),
		Down:  plain.Down, UpK: plain.UpK, UpV: plain.UpV, Wo: plain.Wo, Bo: plain.Bo,
	}
	return x, p, m, rotary{
		Positions: hand.Positions(fixture.Batch, fixture.Tokens), Size: rotatedSize, Theta: 10,
	}, delta
}

// TestI42ReadingsAgreeOnTheRankOfTheLatent checks that a rotating key from the latent is one from the token with the
// matrix w↓w_kr, in value and gradients. The converse would need rank dc, which is the difference between the readings
// (erratum X5).
func TestI42ReadingsAgreeOnTheRankOfTheLatent(t *testing.T) {
	x, ofLatent, m, r, delta := rotaryFixture(latentSize)
	ofToken := ofLatent
	ofToken.RoPEK = ofLatent.Down.MatMul(ofLatent.RoPEK)
	near(t, "y", mlaRoPEForward(x, ofToken, m, r), mlaRoPELatentForward(x, ofLatent, m, r))
	dx, token := mlaRoPEBackward(x, ofToken, m, r, delta)
	wantX, latent := mlaRoPELatentBackward(x, ofLatent, m, r, delta)
	near(t, "Δx", dx, wantX)
	near(t, "∂w_kr", ofLatent.Down.Transpose().MatMul(token.RoPEK), latent.RoPEK)
	near(t, "∂w↓", token.Down.Add(token.RoPEK.MatMul(ofLatent.RoPEK.Transpose())), latent.Down)
	near(t, "∂w↑_k", token.UpK, latent.UpK)
}

// TestI42TurningKeyIsShared checks that the gradient of the rotating key is the sum of the gradients of the heads.
func TestI42TurningKeyIsShared(t *testing.T) {
	x, p, m, r, delta := rotaryFixture(fixture.Features)
	_, both := mlaRoPEBackward(x, p, m, r, delta)
	sum := hand.Zeros[float64](p.RoPEK.Rows, p.RoPEK.Cols)
	for h := range m.Heads { // an output that looks at one head leaves the gradient of that head
		one, size := p, p.UpV.Cols/m.Heads
		one.Wo = hand.Zeros[float64](p.Wo.Rows, p.Wo.Cols)
		copy(one.Wo.Data[h*size*p.Wo.Cols:(h+1)*size*p.Wo.Cols], p.Wo.Data[h*size*p.Wo.Cols:])
		_, g := mlaRoPEBackward(x, one, m, r, delta)
		if frobenius(g.RoPEK) < 1e-3 {
			t.Errorf("head %d has a gradient of %v", h, frobenius(g.RoPEK))
		}
		sum = sum.Add(g.RoPEK)
	}
	near(t, "∂w_kr", both.RoPEK, sum)
}

// TestI42TurnsOnlyByDistance checks that nothing changes if all positions move by the same amount.
func TestI42TurnsOnlyByDistance(t *testing.T) {
	x, p, m, r, _ := rotaryFixture(fixture.Features)
	moved := r
	moved.Positions = nil
	for _, at := range r.Positions {
		moved.Positions = append(moved.Positions, at+11)
	}
	near(t, "y", mlaRoPEForward(x, p, m, moved), mlaRoPEForward(x, p, m, r))
	moved.Positions[3]++
	if d := mlaRoPEForward(x, p, m, moved).Sub(mlaRoPEForward(x, p, m, r)); frobenius(d) < 1e-3 {
		t.Errorf("one token moved alone: the output changes by %v", frobenius(d))
	}
}
