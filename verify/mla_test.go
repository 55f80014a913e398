package verify

import "testing"

// latentFixture is latent attention on the sizes of the fixture, with Δ at its output.
func latentFixture() (x Matrix[float64], p MLA[float64], m MultiHead, delta Matrix[float64]) {
	const n, qk, v = fixtureBatch * fixtureTokens, fixtureHeads * fixtureQK, fixtureHeads * fixtureValues
	p = MLA[float64]{
		Wq: Random("wq", fixtureFeatures, qk), Down: Random("down", fixtureFeatures, fixtureLatent), UpK: Random("k", fixtureLatent, qk),
		UpV: Random("v", fixtureLatent, v), Wo: Random("wo", v, fixtureFeatures), Bo: Random("bo", 1, fixtureFeatures),
	}
	return Random("x", n, fixtureFeatures).Scale(4), p, caseHeads(), Random("delta", n, fixtureFeatures)
}

// TestI41AbsorptionGivesTheSameGradients, and the same values: the absorbed matrices are differentiated first and their
// factors from them.
func TestI41AbsorptionGivesTheSameGradients(t *testing.T) {
	x, p, m, delta := latentFixture()
	near(t, "y", MLAAbsorbedForward(x, p, m), MLAForward(x, p, m))
	wantX, want := MLABackward(x, p, m, delta)
	gotX, got := MLAAbsorbedBackward(x, p, m, delta)
	near(t, "Δx", gotX, wantX)
	near(t, "∂w_q", got.Wq, want.Wq)
	near(t, "∂w↓", got.Down, want.Down)
	near(t, "∂w↑_k", got.UpK, want.UpK)
	near(t, "∂w↑_v", got.UpV, want.UpV)
	near(t, "∂w_o", got.Wo, want.Wo)
	near(t, "∂b_o", got.Bo, want.Bo)
}

// TestI41IsMultiHeadAttention with keys and values of rank dc: the products w↓w↑ are the matrices of the usual layer, and
// their gradients lead to those of the factors (39).
func TestI41IsMultiHeadAttention(t *testing.T) {
	x, p, m, delta := latentFixture()
	wk, wv := p.Down.MatMul(p.UpK), p.Down.MatMul(p.UpV)
	w := JoinColumns(p.Wq, wk, wv)
	packed := x.MatMul(w)
	near(t, "y", MLAForward(x, p, m), MultiHeadForward(packed, m).MatMul(p.Wo).Add(p.Bo))
	dx, g := MLABackward(x, p, m, delta)
	wantX, dw, _ := LinearBackward(x, w, MultiHeadBackward(packed, m, delta.MatMul(p.Wo.Transpose())))
	near(t, "Δx", dx, wantX)
	dwk, dwv := dw.Columns(wk.Cols, 2*wk.Cols), dw.Columns(2*wk.Cols, dw.Cols)
	near(t, "∂w↑_k", g.UpK, p.Down.Transpose().MatMul(dwk))
	near(t, "∂w↑_v", g.UpV, p.Down.Transpose().MatMul(dwv))
	near(t, "∂w↓", g.Down, dwk.MatMul(p.UpK.Transpose()).Add(dwv.MatMul(p.UpV.Transpose())))
}

// rotaryFixture is the same with turning parts; the turning key takes so many features.
func rotaryFixture(from int) (x Matrix[float64], p MLARoPE[float64], m MultiHead, r Rotary, delta Matrix[float64]) {
	x, plain, m, delta := latentFixture()
	p = MLARoPE[float64]{
		DownQ: Random("qdown", fixtureFeatures, fixtureQueryLatent), UpQ: Random("q", fixtureQueryLatent, plain.Wq.Cols),
		TurnQ: Random("qr", fixtureQueryLatent, fixtureHeads*fixtureRotary), TurnK: Random("kr", from, fixtureRotary),
		Down: plain.Down, UpK: plain.UpK, UpV: plain.UpV, Wo: plain.Wo, Bo: plain.Bo,
	}
	return x, p, m, caseRotary(0), delta
}

// TestI42ReadingsAgreeOnTheRankOfTheLatent: a turning key of the latent is one of the token whose matrix is w↓w_kr, value
// and gradients; the other way round it would need rank dc, which is where the readings differ (erratum X5).
func TestI42ReadingsAgreeOnTheRankOfTheLatent(t *testing.T) {
	x, ofLatent, m, r, delta := rotaryFixture(fixtureLatent)
	ofToken := ofLatent
	ofToken.TurnK = ofLatent.Down.MatMul(ofLatent.TurnK)
	near(t, "y", MLARoPEForward(x, ofToken, m, r), MLARoPELatentForward(x, ofLatent, m, r))
	dx, token := MLARoPEBackward(x, ofToken, m, r, delta)
	wantX, latent := MLARoPELatentBackward(x, ofLatent, m, r, delta)
	near(t, "Δx", dx, wantX)
	near(t, "∂w_kr", ofLatent.Down.Transpose().MatMul(token.TurnK), latent.TurnK)
	near(t, "∂w↓", token.Down.Add(token.TurnK.MatMul(ofLatent.TurnK.Transpose())), latent.Down)
	near(t, "∂w↑_k", token.UpK, latent.UpK)
}

// TestI42TurningKeyIsShared: its gradient is the sum of what the heads send back, each by itself.
func TestI42TurningKeyIsShared(t *testing.T) {
	x, p, m, r, delta := rotaryFixture(fixtureFeatures)
	_, both := MLARoPEBackward(x, p, m, r, delta)
	sum := Zeros[float64](p.TurnK.Rows, p.TurnK.Cols)
	for h := range m.Heads { // an output that looks at one head leaves the gradient of that head
		one, size := p, p.UpV.Cols/m.Heads
		one.Wo = Zeros[float64](p.Wo.Rows, p.Wo.Cols)
		copy(one.Wo.Data[h*size*p.Wo.Cols:(h+1)*size*p.Wo.Cols], p.Wo.Data[h*size*p.Wo.Cols:])
		_, g := MLARoPEBackward(x, one, m, r, delta)
		if frobenius(g.TurnK) < 1e-3 {
			t.Errorf("head %d has a gradient of %v", h, frobenius(g.TurnK))
		}
		sum = sum.Add(g.TurnK)
	}
	near(t, "∂w_kr", both.TurnK, sum)
}

// TestI42TurnsOnlyByDistance: all positions moved by as much, and nothing changes.
func TestI42TurnsOnlyByDistance(t *testing.T) {
	x, p, m, r, _ := rotaryFixture(fixtureFeatures)
	moved := r
	moved.Positions = nil
	for _, at := range r.Positions {
		moved.Positions = append(moved.Positions, at+11)
	}
	near(t, "y", MLARoPEForward(x, p, m, moved), MLARoPEForward(x, p, m, r))
	moved.Positions[3]++
	if d := MLARoPEForward(x, p, m, moved).Sub(MLARoPEForward(x, p, m, r)); frobenius(d) < 1e-3 {
		t.Errorf("one token moved alone: the output changes by %v", frobenius(d))
	}
}
