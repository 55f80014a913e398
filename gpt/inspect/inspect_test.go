package inspect

import (
	"errors"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/parts"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/internal/heap"
)

// odd returns a network whose sizes all differ.
func odd() (c gpt.Config) {
	c.BlockSize, c.VocabSize, c.Kernels = 7, 13, true
	c.Stack = parts.Stack{NLayer: 2, NHead: 2, NEmbd: 10, QKSize: 4, VSize: 3, NInner: 11, Bias: true}
	return c
}

// variants returns configurations with every attention, block, norm, MLP and position of the library.
func variants() map[string]gpt.Config {
	list, count := map[string]gpt.Config{}, 0
	vary := func(kind, name string, change func(c *gpt.Config)) {
		c := odd()
		change(&c)
		if count++; c.ValidateModel() == nil && (!testing.Short() || count%3 == 1) {
			list[kind+" "+name] = c
		}
	}
	for _, a := range parts.Attentions() {
		vary("attention", string(a.Name), func(c *gpt.Config) {
			if c.Attention = string(a.Name); strings.Contains(c.Attention, "rope") {
				c.Position = "none"
			}
		})
	}
	for _, b := range parts.Blocks() {
		vary("block", string(b.Name), func(c *gpt.Config) { c.Block = string(b.Name) })
	}
	for _, n := range parts.Norms() {
		vary("norm", string(n.Name), func(c *gpt.Config) { c.Norm = string(n.Name) })
	}
	for _, l := range parts.MLPs() {
		vary("mlp", string(l.Name), func(c *gpt.Config) { c.MLP = string(l.Name) })
	}
	for _, p := range parts.Positions() {
		vary("position", string(p.Name), func(c *gpt.Config) { c.Position = string(p.Name) })
	}
	return list
}

// model returns a model in which no number is 0 or 1.
func model(t testing.TB, c gpt.Config, kernels bool, batch int) *gpt.Model {
	t.Helper()
	g := graph.New(graph.Float64, 3)
	g.Kernels = kernels
	m, err := gpt.New(g, c, batch)
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(4, 1))
	for _, p := range m.Params() {
		for i := range p.Tensor().Len() {
			p.Tensor().Set(i, p.Tensor().At(i)+0.3*rng.NormFloat64())
		}
	}
	return m
}

var (
	everything = []string{"*", "*.*", "*.*.*", "*.*.*.*"}
	tokens     = []int{3, 1, 12, 0, 7, 2, 5}
	targets    = []int{1, 12, 0, 7, 2, 5, 9}
)

