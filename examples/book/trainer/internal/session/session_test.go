package session_test

import (
	"encoding/json"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/examples/book/trainer/internal/session"
)

// ask sends a request and reads the answer into result.
func ask(t *testing.T, s *session.Session, r session.Request, result any) {
	t.Helper()
	request, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	data := s.Handle(request)
	var complaint struct{ Error string }
	if err := json.Unmarshal(data, &complaint); err != nil || complaint.Error != "" {
		t.Fatalf("%+v: got %s (%v), want an answer", r, data, err)
	}
	if result == nil {
		return
	}
	if err := json.Unmarshal(data, result); err != nil {
		t.Fatalf("%+v: %v", r, err)
	}
}

func start(t *testing.T, s *session.Session, c session.Choice) (b session.Started) {
	t.Helper()
	ask(t, s, session.Request{Do: "start", Choice: c}, &b)
	return b
}

// The first model has about 20,000 parameters, and its loss falls below the loss of a uniform guess.
func TestTraining(t *testing.T) {
	var s session.Session
	b := start(t, &s, session.Choice{})
	if b.Parameters < 18_000 || b.Parameters > 22_000 {
		t.Errorf("got %d parameters, want about 20,000", b.Parameters)
	}
	sum := 0
	for _, m := range b.Matrices {
		sum += m.Rows * m.Cols
	}
	if sum != b.Parameters || len(b.Vocabulary) != 12 {
		t.Errorf("got matrices of %d entries and %d tokens, want %d and 12", sum, len(b.Vocabulary), b.Parameters)
	}
	var done session.Stepped
	ask(t, &s, session.Request{Do: "step", Steps: 60}, &done)
	if first := done.Losses[0]; math.Abs(first-b.Uniform) > 0.3 {
		t.Errorf("got %v as the first loss, want about %v", first, b.Uniform)
	}
	if last := done.Losses[59]; done.Step != 60 || !(last < b.Uniform-0.5) {
		t.Errorf("got loss %v after step %d, want much less than %v after step 60", last, done.Step, b.Uniform)
	}
	var l session.Look
	ask(t, &s, session.Request{Do: "look"}, &l)
	if len(l.Matrices) != len(b.Matrices) || len(l.Samples) != 8 || len(l.Heads) != 8 || len(l.Tokens) != b.Block {
		t.Fatalf("got %d matrices, %d samples, %d heads, %d tokens, want %d, 8, 8, %d",
			len(l.Matrices), len(l.Samples), len(l.Heads), len(l.Tokens), len(b.Matrices), b.Block)
	}
	for i, m := range l.Matrices {
		if len(m.Values) != m.Rows*m.Cols || m.Name != b.Matrices[i].Name {
			t.Errorf("%s: got %d values, want %d of %s", m.Name, len(m.Values), m.Rows*m.Cols, b.Matrices[i].Name)
		}
	}
	for _, h := range l.Heads {
		for i := range h.Rows {
			sum := 0.0
			for j, x := range h.Values[i*h.Cols : (i+1)*h.Cols] {
				if sum += x; j > i && x != 0 {
					t.Errorf("%s: got %v at (%d, %d), want 0 for a later token", h.Name, x, i, j)
				}
			}
			if math.Abs(sum-1) > 0.01 {
				t.Errorf("%s: row %d: got the sum %v, want 1", h.Name, i, sum)
			}
		}
	}
}

// Every part that the page offers trains, and its gradients by hand and by automatic differentiation agree.
func TestEveryChoice(t *testing.T) {
	var s session.Session
	var c session.Choices
	ask(t, &s, session.Request{Do: "choices"}, &c)
	if len(c.Tasks) != 3 || len(c.Positions) < 4 || len(c.Norms) < 4 || len(c.Attentions) < 15 {
		t.Fatalf("got %d tasks, positions %v, norms %v, attentions %v",
			len(c.Tasks), c.Positions, c.Norms, c.Attentions)
	}
	var list []session.Choice
	for _, name := range c.Positions {
		list = append(list, session.Choice{Position: name})
	}
	for _, name := range c.Norms {
		list = append(list, session.Choice{Norm: name})
	}
	for _, name := range c.Attentions {
		list = append(list, session.Choice{Attention: name})
	}
	for _, task := range c.Tasks {
		list = append(list, session.Choice{Task: task.Name})
	}
	for i, choice := range list {
		if os.Getenv("NIGHTLY") == "" && i%5 != 0 { // each compiles three programs
			continue
		}
		name := choice.Task + choice.Position + choice.Norm + choice.Attention
		b := start(t, &s, choice)
		ask(t, &s, session.Request{Do: "step", Steps: 3}, nil)
		var l session.Look
		ask(t, &s, session.Request{Do: "look"}, &l)
		if len(l.Heads) == 0 && !strings.HasPrefix(name, "min") && !strings.HasPrefix(name, "rg") {
			t.Errorf("%s: got no heads of attention or of a recurrence", name)
		}
		for i, m := range b.Matrices {
			if i%3 != 1 && i < len(b.Matrices)-1 {
				continue
			}
			var g session.Gradient
			row, col := m.Rows/2, m.Cols-1
			ask(t, &s, session.Request{Do: "gradient", Name: m.Name, Row: row, Col: col}, &g)
			if !(g.AutodiffDistance <= 1e-11) || !(g.TrainedDistance <= 1e-3) {
				t.Errorf("%s: %s: distances %v in float64 and %v in float32, want at most 1e-11 and 1e-3",
					name, m.Name, g.AutodiffDistance, g.TrainedDistance)
			}
			if g.Symbol == "" {
				t.Errorf("%s: %s: got no symbol of the gradient by hand", name, m.Name)
			}
			if strings.HasPrefix(g.Equation, "(") && g.States == "" {
				t.Errorf("%s: %s: the equation %s is not spelled out", name, m.Name, g.Equation)
			}
		}
	}
}

