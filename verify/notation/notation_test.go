package notation

import (
	"strings"
	"testing"
)

const layerNorm = `
given x: n×d; w, b: 1×d; Δ: n×d
c := x − mean(x)
σ := sqrt(mean(c²) + 0.00001)
a := c / σ
y := a∘w + b
dc = dx − mean(dx) | the mean is linear
dσ = mean(c∘dc) / σ
   = mean(a∘dc)
da = dc/σ − c∘dσ/σ²
   = (dc − a∘mean(a∘dc)) / σ
   = (dx − mean(dx) − a∘mean(a∘dx)) / σ
dy = da∘w + a∘dw + db
Σ Δ∘dy = Σ (Δ∘w)∘da + Σ (Σ_rows Δ∘a)∘dw + Σ (Σ_rows Δ)∘db
g := Δ∘w
Σ g∘da = Σ (g − mean(g) − a∘mean(a∘g)) / σ ∘ dx
`

func TestDerivation(t *testing.T) {
	d, err := ParseDerivation(layerNorm)
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Check(20); err != nil {
		t.Fatal(err)
	}
}

const exercise = `
name: layernorm-input
text: Find the gradient at the input.
given: x: n×d; w, b: 1×d; Δ: n×d
where: c := x − mean(x)
where: σ := sqrt(mean(c²) + 0.00001)
where: a := c / σ
find: Δx
of: a∘w + b
to: x
answer: (Δ∘w − mean(Δ∘w) − a∘mean(a∘Δ∘w)) / σ
wrong: Δ∘w/σ | μ and σ depend on x as well.
`

func TestMark(t *testing.T) {
	e, err := ParseExercise(exercise)
	if err != nil {
		t.Fatal(err)
	}
	for answer, want := range map[string]string{
		"(Δ∘w − mean(Δ∘w) − a∘mean(a∘Δ∘w)) / σ":                   "Right",
		"((delta*w) - mean(delta*w) - a*mean(a*delta*w)) / sigma": "Right",
		"Δ∘w/σ": "depend on x as well",
		"(Δ∘w − mean(Δ∘w) − a∘mean(a∘Δ∘w))":       "The factor σ is one too many",
		"(Δ − mean(Δ) − a∘mean(a∘Δ)) / σ":         "row",
		"(a∘mean(a∘Δ∘w) + mean(Δ∘w) − Δ∘w) / σ":   "sign is wrong",
		"2∘(Δ∘w − mean(Δ∘w) − a∘mean(a∘Δ∘w)) / σ": "2 times",
		"Δ·w":       "want as many columns",
		"Δ∘wq":      "got wq, want one of",
		"Δ∘(w":      "want )",
		"Δ∘soft(w)": "the function soft",
		"Δ∘w∘dx/dx": "differential",
		"Δᵗ":        "is (",
	} {
		v := e.Mark(answer)
		if got := v.Message + " " + v.Hint; !strings.Contains(got, want) {
			t.Errorf("%s: got %q, want %q", answer, got, want)
		} else {
			t.Log(answer, "→", got)
		}
	}
	f, _ := Parse("(Δ∘w − mean(Δ∘w))ᵗ·q1 / σ² + Σ_rows exp(x)")
	t.Log(f.MathML())
}
