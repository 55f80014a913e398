package inspect

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/graph"
)

// Before the changed token nothing has an effect, to the bit. Patching the only embedding that differs, or the last
// stream at the last token, gives the clean answer, to the bit. All other numbers come from a model in which the
// activation is replaced.
func TestPatch(t *testing.T) {
	q := Question{Clean: []int{3, 1, 12, 0, 7}, Corrupt: []int{3, 1, 4, 0, 7}, Right: 2, Wrong: 11}
	for _, kernels := range []bool{true, false} {
		m := model(t, odd(), kernels, 2)
		answer := func(m2 Activations) float64 {
			z := at(t, m2, "logits").Row(4)
			return z.At(q.Right) - z.At(q.Wrong)
		}
		run := func(patterns []string, text []int) Activations {
			p, err := Tap(m, patterns...)
			if err != nil {
				t.Fatal(err)
			}
			a, err := p.Run(text)
			if err != nil {
				t.Fatal(err)
			}
			return a
		}
		e, err := Patch(m, q, "drop", "h.*", "h.*.attn.heads", "h.0.mlp")
		if err != nil {
			t.Fatal(err)
		}
		clean := run([]string{"*", "h.*", "h.*.attn.heads", "h.0.mlp"}, q.Clean)
		if want := answer(clean); e.Clean != want {
			t.Errorf("got the clean answer %v, want %v", e.Clean, want)
		}
		if want := answer(run([]string{"logits"}, q.Corrupt)); e.Corrupt != want {
			t.Errorf("got the corrupt answer %v, want %v", e.Corrupt, want)
		}
		var names []string
		for i, one := range e.All {
			names = append(names, one.Place)
			if !slices.Equal(one.By[:2], []float64{0, 0}) || one.By[2] == 0 && one.Place == "h.0" {
				t.Errorf("%s head %d: got the effects %v", one.Place, one.Head, one.By)
			}
			for token, by := range one.By {
				if token != 2+2*(i%2) || !kernels {
					continue // each takes a separate graph
				}
				edit := All(m).Tokens(token, token+1)
				if one.Head >= 0 {
					edit = edit.Head(one.Head)
				}
				p, err := Tap(replace(t, m, one.Place, edit.Set(at(t, clean, one.Place))), "logits")
				if err != nil {
					t.Fatal(err)
				}
				a, err := p.Run(q.Corrupt)
				if err != nil {
					t.Fatal(err)
				}
				if want := answer(a) - e.Corrupt; by != want {
					t.Errorf("%s head %d, token %d: got %v, want %v", one.Place, one.Head, token, by, want)
				}
			}
			if all := e.Clean - e.Corrupt; one.Place == "drop" && one.By[2] != all || one.Place == "h.1" &&
				one.By[4] != all {
				t.Errorf("%s: got the effects %v, want %v of all there is", one.Place, one.By, all)
			}
		}
		if want := []string{
			"drop", "h.0.attn.heads", "h.0.attn.heads", "h.0.mlp", "h.0", "h.1.attn.heads", "h.1.attn.heads", "h.1",
		}; !slices.Equal(names, want) {
			t.Errorf("got %q, want %q", names, want)
		}
	}
}

// To first order the effect is the derivative along the line from the corrupt to the clean activation, which is the
// complete effect if the answer is linear in the activation.
func TestPatchGradient(t *testing.T) {
	q := Question{Clean: []int{3, 1, 12, 0, 7}, Corrupt: []int{3, 1, 4, 0, 7}, Right: 2, Wrong: 11}
	m := model(t, odd(), true, 2)
	first, err := PatchGradient(m, q, "h.0", "h.1.attn.heads", "ln_f")
	if err != nil {
		t.Fatal(err)
	}
	complete, err := Patch(m, q, "h.0", "h.1.attn.heads", "ln_f")
	if err != nil {
		t.Fatal(err)
	}
	if first.Clean != complete.Clean || first.Corrupt != complete.Corrupt || len(first.All) != 4 {
		t.Fatalf("got %+v, want the answers and activations of %+v", first, complete)
	}
	p, err := Tap(m, "h.0", "h.1.attn.heads")
	if err != nil {
		t.Fatal(err)
	}
	var runs [2]Activations
	for i, text := range [][]int{q.Corrupt, q.Clean} {
		if runs[i], err = p.Run(text); err != nil {
			t.Fatal(err)
		}
	}
	for i, one := range first.All {
		for token, by := range one.By {
			want := complete.All[i].By[token]
			if token%2 == 1 {
				continue
			}
			if one.Place != "ln_f" {
				edit := All(m).Tokens(token, token+1)
				if one.Head >= 0 {
					edit = edit.Head(one.Head)
				}
				from, to := at(t, runs[0], one.Place), at(t, runs[1], one.Place)
				by := func(h float64) float64 {
					x := graph.Tensor{Shape: from.Shape, F64: from.Floats()}
					for j := range x.F64 {
						x.F64[j] += h * (to.At(j) - from.At(j))
					}
					p, err := Tap(replace(t, m, one.Place, edit.Set(x)), "logits")
					if err != nil {
						t.Fatal(err)
					}
					a, err := p.Run(q.Corrupt)
					if err != nil {
						t.Fatal(err)
					}
					z := at(t, a, "logits").Row(4)
					return z.At(q.Right) - z.At(q.Wrong)
				}
				want = (by(1e-4) - by(-1e-4)) / 2e-4
			}
			if !(math.Abs(by-want) <= 1e-6*math.Abs(want)+1e-11) {
				t.Errorf("%s head %d, token %d: got %v, want %v", one.Place, one.Head, token, by, want)
			}
		}
	}
}

