package main

import (
	"bytes"
	"context"
	"io"
	"math"
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/examples/internal/program"
	"github.com/pedestrian-ml/pedestrian/gpt/search"
	"github.com/pedestrian-ml/pedestrian/gpt/text"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/nn"
	"github.com/pkg/errors"
)

// small returns the flags of a short run, which is long enough to learn something.
func small(more ...string) []string {
	return append([]string{"-bits", "3", "-n_layer", "1", "-n_head", "2", "-n_embd", "16", "-batch_size", "16",
		"-tests", "160",
		"-steps", "120", "-rounds", "8", "-epochs", "2", "-learning_rate", "0.01", "-threads", "1"}, more...)
}

func TestRun(t *testing.T) {
	var out bytes.Buffer
	if err := run(t.Context(), small(), &out, io.Discard); err != nil {
		t.Fatal(err)
	}
	text := out.String()
	for _, line := range []string{
		`answers at once +\d+\.\d%\n`,
		`thinks, thoughts not graded +\d+\.\d% +after right thoughts +\d+\.\d%\n`,
		`thinks like a careless teacher +\d+\.\d% +after right thoughts +\d+\.\d%\n`,
		`objective +before +reward 1/4 +reward 2/4 +reward 3/4 +reward 4/4 +after\n`,
		`reinforce +\d+\.\d%( +[01]\.\d\d\d){4} +\d+\.\d%\n`,
		`reinforce_baseline +\d+\.\d%( +[01]\.\d\d\d){4} +\d+\.\d%\n`,
		`ppo +\d+\.\d%( +[01]\.\d\d\d){4} +\d+\.\d%\n`,
	} {
		if !regexp.MustCompile(line).MatchString(text) {
			t.Errorf("no line like %s in\n%s", line, text)
		}
	}
	reads := regexp.MustCompile(`not graded +\S+ +after right thoughts +(\S+)%`).FindStringSubmatch(text)
	if len(reads) != 2 {
		t.Fatal(text)
	}
	if share, err := strconv.ParseFloat(reads[1], 64); err != nil || !(share >= 95) {
		t.Errorf("reads right thoughts and is right %v%% of the time (%v), want nearly always", share, err)
	}
	if testing.Short() {
		return
	}
	var again bytes.Buffer
	if err := run(t.Context(), small(), &again, io.Discard); err != nil || again.String() != text {
		t.Errorf("the same seed gives another table (%v):\n%s", err, again.String())
	}
}

// Mean rewards are correct also for quarters of different lengths.
func TestRewardsOfUnequalQuarters(t *testing.T) {
	o, err := parse(small("-rounds", "5", "-bits", "1", "-steps", "200", "-tests", "16"), io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	trained, err := pretrain(t.Context(), o, o.tasks()[0], program.NewBar(io.Discard, "", 0, o.steps))
	if err != nil {
		t.Fatal(err)
	}
	r, err := reward(t.Context(), o, trained, "reinforce", program.NewBar(io.Discard, "", 0, o.rounds))
	if err != nil {
		t.Fatal(err)
	}
	for q, mean := range r.rewards {
		if !(mean >= 0.7 && mean <= 1) {
			t.Errorf("quarter %d: mean reward %v, want nearly 1: the question has one bit", q+1, mean)
		}
	}
}

func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	reason := errors.New("interrupt")
	cancel(reason)
	if err := run(ctx, small(), io.Discard, io.Discard); !errors.Is(err, reason) {
		t.Errorf("got error %v, want the reason", err)
	}
}

// ending is a context that ends after a number of looks at it.
type ending struct {
	context.Context
	looks int
}

func (e *ending) Err() error {
	if e.looks--; e.looks < 0 {
		return context.Canceled
	}
	return nil
}

// A run that is interrupted again and again, in any training and any measurement, ends in the table of one that is not.
// Other settings are refused, and so is a new run in its directory.
func TestResume(t *testing.T) {
	short := func(dir string, more ...string) []string {
		return small(append([]string{"-steps", "9", "-rounds", "5", "-tests", "16", "-out_dir", dir}, more...)...)
	}
	whole, broken := t.TempDir(), t.TempDir()
	var want bytes.Buffer
	if err := run(t.Context(), short(whole), &want, io.Discard); err != nil {
		t.Fatal(err)
	}
	saves := 0
	for args := short(broken); ; args = short(broken, "-resume") {
		var got bytes.Buffer
		err := run(&ending{t.Context(), 13 + 5*saves}, args, &got, io.Discard)
		if err == nil {
			if got.String() != want.String() {
				t.Errorf("got\n%s\nwant\n%s", &got, &want)
			}
			break
		}
		if !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		if saves++; saves > 100 {
			t.Fatal("does not end")
		}
	}
	if saves < 4 {
		t.Errorf("got %d interrupts, want more", saves)
	}
	for want, args := range map[string][]string{
		"as saved":              short(broken, "-resume", "-bits", "2"),
		"-resume continues it":  short(broken),
		"-resume: want -out_di": {"-resume"},
	} {
		if err := run(t.Context(), args, io.Discard, io.Discard); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", args, err, want)
		}
	}
}

