package papers

import (
	"slices"
	"testing"

	"github.com/pedestrian-ml/pedestrian/verify"
	"github.com/pedestrian-ml/pedestrian/verify/hand"
	"github.com/pedestrian-ml/pedestrian/verify/internal/fixture"
)

// (38) The embedding of a position gets ∇X⁽⁰⁾ of its row, and positions beyond the text get zero. The printed "=" holds
// for one sequence; over a batch the rows add up (erratum D11).
func TestDiabEq38(t *testing.T) {
	s := newStudy(t)
	delta, want := s.nabla(t, "X(0)"), s.nabla(t, "wpe.weight")
	near(t, "∇E_pos", hand.JoinTokens(delta, hand.Zeros[float64](fixture.Positions-s.Context, fixture.Features)), want)
	near(t, "∇E_pos by hand", embeddingBackward(s.Parameters["wpe.weight"], hand.Positions(1, s.Context), delta), want)
	if beyond := want.Tokens(s.Context, fixture.Positions); frobenius(beyond) != 0 {
		t.Errorf("∇E_pos beyond the text: got %v, want 0", beyond.Data)
	}
}

// (38) for a batch of two: assigned sequence by sequence, the second overwrites the first.
func TestDiabPositionsOverBatch(t *testing.T) {
	f := fixture.Generic()
	_, g := byHand(t, f)
	want, err := complexStepOf(f, "wpe.weight")
	if err != nil {
		t.Fatal(err)
	}
	delta := g.Deltas[len(g.Deltas)-1].Value // at the embeddings, (2n, d)
	printed, sum := hand.Zeros[float64](fixture.Positions, fixture.Features), hand.Zeros[float64](fixture.Positions, fixture.Features)
	for row := range delta.Rows {
		for j := range delta.Cols {
			at := row%f.Context*fixture.Features + j
			printed.Data[at] = delta.At(row, j)
			sum.Data[at] += delta.At(row, j)
		}
	}
	near(t, "∇E_pos, added up", sum, want)
	near(t, "∇E_pos by hand", g.Parameters["wpe.weight"], want)
	wrongBy(t, "∇E_pos, assigned", printed, want, 0.808)
}

// complexStepOf differentiates the loss of a fixture by one parameter.
func complexStepOf(f fixture.Fixture, name string) (matrix, error) {
	objective, out := f.Loss, hand.Zeros[float64](f.Parameters[name].Rows, f.Parameters[name].Cols)
	for i := range out.Data {
		var err error
		if out.Data[i], err = verify.ComplexStepAt(objective, f.Parameters, name, i); err != nil {
			return out, err
		}
	}
	return out, nil
}

// (39) The gradient of a token's embedding is the sum of ∇X⁽⁰⁾ over all rows in which the token occurs. Here "+=" is
// printed; "=" would keep the last of them.
func TestDiabEq39(t *testing.T) {
	s := newStudy(t)
	delta, want := s.nabla(t, "X(0)"), s.nabla(t, "wte.weight")
	printed, assigned := hand.Zeros[float64](fixture.Vocabulary, fixture.Features), hand.Zeros[float64](fixture.Vocabulary, fixture.Features)
	for i, token := range s.Tokens {
		for j := range fixture.Features {
			printed.Data[token*fixture.Features+j] += delta.At(i, j)
			assigned.Data[token*fixture.Features+j] = delta.At(i, j)
		}
	}
	near(t, "∇E_token", printed, want)
	near(t, "∇E_token by hand", embeddingBackward(s.Parameters["wte.weight"], s.Tokens, delta), want)
	wrongBy(t, "∇E_token, assigned", assigned, want, 0.353)
	for token := range fixture.Vocabulary {
		if row := want.Tokens(token, token+1); slices.Contains(s.Tokens, token) == (frobenius(row) == 0) {
			t.Errorf("∇E_token of %d: got %v, want zeros only for a token that does not occur", token, row.Data)
		}
	}
}

// Section 2.4 shares E_token with the head, W_lm = E_tokenᵗ, and gives no gradient (erratum D12): it is (39) plus the
// transpose of (16).
func TestDiabTying(t *testing.T) {
	f := newStudy(t, fixture.WithTying).Fixture
	want, err := complexStepOf(f, "wte.weight")
	if err != nil {
		t.Fatal(err)
	}
	a, err := gptForward(f.Plan, f.Parameters, f.Tokens, f.Targets)
	if err != nil {
		t.Fatal(err)
	}
	g, err := gptBackward(f.Plan, f.Parameters, f.Tokens, f.Targets)
	if err != nil {
		t.Fatal(err)
	}
	embedding := embeddingBackward(f.Parameters["wte.weight"], f.Tokens, g.Deltas[len(g.Deltas)-1].Value) // (39)
	head := a.A11.Transpose().MatMul(crossEntropyBackward(a.Logits, f.Targets, hand.Mean)).Transpose()    // (16)ᵗ
	near(t, "(39) + (16)ᵗ", embedding.Add(head), want)
	near(t, "by hand", g.Parameters["wte.weight"], want)
	wrongBy(t, "(39) alone", embedding, want, 1.03)
	wrongBy(t, "(16)ᵗ alone", head, want, 0.229)
}
