package verdict

import (
	"context"
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"strings"

	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/checkpoint"
	"github.com/pedestrian-ml/pedestrian/gpt/lab"
	"github.com/pedestrian-ml/pedestrian/gpt/text"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/nn/causal"
	"github.com/pedestrian-ml/pedestrian/verify"
	"github.com/pkg/errors"
)

// Check is a question whether an idea is right.
type Check struct {
	Name   string `json:"name"`
	Found  string `json:"found"` // what was measured, or what is wrong
	Failed bool   `json:"failed"`
	Fatal  bool   `json:"fatal,omitempty"` // training would say nothing
}

// Wrong reports whether the idea is not worth training. It is true for a nil Report.
func (r *Report) Wrong() bool {
	if r == nil {
		return true
	}
	for _, c := range r.Checks {
		if c.Failed && c.Fatal {
			return true
		}
	}
	return false
}

// check asks whether the idea is right, in a model of two small blocks.
func (j *judge) check() error {
	base := Size{16, 2}.apply(j.Base)
	base.BlockSize, base.BatchSize, base.GradientAccumulationSteps, base.VocabSize = 8, 2, 1, 11
	base.Dropout, base.Threads, base.EvalIters = 0, 1, 1
	c, err := j.idea.Apply(base)
	if err == nil {
		c, err = (lab.Budget{Steps: 6}).Apply(c)
	}
	if err == nil {
		err = c.Validate()
	}
	if err != nil {
		return err
	}
	for _, question := range []struct {
		name  string
		ask   func(context.Context, gpt.Config) (string, error)
		fatal bool
	}{
		{"later tokens and other texts stay hidden", hidden, true},
		{"gradients and the use of every parameter", gradients, true},
		{"a decoder computes what the training computes", decoding, false},
		{"a resumed run has the same bits", resumed, true},
		{"models beside each other", beside, true},
	} {
		j.pace.draw("checks: " + question.name)
		found, err := question.ask(j.ctx, c)
		if j.ctx.Err() != nil {
			return context.Cause(j.ctx)
		}
		check := Check{Name: question.name, Found: found, Fatal: question.fatal}
		if err != nil {
			check.Found, check.Failed = err.Error(), true
		}
		j.Checks = append(j.Checks, check)
	}
	return j.checkCases()
}

// checkCases compares the layers of the idea with their formulas by hand.
func (j *judge) checkCases() error {
	for i, c := range j.idea.Cases {
		name := c.Name
		if name == "" {
			name = fmt.Sprint("case ", i+1)
		}
		j.pace.draw("checks: " + name)
		check := Check{Name: name + " by hand", Fatal: true}
		r, err := c.Run()
		switch {
		case err != nil:
			check.Found, check.Failed = err.Error(), true
		case !r.OK():
			check.Found, check.Failed = strings.Join(r.Failures, "; "), true
		default:
			check.Found = described(r)
		}
		j.Checks = append(j.Checks, check)
	}
	return context.Cause(j.ctx)
}

// hidden asks whether a prediction depends on later tokens or on other texts of the batch.
func hidden(ctx context.Context, c gpt.Config) (string, error) {
	return "no prediction changes with them", lab.Causal(ctx, c)
}

// gradients compares every gradient of the model on the roads of package verify. A parameter is unused if its gradient
// is 0 at several random weights: at some, no token may choose an expert.
func gradients(ctx context.Context, c gpt.Config) (string, error) {
	const most = 8 // random weights
	var first *verify.Report
	unused := map[string]bool{}
	for seed := uint64(1); seed == 1 || seed <= most && len(unused) > 0; seed++ {
		m, err := verify.NewModel(c, 2, seed)
		if err != nil {
			return "", err
		}
		r, err := verify.CheckContext(ctx, m, nil)
		if err != nil {
			return "", err
		}
		if !r.OK() {
			return "", errors.New(strings.Join(r.Failures, "; "))
		}
		if first == nil {
			first = r
		}
		for _, row := range r.Rows {
			if zero := row.Norm == 0 && !row.Zero; zero && seed == 1 {
				unused[row.Name] = true
			} else if !zero {
				delete(unused, row.Name)
			}
		}
	}
	if len(unused) > 0 {
		return "", errors.Errorf("%s: the gradient is 0 at random weights, so that nothing uses the parameter",
			slices.Min(slices.Collect(maps.Keys(unused))))
	}
	return described(first) + "; every parameter is used", nil
}

// described returns the roads of a report of package verify, and the largest distances between them.
func described(r *verify.Report) string {
	first := "automatic differentiation, with central differences because the idea has no formula by hand"
	if r.ByHand {
		first = "the formulas by hand"
	}
	return fmt.Sprintf("%s: %s; %d gradients, the largest distance is %.1g in float64 and %.1g in float32", first,
		strings.Join(r.Roads, ", "), r.Parameters, float64(r.Worst), float64(r.WorstFloat32))
}