func TestPatchErrors(t *testing.T) {
	m := model(t, odd(), true, 1)
	q := Question{Clean: tokens[:2], Corrupt: tokens[:2], Right: 1}
	if _, err := Patch(m, q, "h.9"); err == nil || !strings.Contains(err.Error(), `"h.9"`) {
		t.Errorf("of no place: got the error %v", err)
	}
	for want, q := range map[string]Question{
		"2 tokens and a corrupt one of 3":  {Clean: tokens[:2], Corrupt: tokens[:3]},
		"got 0 tokens, want 1":             {Right: 1},
		"token 1 is 13":                    {Clean: tokens[:2], Corrupt: []int{1, 13}, Right: 1},
		"got id 2 for Right and for Wrong": {Clean: tokens[:2], Corrupt: tokens[:2], Right: 2, Wrong: 2},
		"id 13 after token 1":              {Clean: tokens[:2], Corrupt: tokens[:2], Right: 13},
		"id -1 after token 1":              {Clean: tokens[:2], Corrupt: tokens[:2], Wrong: -1},
	} {
		for _, f := range []func() error{
			func() error { _, err := Patch(m, q, "h.0"); return err },
			func() error { _, err := PatchGradient(m, q, "h.0"); return err },
		} {
			if err := f(); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("got the error %v, want it to say %q", err, want)
			}
		}
	}
}

// The entries add up to the change of the loss. Gauss's rule with n points is exact for polynomials of degree 2n−1, so
// the error falls from each n to its double by much more than the remaining digits, until it reaches rounding.
func TestIntegratedGradients(t *testing.T) {
	m := model(t, odd(), true, 1)
	a := tap(t, m, "h.0", "h.1")
	other := at(t, a, "h.1")
	for _, tc := range []struct {
		place string
		from  *graph.Tensor
	}{{"drop", &other}, {"h.0", &other}, {"h.1.attn.heads", nil}, {"h.1.mlp.act", nil}, {"logits", nil}} {
		var off []float64
		for _, points := range []int{2, 8, 64} {
			x, change, err := IntegratedGradients(m, tc.place, tc.from, tokens, targets, points)
			if err != nil {
				t.Fatal(err)
			}
			sum := 0.0
			for i := range x.Len() {
				sum += x.At(i)
			}
			off = append(off, math.Abs(sum-change))
		}
		if !(off[2] <= 1e-12) || !(off[2] <= off[1]) || !(off[0] > 1e-9) {
			t.Errorf("%s: the entries are %.2g from the change of the loss with 2, 8 and 64 points", tc.place, off)
		}
	}
	for want, f := range map[string]func() error{
		"got 0 points": func() error {
			_, _, err := IntegratedGradients(m, "h.0", nil, tokens, targets, 0)
			return err
		},
		"2 activations, want one": func() error {
			_, _, err := IntegratedGradients(m, "h.*", nil, tokens, targets, 1)
			return err
		},
		"got 0 numbers to begin with, want 70": func() error {
			_, _, err := IntegratedGradients(m, "h.0", &graph.Tensor{}, tokens, targets, 1)
			return err
		},
		"got 4097 points": func() error {
			_, _, err := IntegratedGradients(nil, "h.0", nil, nil, nil, 1<<12+
				1)
			return err
		},
		"no model": func() error { _, _, err := IntegratedGradients(nil, "h.0", nil, nil, nil, 1<<12); return err },
		"got 8 tokens": func() error {
			_, _, err := IntegratedGradients(m, "h.0", nil, make([]int, 8), make([]int, 8), 1)
			return err
		},
		"2 targets": func() error {
			_, _, err := IntegratedGradients(m, "h.0", nil, tokens, targets[:2], 1)
			return err
		},
	} {
		if err := f(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got the error %v, want it to say %q", err, want)
		}
	}
}