func tap(t testing.TB, m *gpt.Model, patterns ...string) Activations {
	t.Helper()
	p, err := Tap(m, patterns...)
	if err != nil {
		t.Fatal(err)
	}
	a, err := p.Run(tokens)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func replace(t testing.TB, m *gpt.Model, pattern string, edit func(graph.Expr) graph.Expr) *gpt.Model {
	t.Helper()
	r, err := Replace(m, pattern, edit)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func at(t testing.TB, a Activations, name string) graph.Tensor {
	t.Helper()
	x, err := a.At(name)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// distance returns the largest difference, relative to the largest entry.
func distance(t testing.TB, name string, got, want graph.Tensor) float64 {
	t.Helper()
	if !slices.Equal(got.Shape, want.Shape) || got.Len() != want.Len() || got.Len() == 0 {
		t.Fatalf("%s: got shape %v, want %v", name, got.Shape, want.Shape)
	}
	var worst, largest float64
	for i := range got.Len() {
		worst = math.Max(worst, math.Abs(got.At(i)-want.At(i)))
		largest = math.Max(largest, math.Abs(want.At(i)))
	}
	return worst / largest
}

// An activation tapped in a model with kernels, alone or with all others, is the same as in the graph without kernels.
// By day every second model is tried.
func TestTapsAreTheSpelledGraph(t *testing.T) {
	list := variants()
	for i, name := range slices.Sorted(maps.Keys(list)) {
		if os.Getenv("NIGHTLY") == "" && i%2 > 0 {
			continue
		}
		c := list[name]
		t.Run(name, func(t *testing.T) {
			m := model(t, c, true, 1)
			everything := everything
			if c.Block == "elman" {
				everything = everything[:2] // there is nothing in a block
			}
			names, _, err := find(m, everything)
			if err != nil {
				t.Fatal(err)
			}
			want := map[string]graph.Tensor{}
			_, err = m.Graph.BuildSibling(func(g *graph.Graph) error {
				g.Kernels = false
				g.SetTraining(false)
				expanded, err := gpt.New(g, c, 1)
				if err != nil {
					return err
				}
				copy(expanded.Tokens.Ints(), tokens)
				var copies []graph.Expr
				for _, name := range names {
					x, err := g.Activation(name)
					if err != nil {
						return err
					}
					copies = append(copies, x.Reshape(x.Shape()...))
				}
				p, err := graph.CompileWith(copies[len(copies)-1], copies)
				if err != nil {
					return err
				}
				if err := p.Run(); err != nil {
					return err
				}
				for i, name := range names {
					want[name] = p.Kept(copies[i]).Clone()
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			var order []string
			for name, got := range tap(t, m, everything...).All() {
				order = append(order, name)
				if d := distance(t, name, got, want[name]); !(d <= 1e-12) {
					t.Errorf("%s among all: %.2g from the spelled graph's", name, d)
				}
			}
			if !slices.Equal(order, names) {
				t.Errorf("got the order %q, want %q", order, names)
			}
			for name, got := range tap(t, model(t, c, false, 1), everything...).All() {
				if d := distance(t, name, got, want[name]); !(d <= 1e-12) {
					t.Errorf("%s of the spelled model: %.2g from its copy", name, d)
				}
			}
			for _, name := range names {
				if !slices.Contains([]string{"h.1.attn.heads", "logits"}, name) {
					continue // that are there with kernels
				}
				if d := distance(t, name, at(t, tap(t, m, name), name), want[name]); !(d <= 1e-12) {
					t.Errorf("%s alone: %.2g from the spelled graph's", name, d)
				}
			}
		})
	}
}

// Replacing nothing, or an activation with itself, leaves the logits unchanged, bit for bit. Replacing an activation
// through which everything passes with another run's gives the other run's logits.
func TestPatching(t *testing.T) {
	for _, kernels := range []bool{true, false} {
		m := model(t, odd(), kernels, 2)
		clean := tap(t, m, "h.0", "h.0.attn.heads", "logits")
		logits := at(t, clean, "logits")
		for _, name := range []string{"h.0", "h.0.attn.heads"} {
			same := at(t, tap(t, replace(t, m, name, All(m).Set(at(t, clean, name))), "logits"), "logits")
			none := at(
				t,
				tap(
					t, replace(t, m, name, All(m).Tokens(0, 1).Add(make([]float64, at(t, clean, name).Shape[1]))),
					"logits",
				),
				"logits",
			)
			if !slices.Equal(same.F64, logits.F64) || !slices.Equal(none.F64, logits.F64) {
				t.Errorf("%s, kernels %v: other logits though nothing has changed", name, kernels)
			}
		}
		weights := at(t, tap(t, m, "h.1.attn.weights"), "h.1.attn.weights")
		expanded := replace(t, m, "h.1.attn.weights", All(m).Set(weights))
		if d := distance(t, "logits", at(t, tap(t, expanded, "logits"), "logits"), logits); !(d <= 1e-13) {
			t.Errorf("weights set to themselves: logits %.2g away", d)
		}
		p, err := Tap(replace(t, m, "h.0", All(m).Set(at(t, clean, "h.0"))), "logits")
		if err != nil {
			t.Fatal(err)
		}
		other, err := p.Run([]int{9, 9, 9})
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(at(t, other, "logits").F64, logits.F64) {
			t.Errorf("kernels %v: with all of h.0 of one text another text has other logits than that", kernels)
		}
	}
}

// Every intervention changes its entries and nothing else, and a second one applies to the result of the first.
func TestInterventions(t *testing.T) {
	m := model(t, odd(), true, 2)
	clean := tap(t, m, "h.0.attn.heads", "h.1.attn.weights", "h.1")
	heads, weights, stream := at(t, clean, "h.0.attn.heads"), at(t, clean, "h.1.attn.weights"), at(t, clean, "h.1")
	direction := []float64{1, -2, 3, -4, 5, -6, 7, -8, 9, -10}
	for name, tc := range map[string]struct {
		place string
		edit  func(graph.Expr) graph.Expr
		from  graph.Tensor
		want  func(i int, x float64) float64
	}{
		"a head of a matrix": {"h.0.attn.heads", All(m).Head(1).Zero(), heads, func(i int, x float64) float64 {
			if i%6 >= 3 {
				return 0
			}
			return x
		}},
		"a query of a head": {"h.1.attn.weights", All(m).Head(0).Tokens(2, 3).Zero(), weights,
			func(i int, x float64) float64 {
				if i/49 == 0 && i/7%7 == 2 {
					return 0
				}
				return x
			}},
		"a direction on some tokens": {"h.1", All(m).Tokens(1, 4).Add(direction), stream,
			func(i int, x float64) float64 {
				if i/10 >= 1 && i/10 < 4 {
					return x + direction[i%10]
				}
				return x
			}},
		"the mean of some tokens": {"h.1", All(m).Tokens(2, 4).Mean(stream), stream, func(i int, x float64) float64 {
			if i/10 >= 2 && i/10 < 4 {
				return stream.At(20+i%10)/2 + stream.At(30+i%10)/2
			}
			return x
		}},
	} {
		t.Run(name, func(t *testing.T) {
			got := at(t, tap(t, replace(t, m, tc.place, tc.edit), tc.place), tc.place)
			for i := range got.Len() {
				if want := tc.want(i, tc.from.At(i)); !(math.Abs(got.At(i)-want) <= 1e-14*math.Abs(want)) {
					t.Errorf("entry %d: got %v, want %v", i, got.At(i), want)
				}
			}
		})
	}
	twice := replace(t, replace(t, m, "h.1", All(m).Zero()), "h.1", All(m).Add(direction))
	if got := at(t, tap(t, twice, "h.1"), "h.1"); !slices.Equal(got.F64[20:30], direction) {
		t.Errorf("zeroed, then moved: got %v, want %v", got.F64[20:30], direction)
	}
}

// A decoder of an edited model returns the results of its forward pass, token by token and several at once, also for
// edits inside attention and when the window slides. The original model is unchanged.
func TestDecoderOfAnEditedModel(t *testing.T) {
	m := model(t, odd(), true, 1)
	clean := at(t, tap(t, m, "logits"), "logits")
	stream := at(t, tap(t, m, "h.1"), "h.1")
	for name, edit := range map[string]func(graph.Expr) graph.Expr{
		"h.0":              All(m).Tokens(2, 7).Add([]float64{1, -2, 3, -4, 5, -6, 7, -8, 9, -10}),
		"drop":             All(m).Tokens(1, 3).Set(stream),
		"h.1.attn":         All(m).Tokens(0, 5).Mean(stream),
		"h.0.attn.heads":   All(m).Head(1).Tokens(3, 6).Zero(),
		"h.1.mlp.act":      All(m).Tokens(4, 7).Zero(),
		"h.1.attn.weights": All(m).Head(1).Zero(),
		"h.1.mlp":          func(x graph.Expr) graph.Expr { return x.Scale(2) },
	} {
		edited := replace(t, m, name, edit)
		want := at(t, tap(t, edited, "logits"), "logits")
		if d := distance(t, name, want, clean); !(d > 1e-3) {
			t.Errorf("%s: the logits are %.2g from those without an edit", name, d)
		}
		d, err := gpt.NewDecoder(edited, 1)
		if err != nil {
			t.Fatal(err)
		}
		for i, token := range tokens {
			got, err := d.Feed([]int{token})
			if err != nil {
				t.Fatal(err)
			}
			if d := distance(t, name, graph.Tensor{Shape: []int{13}, F64: got.F64}, want.Row(i)); !(d <= 1e-12) {
				t.Errorf("%s, token %d: Step is %.2g from Forward", name, i, d)
			}
		}
		slid, err := d.Feed([]int{4})
		if err != nil {
			t.Errorf("as the window slides: %v", err)
		}
		slid = slid.Clone()
		if err := d.Reset(); err != nil {
			t.Fatal(err)
		}
		short, err := d.Feed(append(slices.Clone(tokens[4:]), 4)) // the tokens that it keeps, all at once
		if err != nil || !(distance(t, name, short, slid) <= 1e-12) {
			t.Errorf("%s: as the window slides it is not what it keeps that counts (%v)", name, err)
		}
	}
	if again := at(t, tap(t, m, "logits"), "logits"); !slices.Equal(again.F64, clean.F64) {
		t.Error("the model that was replaced in has other logits than before")
	}
}

// A gradient is the change of the loss when an activation is moved, by central differences. An edit is differentiated
// through.
func TestGradientsAreDifferences(t *testing.T) {
	m := model(t, odd(), true, 1)
	names := []string{
		"h.0", "h.1.attn.heads", "h.1.attn.weights", "h.1.attn.scores", "h.0.attn.k", "h.0.mlp.act", "logits",
	}
	loss := func(m *gpt.Model) float64 {
		p, err := Tap(m, "logits")
		if err != nil {
			t.Fatal(err)
		}
		l, _, err := p.Gradients(tokens, targets)
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	p, err := Tap(m, names...)
	if err != nil {
		t.Fatal(err)
	}
	_, gradients, err := p.Gradients(tokens, targets)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		g := at(t, gradients, name)
		width, along := g.Shape[len(g.Shape)-1], 0.0
		direction := make([]float64, width)
		for i := range direction {
			direction[i] = math.Sin(float64(1 + 3*i))
		}
		for i := range g.Len() {
			along += g.At(i) * direction[i%width]
		}
		const h = 1e-4
		by := func(s float64) float64 {
			moved := slices.Clone(direction)
			for i := range moved {
				moved[i] *= s
			}
			return loss(replace(t, m, name, All(m).Add(moved)))
		}
		if got := (by(h) - by(-h)) / (2 * h); !(math.Abs(got-along) <= 1e-6*(1e-3+math.Abs(along))) {
			t.Errorf("%s: by differences %v, its gradient says %v", name, got, along)
		}
	}
	half := replace(t, m, "h.1", All(m).Tokens(0, 3).Zero())
	p, err = Tap(half, "h.0", "h.1.attn")
	if err != nil {
		t.Fatal(err)
	}
	if _, gradients, err = p.Gradients(tokens, targets); err != nil {
		t.Fatal(err)
	}
	g := at(t, gradients, "h.1.attn").F64
	if !slices.Equal(g[:30], make([]float64, 30)) || slices.Equal(g[30:], make([]float64, 40)) {
		t.Errorf("behind tokens 0 to 2 of h.1 there is nothing: got the gradient %v", g)
	}
}

// Activations do not change when another text runs.
func TestActivationsAreCopies(t *testing.T) {
	p, err := Tap(model(t, odd(), false, 1), "h.*", "h.*.attn.weights")
	if err != nil {
		t.Fatal(err)
	}
	first, err := p.Run(tokens)
	if err != nil {
		t.Fatal(err)
	}
	before := map[string]graph.Tensor{}
	for name, x := range first.All() {
		before[name] = x.Clone()
	}
	if _, err := p.Run([]int{11, 11}); err != nil {
		t.Fatal(err)
	}
	for name, x := range first.All() {
		if !slices.Equal(x.F64, before[name].F64) {
			t.Errorf("%s has changed with another run", name)
		}
	}
}

// TestGates: the gates of a recurrence are read as ln α, below 0. If they are replaced by closed ones, no token knows
// of the first.
func TestGates(t *testing.T) {
	c := odd()
	c.Attention = "gla"
	m := model(t, c, true, 1)
	closed := replace(t, m, "h.*.attn.decay", func(x graph.Expr) graph.Expr { return x.Scale(0).Shift(-1e4) })
	for i, x := range at(t, tap(t, m, "h.*.attn.decay"), "h.0.attn.decay").Floats() {
		if !(x < 0) {
			t.Errorf("ln α %d is %v, want it below 0", i, x)
		}
	}
	last := func(m *gpt.Model, first int) float64 {
		x, err := Tap(m, "logits")
		if err != nil {
			t.Fatal(err)
		}
		a, err := x.Run([]int{first, 5, 2, 7, 3, 1, 4})
		if err != nil {
			t.Fatal(err)
		}
		return at(t, a, "logits").Row(6).At(0)
	}
	if a, b := last(m, 1), last(m, 9); a == b {
		t.Errorf("got %v for both first tokens, want a difference", a)
	}
	if a, b := last(closed, 1), last(closed, 9); a != b {
		t.Errorf("with closed gates: got %v and %v, want the same", a, b)
	}
}

func TestErrors(t *testing.T) {
	m := model(t, odd(), true, 1)
	p, err := Tap(m, "h.0")
	if err != nil {
		t.Fatal(err)
	}
	nan := slices.Repeat([]float64{math.NaN()}, 10)
	for name, tc := range map[string]struct {
		err  func() error
		want []string
	}{
		"unknown": {
			func() error { _, err := Tap(m, "h.0.attn.wieghts"); return err },
			[]string{`"h.0.attn.wieghts"`, `"h.0.attn.weights"`},
		},
		"no weights": {func() error {
			c := odd()
			c.Attention = "linear"
			_, err := Tap(model(t, c, true, 1), "h.*.attn.weights")
			return err
		}, []string{`"h.*.attn.weights"`, `attention "linear" never has weights`, `want "h.*.attn.scores"`}},
		"no pattern":  {func() error { _, err := Tap(m); return err }, []string{"no names"}},
		"no model":    {func() error { _, err := Tap(nil, "h.0"); return err }, []string{"no model"}},
		"no probe":    {func() error { _, err := (*Probe)(nil).Run(tokens); return err }, []string{"nothing to run"}},
		"empty probe": {func() error { _, err := (&Probe{}).Run(tokens); return err }, []string{"nothing to run"}},
		"no token":    {func() error { _, err := p.Run(nil); return err }, []string{"got 0 tokens", "7"}},
		"many tokens": {func() error { _, err := p.Run(make([]int, 8)); return err }, []string{"got 8 tokens", "7"}},
		"vocabulary": {
			func() error { _, err := p.Run([]int{1, 13}); return err }, []string{"token 1 is 13", "0 … 12"},
		},
		"negative": {func() error { _, err := p.Run([]int{1, -1}); return err }, []string{"token 1 is -1", "0 … 12"}},
		"targets": {
			func() error { _, _, err := p.Gradients(tokens, tokens[:2]); return err }, []string{"2 targets", "7"},
		},
		"no gradients": {
			func() error { _, _, err := p.Gradients(nil, nil); return err }, []string{"got 0 tokens", "7"},
		},
		"activation": {func() error { _, err := tap(t, m, "h.0").At("h.1"); return err }, []string{`"h.1"`, `"h.0"`}},
		"place": {
			func() error { _, err := Replace(m, "h.9", All(m).Zero()); return err }, []string{`"h.9"`, `"h.0"`},
		},
		"no edit": {func() error { _, err := Replace(m, "h.0", nil); return err }, []string{"h.0", "no function"}},
		"shape": {func() error {
			_, err := Replace(m, "h.0", func(x graph.Expr) graph.Expr { return x.Columns(0, 2) })
			return err
		}, []string{"h.0", "(7, 2)", "(7, 10)"}},
		"panic": {func() error {
			_, err := Replace(m, "h.0", func(x graph.Expr) graph.Expr { panic("at the disco") })
			return err
		}, []string{"h.0", "at the disco"}},
		"NaN": {func() error { _, err := Replace(m, "h.0", All(m).Add(nan)); return err }, []string{"h.0", "NaN"}},
		"NaN of an expression": {func() error {
			p, err := Tap(
				replace(t, m, "h.0", func(x graph.Expr) graph.Expr { return x.Square().Scale(-1).Shift(-1).Log() }),
				"h.0.mlp", "h.0", "logits",
			)
			if err != nil {
				return err
			}
			_, err = p.Run(tokens)
			return err
		}, []string{"h.0: entry 0 is NaN", "[7 10]"}},
		"direction": {
			func() error { _, err := Replace(m, "h.0", All(m).Add(nan[:3])); return err },
			[]string{"h.0", "3 numbers", "10"},
		},
		"head": {
			func() error { _, err := Replace(m, "h.0", All(m).Head(2).Zero()); return err },
			[]string{"h.0", "head", "got 2", "1"},
		},
		"tokens": {
			func() error { _, err := Replace(m, "h.0", All(m).Tokens(3, 9).Zero()); return err },
			[]string{"h.0", "got 3 to 9", "7"},
		},
		"set": {func() error {
			_, err := Replace(m, "h.0", All(m).Set(graph.Tensor{Shape: []int{7, 1}, F64: make([]float64, 7)}))
			return err
		}, []string{"h.0", "[7 1]", "[7 10]"}},
		"not compiled": {func() error {
			_, err := (&Probe{model: m, forward: &graph.Program{}}).Run(tokens)
			return err
		}, []string{"inspect: "}},
		"not differentiated": {func() error {
			_, _, err := (&Probe{model: m, forward: p.forward, backward: &graph.Program{}}).Gradients(tokens, targets)
			return err
		}, []string{"inspect: "}},
		"one of two patterns": {
			func() error { _, err := Tap(m, "h.0.attn.weights", "h.9"); return err }, []string{`no activation "h.9"`},
		},
		"mean of heads": {func() error {
			_, err := Replace(
				m, "h.0.attn.weights", All(m).Mean(graph.Tensor{Shape: []int{7, 2}, F64: make([]float64, 14)}),
			)
			return err
		}, []string{"mean: got 14 numbers of shape [7 2]", "want a matrix with 7 rows"}},
		"mean of other columns": {func() error {
			_, err := Replace(m, "h.0", All(m).Mean(graph.Tensor{Shape: []int{7, 9}, F64: make([]float64, 63)}))
			return err
		}, []string{"mean: got 63 numbers of shape [7 9]"}},
		"mean of too few": {func() error {
			_, err := Replace(m, "h.0", All(m).Mean(graph.Tensor{Shape: []int{7, 10}, F64: make([]float64, 69)}))
			return err
		}, []string{"mean: got 69 numbers of shape [7 10]"}},
		"set of too few": {func() error {
			_, err := Replace(m, "h.0", All(m).Set(graph.Tensor{Shape: []int{7, 10}, F64: make([]float64, 69)}))
			return err
		}, []string{"set: got 69 numbers of shape [7 10]"}},
		"cut off": {func() error {
			p, err := Tap(replace(t, m, "h.1", All(m).Zero()), "h.0")
			if err != nil {
				return err
			}
			_, g, err := p.Gradients(tokens, targets)
			if x, _ := g.At("h.0"); err == nil && x.At(3) == 0 {
				return nil
			}
			return err
		}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			err := tc.err()
			if tc.want == nil {
				if err != nil {
					t.Error(err)
				}
				return
			}
			for _, want := range tc.want {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("got the error %v, want it to name %s", err, want)
				}
			}
		})
	}
}

// Scores are queries times keys, weights their softmax over the visible keys, heads the weights times the values, and
// the residual stream grows by the results of attention and MLP.
func TestActivationsMatchTheirNames(t *testing.T) {
	for _, attention := range []string{"causal", "gqa"} {
		c := odd()
		c.Attention = attention
		a := tap(t, model(t, c, true, 1), everything...)
		in := func(name string) graph.Tensor { return at(t, a, "h.1.attn."+name) }
		near := func(name string, got, want float64) {
			t.Helper()
			if !(math.Abs(got-want) <= 1e-12*(1+math.Abs(want))) {
				t.Errorf("%s, %s: got %v, want %v", attention, name, got, want)
			}
		}
		q, k, v, scores, weights, heads := in("q"), in("k"), in("v"), in("scores"), in("weights"), in("heads")
		for i := range 2 * 7 * 7 { // head, query, key
			h, query, key := i/49, i/7%7, i%7
			var product, sum float64
			for f := range 4 {
				product += q.At((h*7+query)*4+f) * k.At((h*7+key)*4+f)
			}
			near("scores", scores.At(i), product/2)
			for other := range query + 1 {
				sum += math.Exp(scores.At(i - key + other))
			}
			if want := math.Exp(scores.At(i)) / sum; key > query {
				near("weights of later keys", weights.At(i), 0)
			} else {
				near("weights", weights.At(i), want)
			}
		}
		for i := range heads.Len() { // query, head, feature
			query, h, f, sum := i/6, i%6/3, i%3, 0.0
			for key := range 7 {
				sum += weights.At((h*7+query)*7+key) * v.At((h*7+key)*3+f)
			}
			near("heads", heads.At(i), sum)
		}
		before, attn, mlp, after := at(t, a, "h.0"), at(t, a, "h.1.attn"), at(t, a, "h.1.mlp"), at(t, a, "h.1")
		for i := range after.Len() {
			near("h.1", after.At(i), before.At(i)+attn.At(i)+mlp.At(i))
		}
	}
}

// Nothing is dropped in a Probe, and a shorter text has no targets of the previous one.
func TestRunsAreIndependent(t *testing.T) {
	c := odd()
	want := tap(t, model(t, c, true, 1), "logits")
	c.Dropout = 0.5
	m := model(t, c, true, 1)
	if got := tap(t, m, "logits"); !slices.Equal(at(t, got, "logits").F64, at(t, want, "logits").F64) {
		t.Error("with dropout in training there are other logits")
	}
	var losses [2]float64
	for i, first := range []int{7, 2} {
		p, err := Tap(m, "h.0")
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range []int{first, 2} {
			if losses[i], _, err = p.Gradients(tokens[:n], targets[:n]); err != nil {
				t.Fatal(err)
			}
		}
	}
	if losses[0] != losses[1] {
		t.Errorf("behind a longer text the loss is %v, else %v", losses[0], losses[1])
	}
}

// Entries that do not exist are errors that describe the existing ones.
func TestEntriesRefuse(t *testing.T) {
	m := model(t, odd(), true, 1)
	for want, tc := range map[string]struct {
		shape []int
		e     Entries
	}{
		"got shape [1 7 10]":               {[]int{1, 7, 10}, All(m)},
		"got shape [7 10]":                 {[]int{7, 10}, All(nil)},
		"got 4 to 4":                       {[]int{7, 10}, All(m).Tokens(4, 4)},
		"got -1 to 3":                      {[]int{7, 10}, All(m).Tokens(-1, 3)},
		"head: got 2":                      {[]int{7, 10}, All(m).Head(-1)},
		"got 11 columns":                   {[]int{7, 11}, All(m).Head(0)},
		"[1 3 7 4], want 2 heads and 7 to": {[]int{1, 3, 7, 4}, All(m).Head(1)},
		"[1 2 5 4], want 2 heads and 7 to": {[]int{1, 2, 5, 4}, All(m).Tokens(1, 2)},
	} {
		g := graph.New(graph.Float64, 1)
		tc.e.Zero()(g.Root().Value("x", graph.Const(1), tc.shape...))
		if err := g.Err(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got the error %v, want it to say %q", err, want)
		}
	}
	if err := All(m).check([]int{1, 3, 9, 4}); err != nil {
		t.Errorf("all entries of other heads and tokens than the model's: got the error %v", err)
	}
	m.Config.NHead = 3
	if _, err := Tap(m, "h.0"); err == nil || !strings.Contains(
		err.Error(), "Config: got n_head 3, but the model is built with n_head 2",
	) {
		t.Errorf("of a configuration that is not the model's: got the error %v", err)
	}
}

// A model without edits has the activations that it has, also if they are not finite.
func TestUneditedActivations(t *testing.T) {
	m := model(t, odd(), true, 1)
	w, _ := m.Graph.Leaf("h.0.mlp.c_fc.weight")
	w.Tensor().Set(0, math.NaN())
	if x := at(t, tap(t, m, "h.0"), "h.0"); !math.IsNaN(x.At(0)) {
		t.Errorf("with a NaN in the MLP: got %v, want NaN", x.At(0))
	}
}

// An activation with two names is differentiated once.
func TestDistinct(t *testing.T) {
	m := model(t, odd(), true, 1)
	if got := (&Probe{exprs: []graph.Expr{m.Logits, m.Loss, m.Logits}}).distinct(); len(got) != 2 {
		t.Errorf("got %d activations, want 2", len(got))
	}
}

// Every function returns the error of a replacement in whichever of its graphs it fails.
func TestReplacementsThatFail(t *testing.T) {
	calls, fails := 0, 0 // a replacement fails once, at this call; 0 means never
	m := replace(t, model(t, odd(), true, 1), "h.0", func(x graph.Expr) graph.Expr {
		if calls++; calls == fails {
			return x.Wrap(nil, errors.New("out of order"))
		}
		return x
	})
	q := Question{Clean: tokens[:2], Corrupt: tokens[1:3], Right: 1}
	for name, f := range map[string]func() error{
		"Tap": func() error { _, err := Tap(m, "h.1"); return err },
		"Replace": func() error {
			_, err := Replace(m, "h.1", func(x graph.Expr) graph.Expr { return x.Scale(2) })
			return err
		},
		"LogitLens": func() error { _, err := LogitLens(m, tokens); return err },
		"Attribute": func() error { _, _, err := Attribute(m, tokens, tokens); return err },
		"Ablate":    func() error { _, _, err := Ablate(t.Context(), m, digits(8), "h.1.mlp", Zero); return err },
		"Patch":     func() error { _, err := Patch(m, q, "h.1.mlp"); return err },
		"IntegratedGradients": func() error {
			_, _, err := IntegratedGradients(m, "h.1", nil, tokens, targets, 1)
			return err
		},
	} {
		calls, fails = 0, 0
		if err := f(); err != nil || calls == 0 {
			t.Fatalf("%s: got the error %v after %d calls", name, err, calls)
		}
		for n := range calls {
			calls, fails = 0, n+1
			if err := f(); err == nil || !strings.Contains(err.Error(), "out of order") {
				t.Errorf("%s: got the error %v though graph %d fails", name, err, n)
			}
		}
	}
}

func TestMain(m *testing.M) {
	heap.Limit()
	os.Exit(m.Run())
}