// decoding compares the logits of a decoder, which reads token by token, with the logits of the model.
func decoding(_ context.Context, c gpt.Config) (string, error) {
	var m *gpt.Model
	var forward *graph.Program
	g, err := graph.Build(graph.Float64, c.Seed, func(g *graph.Graph) (err error) {
		if m, err = gpt.New(g, c, 1); err != nil {
			return err
		}
		forward, err = graph.Compile(m.Logits)
		return err
	})
	if err != nil {
		return "", err
	}
	causal.Perturb(g)
	tokens := m.Tokens.Ints()
	for i := range tokens {
		tokens[i] = (5*i + i*i) % c.VocabSize
	}
	if err := forward.Run(); err != nil {
		return "", err
	}
	d, err := gpt.NewDecoder(m, 1)
	if err != nil {
		return "", err
	}
	var worst, largest float64
	for i, token := range tokens {
		logits, err := d.Feed([]int{token})
		if err != nil {
			return "", err
		}
		for v := range c.VocabSize {
			want := forward.Value().Row(i).At(v)
			worst, largest = max(worst, math.Abs(logits.At(v)-want)), max(largest, math.Abs(want))
		}
	}
	const tolerance = 1e-9
	if !(worst <= tolerance*largest) {
		return "", errors.Errorf("a logit differs by %.3g, want at most %.3g", worst, tolerance*largest)
	}
	return fmt.Sprintf("the logits of %d tokens differ by at most %.1g", len(tokens), worst), nil
}

// verse is a text of eleven characters for a model of the checks.
func verse() (text.Corpus, text.Tokenizer, error) {
	s := strings.Repeat("abcdefghijkabdhcaegbkcfi\n", 20)
	s = strings.ReplaceAll(s, "\n", "a")
	tok, err := text.NewCharacters(s)
	if err != nil {
		return nil, nil, err
	}
	corpus, err := text.NewCorpus(s, tok, 8)
	return corpus, tok, err
}

// trainer returns a trainer of a model of the checks.
func trainer(c gpt.Config) (*gpt.Trainer, error) {
	corpus, tok, err := verse()
	if err != nil {
		return nil, err
	}
	return gpt.NewTrainer(c, corpus, tok)
}

// steps does steps until t has done n.
func steps(t *gpt.Trainer, n int) error {
	for t.Done < n {
		if _, err := t.Step(); err != nil {
			return err
		}
	}
	return nil
}

// resumed compares six steps with three, a checkpoint, and three more.
func resumed(_ context.Context, c gpt.Config) (_ string, err error) {
	dir, err := os.MkdirTemp("", "verdict")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	t, err := trainer(c)
	if err != nil {
		return "", err
	}
	if err := steps(t, 3); err != nil {
		return "", err
	}
	if err := t.Save(dir); err != nil {
		return "", err
	}
	if err := steps(t, 6); err != nil {
		return "", err
	}
	cp, err := checkpoint.Load(dir, gpt.Fits(c.Parts))
	if err != nil {
		return "", err
	}
	defer cp.Close()
	again, err := gpt.Resume(c, t.Corpus, t.Tokenizer, cp)
	if err != nil {
		return "", err
	}
	if err := steps(again, 6); err != nil {
		return "", err
	}
	return "six steps, and three with three more from a checkpoint", equal(t, again)
}

// beside compares a run alone with one whose steps alternate with the steps of another model.
func beside(_ context.Context, c gpt.Config) (string, error) {
	other := c
	other.Seed++
	var list []*gpt.Trainer
	for _, c := range []gpt.Config{c, c, other} {
		t, err := trainer(c)
		if err != nil {
			return "", err
		}
		list = append(list, t)
	}
	if err := steps(list[0], 4); err != nil {
		return "", err
	}
	for n := range 4 {
		for _, t := range list[1:] {
			if err := steps(t, n+1); err != nil {
				return "", err
			}
		}
	}
	return "a model trains to the same bits alone and in turn with another", equal(list[0], list[1])
}

// equal returns an error that names the first parameter of two runs that differs in a bit.
func equal(a, b *gpt.Trainer) error {
	for i, p := range a.Model.Params() {
		q := b.Model.Params()[i]
		for k := range p.Tensor().Len() {
			if x, y := p.Tensor().At(k), q.Tensor().At(k); math.Float64bits(x) != math.Float64bits(y) {
				return errors.Errorf("%s: number %d is %v in one run and %v in the other", p.Name(), k, x, y)
			}
		}
	}
	return nil
}
