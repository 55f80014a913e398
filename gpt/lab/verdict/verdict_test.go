package verdict

import (
	"context"
	"fmt"
	"html"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/lab"
	"github.com/pedestrian-ml/pedestrian/gpt/parts"
	"github.com/pedestrian-ml/pedestrian/gpt/text"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/graph/fused"
	"github.com/pedestrian-ml/pedestrian/nn"
	"github.com/pkg/errors"
)

// chain is a text of a Markov chain of eight letters.
func chain(t *testing.T) lab.Text {
	rng := rand.New(rand.NewPCG(1, 2))
	var b strings.Builder
	last := 0
	for range 3000 {
		if last = (3*last + rng.IntN(3)) % 8; rng.IntN(9) == 0 {
			last = rng.IntN(8)
		}
		b.WriteByte(byte('a' + last))
	}
	tok, err := text.NewCharacters(b.String())
	if err != nil {
		t.Fatal(err)
	}
	corpus, err := text.NewCorpus(b.String(), tok, 16)
	if err != nil {
		t.Fatal(err)
	}
	return lab.Text{Name: "chain", Corpus: corpus, Tokenizer: tok}
}

// tiny returns the protocol of the tests.
func tiny(t *testing.T) Protocol {
	c := Baseline()
	c.BlockSize, c.BatchSize = 16, 4
	p := Protocol{Text: chain(t), Dir: t.TempDir(), Base: c, Minutes: 1, Plan: Quick()}
	p.Plan.Steps, p.Plan.Looks = 4, []int{2, 4}
	return p
}

// link returns an idea: a link behind the heads of every attention.
func link(name string, f func(in nn.Inside) graph.Expr) Idea {
	return Idea{Arm: lab.Arm{Name: name, Version: "1", Change: func(c *gpt.Config) {
		c.Parts.Kinds = []parts.Kind{{Key: "idea", Help: name, Variants: func() []parts.Variant {
			return []parts.Variant{{Name: "none"}, {Name: "one", After: parts.Apart(
				func(nn.Site, fused.AttentionShape) nn.Link { return nn.LinkFunc(f) })}}
		}}}
		c.With.Set("idea", "one")
	}}}
}

// draw returns an idea that does nothing but draw other numbers to begin with, because the parameters of its MLP have
// other names.
func draw(n int) Idea {
	name := fmt.Sprint("draw", n)
	return Idea{Arm: lab.Arm{Name: name, Version: "1", Change: func(c *gpt.Config) {
		swiglu := parts.Find(parts.MLPs(), "swiglu")
		c.Parts.MLPs = []parts.MLP{{Name: parts.Name(name), New: func(at nn.Site) nn.Layer {
			return swiglu.New(at.At(name))
		}}}
		c.MLP = name
	}}}
}

// A verdict that was interrupted continues to the same hash, and its files hold what it says. An idea that computes the
// same is equal for every seed.
func TestInterrupted(t *testing.T) {
	same := link("nothing", func(in nn.Inside) graph.Expr { return in.Y })
	whole := tiny(t)
	want, err := Judge(context.Background(), same, whole)
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range want.Answers {
		if strings.Contains(a.Question, "help") && a.Verdict != "equal for every seed" {
			t.Errorf("%s %s %s; want equal for every seed", a.Question, a.Verdict, a.Sentence)
		}
	}
	p := tiny(t)
	ctx, stop := context.WithCancelCause(context.Background())
	enough := errors.New("enough")
	p.Watch = func(now Progress) {
		if now.Share > 0.2 {
			stop(enough)
		}
	}
	if _, err := Judge(ctx, same, p); !errors.Is(err, enough) {
		t.Fatalf("got %v, want %v", err, enough)
	}
	if _, err := Read(p.Dir, same.Name); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("half a verdict: got %v, want none", err)
	}
	p.Watch = nil
	got, err := Judge(context.Background(), same, p)
	if err != nil {
		t.Fatal(err)
	}
	if got.SHA256 != want.SHA256 || got.Trials != want.Trials || got.String() == "" {
		t.Errorf("got %d trials of %s, want %d of %s", got.Trials, got.SHA256, want.Trials, want.SHA256)
	}
	kept, err := Read(p.Dir, same.Name)
	if err != nil || kept.String() != got.String() {
		t.Errorf("kept %v, %v; want %v", kept, err, got)
	}
	for _, name := range []string{reportFile, pageFile} {
		data, err := os.ReadFile(filepath.Join(Folder(p.Dir, same.Name), name))
		for _, a := range got.Answers {
			if err != nil || !strings.Contains(html.UnescapeString(string(data)), a.Sentence) {
				t.Errorf("%s: %v, without %q", name, err, a.Sentence)
			}
		}
	}
	p.Plan.Steps++
	if _, err := Judge(context.Background(), same, p); err == nil || !strings.Contains(err.Error(), "steps: got 5") {
		t.Errorf("other steps: got %v", err)
	}
}

