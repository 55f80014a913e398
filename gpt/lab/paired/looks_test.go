package paired

import (
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
)

// ended simulates studies of some arms with a true difference in units of the deviation, each until every arm has a
// verdict or the looks end. It calls f with the comparison and the judgement with which every arm ends.
func ended(t *testing.T, studies, number int, plan Plan, truth float64, f func(study int, c Comparison, j Judgement)) {
	t.Helper()
	r := rand.New(rand.NewPCG(uint64(number), math.Float64bits(truth)))
	last := plan.Looks[len(plan.Looks)-1]
	for study := range studies {
		base, arms := drawn(r, number, last, func(r *rand.Rand) float64 { return r.NormFloat64() / math.Sqrt2 })
		list, judged := make([]Comparison, number), []Judgement(nil)
		for look, n := range plan.Looks {
			for i, arm := range arms {
				if look > 0 && judged[i].Verdict != NotToldApart {
					continue // it has ended
				}
				for s := range arm[:n] {
					if look == 0 || s >= plan.Looks[look-1] {
						arm[s] += truth
					}
				}
				list[i] = compare(t, arm[:n], base[:n])
			}
			var err error
			if judged, err = (Rule{Difference: 1, Plan: plan}).Judge(look, list); err != nil {
				t.Fatal(err)
			}
			if !slices.ContainsFunc(judged, func(j Judgement) bool { return j.Verdict == NotToldApart }) {
				break
			}
		}
		for i, j := range judged {
			f(study, list[i], j)
		}
	}
}

// The adjusted intervals of all arms cover the true difference at once in 95 % of the studies, wherever they end, and
// leave out 0 if and only if there is a verdict. The interval of a comparison alone covers less after early looks.
func TestAdjustedIntervalsCover(t *testing.T) {
	studies := 40
	if os.Getenv("NIGHTLY") != "" {
		studies = 1500
	}
	for _, b := range []Boundary{Pocock, OBrienFleming} {
		for _, number := range []int{1, 5} {
			for _, truth := range []float64{0, 0.6, 1.2} {
				missed, alone := map[int]bool{}, map[int]bool{}
				ended(t, studies, number, Plan{[]int{4, 8, 16}, b}, truth, func(study int, c Comparison, j Judgement) {
					told := j.Verdict != NotToldApart
					if out := j.Low > 0 || j.High < 0; out && !told || told && j.Low < 0 && j.High > 0 {
						t.Errorf("%v: got the interval %g to %g", j, j.Low, j.High)
					}
					if !(j.Low <= truth && truth <= j.High) {
						missed[study] = true
					}
					if !(c.Low <= truth && truth <= c.High) {
						alone[study] = true
					}
				})
				got, single := float64(len(missed))/float64(studies), float64(len(alone))/float64(studies)
				t.Logf("Δ = %g, %d arms, difference %g: the adjusted intervals miss it in %.3f, those alone in %.3f "+
					"of the studies",
					b, number, truth, got, single)
				if !(got <= most(studies)) {
					t.Errorf("Δ = %g, %d arms, difference %g: got %.3f of the studies with a miss, want at most %.3f",
						b, number, truth,
						got, most(studies))
				}
				if truth == 0 && number == 5 && !(single > Level) {
					t.Errorf(
						"the intervals alone miss the difference in %.3f of the studies, want more than %g", single,
						Level,
					)
				}
			}
		}
	}
}

// The corrected estimate is near the true difference on average. The mean of a study that may end early is not.
func TestEstimate(t *testing.T) {
	studies := 200
	if os.Getenv("NIGHTLY") != "" {
		studies = 5000
	}
	for _, b := range []Boundary{Pocock, OBrienFleming} {
		for _, truth := range []float64{0.3, 0.6, 1.2} {
			var mean, corrected, early, earlyCorrected, n float64
			ended(t, studies, 1, Plan{[]int{4, 8, 16}, b}, truth, func(_ int, c Comparison, j Judgement) {
				mean, corrected = mean+c.Mean/float64(studies), corrected+j.Estimate/float64(studies)
				if c.Seeds < 16 {
					early, earlyCorrected, n = early+c.Mean, earlyCorrected+j.Estimate, n+1
				}
			})
			t.Logf("Δ = %g, difference %g: mean %.3f, corrected %.3f; of the %.2f that end early %.3f and %.3f", b,
				truth, mean, corrected,
				n/float64(studies), early/n, earlyCorrected/n)
			if bias, left := mean-truth, corrected-truth; !(math.Abs(left) <= 0.06) || b == Pocock &&
				!(math.Abs(left) < bias/2) {
				t.Errorf(
					"Δ = %g, difference %g: got the mean %.3f and the estimate %.3f, want the estimate nearer", b,
					truth, mean, corrected,
				)
			}
		}
	}
}
