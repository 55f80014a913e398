package notation

import (
	"testing"
	"time"

	"github.com/pedestrian-ml/pedestrian/internal/fuzzed"
)

// FuzzMark marks any text. It neither panics nor takes long, and a formula that is shown as text means the same again.
func FuzzMark(f *testing.F) {
	e, err := ParseExercise(exercise)
	if err != nil {
		f.Fatal(err)
	}
	for _, seed := range []string{
		"Δ∘w/σ", "sum_rows(x*w)^T", "Σ Σ_rows Σ_cols x", "((((((", "−−−x", "x/0", "softmax(causal(x@x^T))", "tokens(x, 0, 2)",
		"columns(x, 2, 1)", "join(x, x, b)", "d(x)", "1e9", "0.5.5", "x²²²²²²²²", "log(−1)", "max(x)∘stack(w, b)", "^", "Σ",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, answer string) {
		var v Verdict
		fuzzed.Bounded(t, 1<<30, 10*time.Second, func() { v = e.Mark(answer) })
		if v.Right == (v.Hint != "") && v.Right {
			t.Errorf("%q is right, with the hint %q", answer, v.Hint)
		}
		g, err := Parse(answer)
		if err != nil {
			return
		}
		again, err := Parse(text(g.root))
		if err != nil || again.MathML() != g.MathML() {
			t.Errorf("%q is written as %q: %v", answer, text(g.root), err)
		}
	})
}