// An idea that sets learning_rate chooses from rates that are as many times larger than the baseline's.
func TestRates(t *testing.T) {
	p := tiny(t)
	p.Plan.Looks = []int{2}
	idea := Idea{Arm: lab.Arms(fmt.Sprintf("optimizer=lion,learning_rate=%g", p.Base.LearningRate/4))[0]}
	r, err := Judge(context.Background(), idea, p)
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range r.Losses {
		if !slices.Contains(p.Plan.Rates, l.Rates[0]) || !slices.Contains(p.Plan.Rates, 4*l.Rates[1]) || !l.Edge {
			t.Errorf("%v: got the rates %v, want one of %v and a quarter of one", l.Size, l.Rates, p.Plan.Rates)
		}
	}
	if got, want := r.Tasks[0].Rates, [2]float64{1e-2, 2.5e-3}; got != want {
		t.Errorf("task: got the rates %v, want %v", got, want)
	}
	idea.Set = []string{"learning_rate=0"}
	_, err = Judge(context.Background(), idea, p)
	if err == nil || !strings.Contains(err.Error(), "learning_rate: got 0") {
		t.Errorf("a rate of 0: got %v", err)
	}
}

// Parts that a first look met are asked: experts that few tokens choose, an activation whose MLP has one inner width at
// equal parameters and at equal FLOPs, skips that need two blocks, and a head that all tasks have.
func TestParts(t *testing.T) {
	for name, want := range map[string]string{
		"mlp=moe":                           "",
		"activation=relu,mlp=mlp,n_inner=0": "",
		"skips=embedding":                   "8×1: skips: got embedding, want none with n_layer 1",
		"head=linear":                       "recall of 4 pairs: the idea is the baseline there",
	} {
		if os.Getenv("NIGHTLY") == "" && name != "mlp=moe" && name != "skips=embedding" {
			continue
		}
		p := tiny(t)
		p.Plan.Looks, p.Plan.Steps = []int{2}, 2
		p.Plan.Sizes = []Size{{8, 1}, {8, 2}, {16, 2}}
		r, err := Judge(context.Background(), Idea{Arm: lab.Arms(name)[0]}, p)
		if err != nil || r.Wrong() || len(r.Losses) == 0 || !strings.Contains(strings.Join(r.NotTried, "; "), want) {
			t.Errorf("%s: got %v, %v, want an answer, and %q not tried", name, r, err, want)
		}
	}
}

// An idea that is wrong is not trained.
func TestWrong(t *testing.T) {
	ahead := link("ahead", func(in nn.Inside) graph.Expr { // attention without a mask
		return in.Y.Add(in.Y.MatMulT(in.Y).MatMul(in.Y))
	})
	for _, c := range []struct {
		idea Idea
		want string
	}{
		{ahead, "later tokens"},
		{unused(), "not"},
	} {
		p := tiny(t)
		r, err := Judge(context.Background(), c.idea, p)
		if err != nil {
			if !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: %v", c.idea.Name, err)
			}
			continue
		}
		if !r.Wrong() || r.Trials > 0 || !strings.Contains(r.String(), c.want) {
			t.Errorf("%s: %v", c.idea.Name, r)
		}
	}
}