// A gradient is about a difference quotient of the loss: the one by hand belongs to the batch of the last step.
func TestGradientBeforeTheFirstStep(t *testing.T) {
	var s session.Session
	start(t, &s, session.Choice{})
	var g session.Gradient
	ask(t, &s, session.Request{Do: "gradient", Name: "lm_head.weight", Row: 3, Col: 5}, &g)
	if g.Step != 0 || g.Hand == 0 || math.Abs(g.Hand-g.Autodiff) > 1e-12 {
		t.Errorf("got step %d, %v by hand, %v by autodiff; want step 0 and equal numbers", g.Step, g.Hand, g.Autodiff)
	}
}

// The hash depends on the seed and on every choice, and not on what is looked at in between.
func TestHash(t *testing.T) {
	hash := func(c session.Choice) string {
		t.Helper()
		h, err := session.Hash(c, 6)
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	seen := map[string]bool{}
	for _, c := range []session.Choice{
		{}, {Seed: 2}, {Task: "sort"}, {Task: "text"}, {Norm: "rmsnorm"}, {Position: "rope"}, {Attention: "retnet"},
	} {
		seen[hash(c)] = true
	}
	if len(seen) != 7 {
		t.Errorf("got %d different hashes, want 7", len(seen))
	}
	var s session.Session
	start(t, &s, session.Choice{})
	for range 3 {
		ask(t, &s, session.Request{Do: "step", Steps: 2}, nil)
		ask(t, &s, session.Request{Do: "look"}, nil)
		ask(t, &s, session.Request{Do: "gradient", Name: "wte.weight"}, nil)
	}
	var got struct {
		Step int
		Hash string
	}
	ask(t, &s, session.Request{Do: "hash"}, &got)
	if want := hash(session.Choice{}); got.Hash != want || got.Step != 6 {
		t.Errorf("got %s after step %d, want %s after step 6", got.Hash, got.Step, want)
	}
}

// Requests that make no sense are answered by errors that name the field.
func TestRefusals(t *testing.T) {
	var s session.Session
	for request, want := range map[string]string{
		`{`:                                    "unexpected end",
		`{"do":"step"}`:                        "nothing is trained",
		`{"do":"start","lane":2}`:              "lane: got 2, want 0 to 1",
		`{"do":"start","choice":{"task":"x"}}`: "task: got \"x\"",
		`{"do":"start","choice":{"norm":"x"}}`: "norm",
		`{"do":"start","choice":{"attention":"gla","position":"rope"}}`: "position: got rope",
		`{"do":"start","choice":{"task":"text","text":"short"}}`:        "text: got 5 bytes, want 400",
	} {
		if got := string(s.Handle([]byte(request))); !strings.HasPrefix(got, `{"error":`) ||
			!strings.Contains(strings.ReplaceAll(got, `\`, ""), want) {
			t.Errorf("%s: got %s, want an error with %s", request, got, want)
		}
	}
	start(t, &s, session.Choice{})
	for request, want := range map[string]string{
		`{"do":"x"}`:                   "do: got",
		`{"do":"step"}`:                "steps: got 0",
		`{"do":"gradient","name":"x"}`: "no parameter",
		`{"do":"gradient","name":"wte.weight","row":12}`:         "entry (12, 0)",
		`{"do":"gradient","name":"wte.weight","row":1,"col":-1}`: "entry (1, -1)",
	} {
		if got := string(s.Handle([]byte(request))); !strings.HasPrefix(got, `{"error":`) || !strings.Contains(got, want) {
			t.Errorf("%s: got %s, want an error with %s", request, got, want)
		}
	}
}