func TestFlags(t *testing.T) {
	for want, args := range map[string][]string{
		`-objective: got "a2c", want reinforce, reinforce_baseline, ppo or all`: {"-objective", "a2c"},
		"-bits: got 0, want 1 or more":                                          {"-bits", "0"},
		"-slip: got 1.5, want a probability":                                    {"-slip", "1.5"},
		"-clip: got 1, want a number in (0, 1)":                                 {"-clip", "1"},
		"-rounds: got 3, want 4 or more":                                        {"-rounds", "3"},
		"-threads: got -1, want a whole number":                                 {"-threads", "-1"},
		"-learning_rate: got -0.1, want a":                                      {"-learning_rate", "-0.1"},
		"-learning_rate: got 1.5, want a":                                       {"-learning_rate", "1.5"},
		"-learning_rate: got NaN, want a":                                       {"-learning_rate", "NaN"},
		"-reward_rate: got 0, want a number":                                    {"-reward_rate", "0"},
		`unexpected argument "ppo"`:                                             {"ppo"},
		"n_head: 5 heads do not divide":                                         {"-n_head", "5", "-n_embd", "16"},
	} {
		if err := run(t.Context(), args, io.Discard, io.Discard); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: got error %v, want %s", args, err, want)
		}
	}
}

// A teacher that does not slip finds the right answer; one that always slips forgets every one right after another.
func TestTasks(t *testing.T) {
	o := options{bits: 5, slip: 1}
	rng := rand.New(rand.NewPCG(1, 1))
	for _, l := range o.tasks() {
		n := l.tokens()
		tokens, targets := make([]int, 40*n), make([]int, 40*n)
		l.write(rng, tokens, targets)
		for at := 0; at < len(tokens); at += n {
			question := tokens[at : at+l.bits+1]
			answer := l.parity(question)
			if l.thoughts > 0 {
				if l.slip == 0 && l.reason(question, 0, rng)[l.thoughts-1]-even != answer-bit0 {
					t.Errorf("%s: the thoughts about %v end wrongly", l.name, question)
				}
				answer = bit0 + tokens[at+n-2] - even
			}
			if targets[at+n-1] != answer || tokens[at+n-1] != say || question[l.bits] != think {
				t.Errorf("%s: %v, answer %d", l.name, tokens[at:at+n], targets[at+n-1])
			}
			for i, target := range targets[at : at+n-1] {
				thought := i >= l.bits && i < l.bits+l.thoughts
				if graded := target != text.Ignore; graded != (thought && l.graded) || graded &&
					target != tokens[at+i+1] {
					t.Errorf("%s: target %d at %d of %v", l.name, target, i, tokens[at:at+n])
				}
			}
		}
	}
	careless := task{bits: 4, thoughts: 4}.reason([]int{bit1, bit1, bit0, bit1, think}, 1, rng)
	if want := []int{odd, odd, odd, even}; !equal(careless, want) {
		t.Errorf("got %v, want %v", careless, want)
	}
}

func equal(a, b []int) bool {
	for i := range b {
		if a[i] != b[i] {
			return false
		}
	}
	return len(a) == len(b)
}

// The probabilities that the decoder drew from equal the model's at those positions, and every drawn token is fed to
// the objective at its position.
func TestEpisodesAreFedWhereTheyStand(t *testing.T) {
	o, err := parse(small(), io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	var r nn.Rollout
	p, err := newAgent(o, o.tasks()[1], lesson{loss: func(p *agent) (loss graph.Expr, err error) {
		r, loss, err = p.objective(o, "ppo")
		return loss, err
	}})
	if err != nil {
		t.Fatal(err)
	}
	e, err := p.play(rand.New(rand.NewPCG(1, 1)), search.NewSampler(1), false)
	if err != nil {
		t.Fatal(err)
	}
	mean := p.feed(e, r)
	forward, err := graph.Compile(p.model.Logits)
	if err != nil {
		t.Fatal(err)
	}
	if err := forward.Run(); err != nil {
		t.Fatal(err)
	}
	chosen, rewards := 0, 0.0
	for i, action := range r.Actions.Ints() {
		b, at := i/p.tokens(), i%p.tokens()
		if action != e.texts[b][at+1] {
			t.Fatalf("action %d at %d of %v", action, at, e.texts[b])
		}
		want := 0.0
		if r.Weights.Tensor().At(i) == 1 {
			chosen++
			want = logProb(forward.Value().Row(i), action)
		}
		if got := r.LogProbs.Tensor().At(i); !(math.Abs(got-want) <= 1e-5) {
			t.Errorf("text %d, place %d: ln π = %v, the model has %v", b, at, got, want)
		}
		if at == p.tokens()-1 {
			right := float64(1 - (p.parity(e.texts[b])-action)*(p.parity(e.texts[b])-action))
			if rewards += max(0, right); r.Returns.Tensor().At(i) != max(0, right) {
				t.Errorf("%v has the reward %v", e.texts[b], r.Returns.Tensor().At(i))
			}
		}
	}
	if want := o.batch * (o.bits + 1); chosen != want {
		t.Errorf("%d tokens chosen, want %d", chosen, want)
	}
	if !(math.Abs(mean-rewards/float64(o.batch)) <= 1e-12) {
		t.Errorf("mean reward %v, want %v", mean, rewards/float64(o.batch))
	}
}
