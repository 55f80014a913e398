package certificate

import (
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

// replayed compares the steps of the test's run after one step up to another, changed by change.
func replayed(c *Certificate, begin, end int, change func(step int, loss, norm *float64, s *State)) (*Replay, error) {
	r, err := c.Replay(begin)
	if err != nil {
		return nil, err
	}
	for step := begin + 1; step <= end; step++ {
		loss, norm := numbers(step)
		s := stateAt(step)
		if change != nil {
			change(step, &loss, &norm, &s)
		}
		if err := r.Step(step, loss, norm); err != nil {
			return r, err
		}
		if err := r.State(s); err != nil {
			return r, err
		}
	}
	return r, nil
}

// A replay of everything, or from any link on, is equal.
func TestReplay(t *testing.T) {
	var chain Chain
	trained(&chain, 300, 50)
	c, _ := written(t, chain)
	r, err := replayed(c, 0, 300, nil)
	if err != nil {
		t.Fatal(err)
	}
	if links, states := r.Compared(); links != len(c.Links) || states != 5 {
		t.Errorf("got %d links and %d states compared, want %d and 5", links, states, len(c.Links))
	}
	for i, l := range c.Links {
		r, err := replayed(c, l.Step, 300, nil)
		if err != nil {
			t.Errorf("from step %d: %v", l.Step, err)
		} else if links, _ := r.Compared(); links != len(c.Links)-1-i {
			t.Errorf("from step %d: got %d links", l.Step, links)
		}
	}
	if _, err := c.Replay(3); err == nil {
		t.Error("a replay from a step without a link")
	}
	if err := r.Step(302, 1, 1); err == nil {
		t.Error("a step was left out")
	}
}

// A bit of any step that differs is found at the next link, and named with both numbers; so is any hash. A certificate
// whose sums were computed again after the edit is found just as well.
func TestReplayNames(t *testing.T) {
	var chain Chain
	trained(&chain, 300, 50)
	c, _ := written(t, chain)
	rng := rand.New(rand.NewPCG(2, 2))
	for range 100 {
		at := 1 + rng.IntN(300)
		field := rng.IntN(2)
		_, err := replayed(c, 0, 300, func(step int, loss, norm *float64, _ *State) {
			if x := []*float64{loss, norm}[field]; step == at {
				*x = math.Nextafter(*x, 9)
			}
		})
		var d *Difference
		if !errors.As(err, &d) || at <= d.Since || at > d.Step {
			t.Fatalf("step %d: got %v", at, err)
		}
		want := "digest"
		if d.Step == at {
			want = []string{"loss", "norm"}[field]
		}
		if !strings.HasPrefix(d.Field, want) || !strings.Contains(err.Error(), d.Want) ||
			!strings.Contains(err.Error(), d.Got) || d.Want == d.Got {
			t.Errorf("step %d: got %v, want its %s", at, err, want)
		}
	}
	for range 100 {
		forged := *c
		forged.Links = append([]Link{}, c.Links...)
		l := &forged.Links[rng.IntN(len(c.Links))]
		fields := map[string]func(){
			"loss":   func() { l.Loss = math.Nextafter(l.Loss, 9) },
			"norm":   func() { l.Norm = math.Nextafter(l.Norm, 9) },
			"digest": func() { l.Digest = hashed([]byte(l.Digest)) },
		}
		if l.State != (State{}) {
			fields["weights"] = func() { l.Weights = hashed([]byte(l.Weights)) }
			fields["moments"] = func() { l.Moments = hashed([]byte(l.Moments)) }
			fields["generator"] = func() { l.Draws = "" }
			fields["states"] = func() { l.States = hashed(nil) }
		}
		for name, edit := range fields {
			before := *l
			edit()
			data, err := forged.Encode()
			if err != nil {
				t.Fatal(err)
			}
			read, err := Decode(data)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			var d *Difference
			if _, err := replayed(read, 0, 300, nil); !errors.As(err, &d) || d.Step != l.Step ||
				!strings.HasPrefix(d.Field, name) {
				t.Errorf("%s of step %d: got %v", name, l.Step, err)
			}
			*l = before
		}
	}
}

// Two certificates of a run are compared at the steps that both have, and what differs is named.
func TestCompare(t *testing.T) {
	var first, second Chain
	trained(&first, 300, 50)
	trained(&second, 300, 70)
	a, _ := written(t, first)
	b, _ := written(t, second)
	if links, err := a.Compare(b); err != nil || links != 15 {
		t.Errorf("got %d links equal, %v", links, err)
	}
	for want, change := range map[string]func(c *Certificate){
		"kind":               func(c *Certificate) { c.Kind = Pairs },
		`config: got "n_la`:  func(c *Certificate) { c.Config = []byte(`{"n_layer":3,"seed":7}`) },
		"text":               func(c *Certificate) { c.Text = hashed(nil) },
		"tokenizer":          func(c *Certificate) { c.Tokenizer.SHA256 = hashed(nil) },
		"code":               func(c *Certificate) { c.Code = []Code{NewCode("hook fill", "")} },
		"base":               func(c *Certificate) { c.Base = hashed(nil) },
		"chains from the":    func(c *Certificate) { c.From = 3 },
		"step 8 (equal up":   func(c *Certificate) { c.Links[3].Loss++ },
		"step 16 (equal up":  func(c *Certificate) { c.Links[4].Norm++ },
		"step 300 (equal up": func(c *Certificate) { c.Links[len(c.Links)-1].Digest = zero },
		"step 300: weights":  func(c *Certificate) { c.Links[len(c.Links)-1].Weights = zero },
	} {
		changed := *b
		changed.Links = append([]Link{}, b.Links...)
		change(&changed)
		if _, err := a.Compare(&changed); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	if _, err := a.Compare(nil); err == nil {
		t.Error("compared with nil")
	}
}
