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