// unused returns an idea with a parameter that nothing uses.
func unused() Idea {
	return Idea{Arm: lab.Arm{Name: "unused", Version: "1", Change: func(c *gpt.Config) {
		c.Parts.Kinds = []parts.Kind{{Key: "idea", Help: "a parameter without use", Variants: func() []parts.Variant {
			return []parts.Variant{{Name: "none"}, {Name: "one", After: parts.Apart(
				func(at nn.Site, heads fused.AttentionShape) nn.Link {
					zero := at.Param("zero", graph.Const(0), 1, heads.Heads*heads.V)
					return nn.LinkFunc(func(in nn.Inside) graph.Expr { return in.Y.Add(zero.Scale(0)) })
				})}}
		}}}
		c.With.Set("idea", "one")
	}}}
}

// What cannot be asked is an error that names the field.
func TestRefusals(t *testing.T) {
	ok := lab.Arms("norm=layernorm")[0]
	for want, change := range map[string]func(*Idea, *Protocol){
		"name of the idea: empty": func(i *Idea, _ *Protocol) { i.Name = "" },
		"got no change":           func(i *Idea, _ *Protocol) { i.Set = nil },
		"no corpus":               func(_ *Idea, p *Protocol) { p.Text.Corpus = nil },
		"dir: empty":              func(_ *Idea, p *Protocol) { p.Dir = "" },
		"minutes: got -1":         func(_ *Idea, p *Protocol) { p.Minutes = -1 },
		"plan: steps: got -1":     func(_ *Idea, p *Protocol) { p.Plan.Steps = -1 },
		"plan: sizes: got [8×1]":  func(_ *Idea, p *Protocol) { p.Plan.Sizes = p.Plan.Sizes[:1] },
		"plan: rates: got [2 1]":  func(_ *Idea, p *Protocol) { p.Plan.Rates = []float64{2, 1} },
		"plan: looks: got [1]":    func(_ *Idea, p *Protocol) { p.Plan.Looks = []int{1} },
		"plan: tasks: got 1 step": func(_ *Idea, p *Protocol) { p.Plan.Tasks = []TaskPlan{{"chess", 1}} },
		"task_rates: got none":    func(_ *Idea, p *Protocol) { p.Plan.TaskRates = []float64{} },
		"jobs: got -1":            func(_ *Idea, p *Protocol) { p.Jobs = -1 },
		"attention: got nothing":  func(i *Idea, _ *Protocol) { i.Set = []string{"attention=nothing"} },
		"position: got rope":      func(i *Idea, _ *Protocol) { i.Set = []string{"attention=gla"} },
	} {
		idea, p := Idea{Arm: ok}, tiny(t)
		change(&idea, &p)
		if _, err := Judge(context.Background(), idea, p); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

// A hundred ideas that do nothing, of which each draws other numbers, and none has a verdict.
func TestNothing(t *testing.T) {
	n := 1
	if os.Getenv("NIGHTLY") != "" {
		n = 100
	}
	p := tiny(t)
	if n == 1 { // every task can be asked
		p.Plan.Tasks = nil
		for _, k := range list() {
			p.Plan.Tasks = append(p.Plan.Tasks, TaskPlan{k.name, 1})
		}
	} else {
		p.Plan.Steps, p.Plan.Rates, p.Plan.Looks = 30, nil, nil // as in a long verdict
		p.Plan.Sizes = []Size{{8, 1}, {8, 2}, {16, 2}}
	}
	for i := range n {
		r, err := Judge(context.Background(), draw(i), p)
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range r.Answers {
			if a.Verdict == "better" || a.Verdict == "worse" || a.Verdict == "no" {
				t.Errorf("idea %d: %s %s", i, a.Question, a.Sentence)
			}
		}
		if testing.Verbose() {
			t.Log(r)
		}
	}
}
