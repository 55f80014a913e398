package preference

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/checkpoint"
	"github.com/pedestrian-ml/pedestrian/gpt/text"
	"github.com/pedestrian-ml/pedestrian/gpt/text/chat"
)

// base returns the checkpoint of a small model that has learnt lines such as "a goat eats hay" and "a goat eats oats".
func base(t *testing.T) (gpt.Source, text.Tokenizer) {
	t.Helper()
	var verse strings.Builder
	rng := rand.New(rand.NewPCG(1, 1))
	for range 300 {
		verse.WriteString("a " + animals[rng.IntN(len(animals))] + " eats " + foods[rng.IntN(2)] + "\n")
	}
	tok, err := text.NewCharacters(verse.String())
	if err != nil {
		t.Fatal(err)
	}
	c := gpt.Baby()
	c.NLayer, c.NHead, c.NEmbd, c.BlockSize, c.BatchSize = 1, 2, 32, 24, 8
	c.MaxIters, c.LRDecayIters, c.WarmupIters, c.LearningRate, c.Dropout = 150, 150, 5, 1e-2, 0
	corpus, err := text.NewCorpus(verse.String(), tok, c.BlockSize)
	if err != nil {
		t.Fatal(err)
	}
	trainer, err := gpt.NewTrainer(c, corpus, tok)
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range trainer.Run(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
	}
	dir := t.TempDir()
	if err := trainer.Save(dir); err != nil {
		t.Fatal(err)
	}
	cp, err := checkpoint.Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cp.Close() })
	files, err := gpt.SourceOf(cp)
	if err != nil {
		t.Fatal(err)
	}
	return files, tok
}

var animals, foods = []string{"goat", "cow", "hen", "pig"}, []string{"hay", "oats"}

// pairs returns pairs in which hay is preferred, for some animals.
func pairs(t *testing.T, tok text.Tokenizer, animals ...string) []text.Pair {
	t.Helper()
	path := filepath.Join(t.TempDir(), "pairs.jsonl")
	var lines strings.Builder
	for _, a := range animals {
		lines.WriteString(`{"prompt": "a ` + a + ` eats ", "chosen": "hay\n", "rejected": "oats\n"}` + "\n")
	}
	if err := os.WriteFile(path, []byte(lines.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	list, err := chat.LoadPairs(path, tok, chat.Template{})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// tuning returns a configuration that tunes everything, or adapters.
func tuning(full bool) gpt.Config {
	c := gpt.LoRATuning()
	if full {
		c = gpt.FullTuning()
	}
	c.BatchSize, c.GradientAccumulationSteps, c.LearningRate, c.MaxIters = 4, 2, 1e-2, 12
	if full {
		c.LearningRate = 1e-3
	}
	return c
}

// DPO makes the chosen answers likelier, also to a prompt that it has not seen. Before the first step the loss is ln 2.
func TestDPO(t *testing.T) {
	cp, tok := base(t)
	for _, full := range []bool{true, false} {
		d, err := NewDPO(tuning(full), 0.5, pairs(t, tok, "goat", "cow", "hen"), tok, cp, nil)
		if err != nil {
			t.Fatal(err)
		}
		held := pairs(t, tok, "pig")
		list, err := d.Judge(t.Context(), held, nil)
		if err != nil || len(list) != 1 || list[0].Now != list[0].Before {
			t.Fatalf("full %t: got %v (%v), want no difference before the first step", full, list, err)
		}
		before := list[0].Now
		for step := range d.Config().MaxIters {
			p, err := d.Step()
			if err != nil {
				t.Fatal(err)
			}
			if step == 0 && !(math.Abs(p.Loss-math.Ln2) <= 1e-6) {
				t.Errorf("full %t: got the first loss %v, want ln 2", full, p.Loss)
			}
		}
		if list, err = d.Judge(t.Context(), held, nil); err != nil {
			t.Fatal(err)
		}
		if j := list[0]; j.Before != before || !(j.Margin(0.5) > 0.2) {
			t.Errorf("full %t: got %+v after the tuning, want %v before and more now", full, j, before)
		}
	}
}

// prompts returns prompts about some animals.
func prompts(t *testing.T, tok text.Tokenizer, animals ...string) (list []text.Prompt) {
	t.Helper()
	for _, a := range animals {
		ids, err := tok.Encode("a " + a + " eats ")
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, text.Prompt{Tokens: ids, Answer: "hay"})
	}
	return list
}

// hay rewards the right answer.
func hay(p text.Prompt, answer string) (float64, error) {
	if answer == p.Answer {
		return 1, nil
	}
	return 0, nil
}

// group returns settings for short answers that a line end ends.
func group(t *testing.T, tok text.Tokenizer, updates int, beta float64) Group {
	t.Helper()
	end, err := tok.Encode("\n")
	if err != nil {
		t.Fatal(err)
	}
	return Group{Size: 8, Length: 5, Stop: end, Updates: updates, Clip: 0.2, Beta: beta, Score: hay}
}

// GRPO makes rewarded answers likelier, also to a prompt that it has not seen, with and without a penalty, and with
// several steps on the same answers. Before a step changes the policy, the advantages of a group add up to 0.
func TestGRPO(t *testing.T) {
	cp, tok := base(t)
	for _, updates := range []int{1, 2} {
		for _, beta := range []float64{0, 0.04} {
			c := tuning(updates == 2)
			c.BatchSize, c.MaxIters = 8, 10
			g, err := NewGRPO(c, group(t, tok, updates, beta), prompts(t, tok, "goat", "cow", "hen"), tok, cp)
			if err != nil {
				t.Fatal(err)
			}
			var first, last Round
			for step := range c.MaxIters {
				p, r, err := g.Step(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				if last = r; step == 0 {
					first = r
				}
				fresh := step%updates == 0 && (beta == 0 || step == 0) // the penalty is 0 at the reference
				if fresh && !(math.Abs(p.Loss) <= 1e-5) {
					t.Errorf("updates %d, β %v, step %d: got the loss %v, want 0", updates, beta, step+1, p.Loss)
				}
				if penalised := step%updates == 0 && !fresh; penalised && !(p.Loss > 0) {
					t.Errorf("updates %d, step %d: got the penalty %v, want more than 0", updates, step+1, p.Loss)
				}
			}
			before, now, err := g.Judge(t.Context(), prompts(t, tok, "pig", "pig"), nil)
			if err != nil {
				t.Fatal(err)
			}
			if !(last.Reward > first.Reward+0.2 && now[0]+now[1] > before[0]+before[1]+0.2) {
				t.Errorf("updates %d, β %v: from the rewards %v to %v, and of other prompts from %v to %v",
					updates, beta, first.Reward, last.Reward, before, now)
			}
			if !(first.Length > 1 && first.Length <= 5 && first.Ended > 0 && first.Equal < 1) {
				t.Errorf("got the first answers %+v", first)
			}
		}
	}
}

// Judging changes no bit of the weights, and a run with the same seed has the same bits.
func TestSameBits(t *testing.T) {
	cp, tok := base(t)
	weights := func(judge bool) (all [][]float64) {
		c := tuning(false)
		d, err := NewDPO(c, 0.5, pairs(t, tok, "goat", "cow", "hen"), tok, cp, nil)
		if err != nil {
			t.Fatal(err)
		}
		c.BatchSize = 8
		g, err := NewGRPO(c, group(t, tok, 2, 0.04), prompts(t, tok, "goat", "cow", "hen"), tok, cp)
		if err != nil {
			t.Fatal(err)
		}
		for range 3 {
			if _, err := d.Step(); err != nil {
				t.Fatal(err)
			}
			if _, _, err := g.Step(t.Context()); err != nil {
				t.Fatal(err)
			}
			if !judge {
				continue
			}
			if _, err := d.Judge(t.Context(), pairs(t, tok, "pig"), func(int, int) {}); err != nil {
				t.Fatal(err)
			}
			if _, _, err := g.Judge(t.Context(), prompts(t, tok, "pig"), func(int, int) {}); err != nil {
				t.Fatal(err)
			}
		}
		for _, m := range []*gpt.Model{d.Model, g.Model} {
			for _, w := range m.Trainable() {
				all = append(all, w.Tensor().Floats())
			}
		}
		return all
	}
	if diff := cmp.Diff(weights(false), weights(true)); diff != "" {
		t.Error(diff)
	}
}

// A pass holds every item once, and an item depends on the position alone.
func TestOrder(t *testing.T) {
	o, again := order{seed: 3, n: 5}, order{seed: 3, n: 5}
	var list []int
	for i := range 10 {
		list = append(list, o.at(i))
	}
	for i := 9; i >= 0; i-- {
		if got := again.at(i); got != list[i] {
			t.Errorf("position %d: got %d, then %d", i, list[i], got)
		}
	}
	first, second := slices.Sorted(slices.Values(list[:5])), slices.Sorted(slices.Values(list[5:]))
	if all := []int{0, 1, 2, 3, 4}; !slices.Equal(first, all) || !slices.Equal(second, all) ||
		slices.Equal(list[:5], list[5:]) {
		t.Errorf("got %v", list)
	}
}

// Equal rewards teach nothing; otherwise advantages have the mean 0 and the variance 1.
func TestAdvantages(t *testing.T) {
	for _, rewards := range [][]float64{{2, 2, 2}, {1, 0, 0, 1}, {3, 0, 0}} {
		var group []answer
		for _, r := range rewards {
			group = append(group, answer{reward: r})
		}
		advantages(group)
		var sum, squares float64
		for _, a := range group {
			sum, squares = sum+a.advantage, squares+a.advantage*a.advantage
		}
		want := float64(len(rewards))
		if rewards[0] == 2 {
			want = 0
		}
		if !(math.Abs(sum) <= 1e-12 && math.Abs(squares-want) <= 1e-12) {
			t.Errorf("%v: got %+v", rewards, group)
		}
	}
}

// A prompt that is too long is cut at its beginning, and counted; an answer that is too long is an error.
func TestLongPairs(t *testing.T) {
	cp, tok := base(t)
	list := pairs(t, tok, "goat")
	c := tuning(false)
	c.BlockSize = len(list[0].Chosen.Tokens) - 2
	d, err := NewDPO(c, 0.1, list, tok, cp, nil)
	if err != nil {
		t.Fatal(err)
	}
	if d.Cut != 2 { // both answers follow the same prompt; the rejected one is longer
		t.Errorf("got %d prompts cut, want 2", d.Cut)
	}
	if _, err := d.Step(); err != nil {
		t.Error(err)
	}
}

// What cannot be tuned is refused by an error that names the setting.
func TestRefuses(t *testing.T) {
	cp, tok := base(t)
	some, asked := pairs(t, tok, "goat"), prompts(t, tok, "goat")
	dpo := func(change func(c *gpt.Config), beta float64, list []text.Pair) error {
		c := tuning(false)
		change(&c)
		_, err := NewDPO(c, beta, list, tok, cp, nil)
		return err
	}
	grpo := func(change func(c *gpt.Config, g *Group), list []text.Prompt) error {
		c, g := tuning(false), group(t, tok, 1, 0)
		change(&c, &g)
		_, err := NewGRPO(c, g, list, tok, cp)
		return err
	}
	none := func(*gpt.Config) {}
	for want, err := range map[string]error{
		"dpo: got no pairs":                    dpo(none, 1, nil),
		"dpo: batch_size: got 3, want an even": dpo(func(c *gpt.Config) { c.BatchSize = 3 }, 1, some),
		"beta: got 0, want a number above 0":   dpo(none, 0, some),
		"hooks: got a Loss or a Fill": dpo(func(c *gpt.Config) {
			c.Hooks.Fill = func(int, int, []int, []int) error { return nil }
		}, 1, some),
		"answer 0: got 4 tokens, want at most block_size 2": dpo(func(c *gpt.Config) { c.BlockSize = 2 }, 1, some),
		"grpo: got no prompts":                              grpo(func(*gpt.Config, *Group) {}, nil),
		"grpo: size: got 3 answers to a prompt, want at least 2, and a divisor of the 8 rows": grpo(
			func(_ *gpt.Config, g *Group) { g.Size = 3 }, asked,
		),
		"grpo: length: got 0":   grpo(func(_ *gpt.Config, g *Group) { g.Length = 0 }, asked),
		"grpo: updates: got -1": grpo(func(_ *gpt.Config, g *Group) { g.Updates = -1 }, asked),
		"grpo: score: got nil":  grpo(func(_ *gpt.Config, g *Group) { g.Score = nil }, asked),
		"beta: got -1":          grpo(func(_ *gpt.Config, g *Group) { g.Beta = -1 }, asked),
		"prompt 0: got 12 tokens, want 1 to 6: block_size 10 and an answer of 5 tokens": grpo(
			func(c *gpt.Config, _ *Group) { c.BlockSize = 10 }, asked,
		),
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	for name, f := range map[string]func() error{
		"dpo":  func() error { _, err := (*DPO)(nil).Judge(t.Context(), some, nil); return err },
		"grpo": func() error { _, _, err := new(GRPO).Judge(t.Context(), asked, nil); return err },
	} {
		if err := f(); err == nil || !strings.Contains(err.Error(), name+": got none") {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// A step needs answers. A score that fails or is not a number ends the round, and an interrupt is returned.
func TestAnswersAreNeeded(t *testing.T) {
	cp, tok := base(t)
	c, settings := tuning(false), group(t, tok, 1, 0)
	reward, failed := 0.0, error(nil)
	settings.Score = func(text.Prompt, string) (float64, error) { return reward, failed }
	g, err := NewGRPO(c, settings, prompts(t, tok, "goat"), tok, cp)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := g.Trainer.Step(); err == nil || !strings.Contains(err.Error(), "want a Step of GRPO") {
		t.Errorf("got %v", err)
	}
	reward = math.NaN()
	if _, _, err := g.Step(t.Context()); err == nil || !strings.Contains(err.Error(), "grpo: round 1: score of") ||
		!strings.Contains(err.Error(), "got NaN, want a finite reward") {
		t.Errorf("got %v", err)
	}
	reward, failed = 0, errors.New("no judge")
	if _, _, err := g.Step(t.Context()); !errors.Is(err, failed) {
		t.Errorf("got %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := g.Step(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	failed = nil
	if _, r, err := g.Step(t.Context()); err != nil || r.Equal != 1 {
		t.Errorf("got %+v (%v), want only groups with equal rewards", r, err)
	}
}

// Dropout is for training alone: it changes neither the references, with which the first loss is ln 2 for a model
// without it, nor a judgement.
func TestJudgedWithoutDropout(t *testing.T) {
	cp, tok := base(t)
	var lists [2][]Judgement
	var references []float64
	for i, dropout := range []float64{0, 0.5} {
		c := tuning(true)
		c.Dropout, c.LearningRate = dropout, 1e-30
		d, err := NewDPO(c, 0.5, pairs(t, tok, "goat", "cow", "hen"), tok, cp, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := d.Step(); err != nil {
			t.Fatal(err)
		}
		if lists[i], err = d.Judge(t.Context(), pairs(t, tok, "pig"), nil); err != nil {
			t.Fatal(err)
		}
		if i == 1 && !slices.Equal(d.before, references) {
			t.Errorf("references with dropout %v, without %v", d.before, references)
		}
		references = d.before
	}
	if diff := cmp.Diff(lists[0], lists[1]); diff != "" {
		t.Errorf("-without +with dropout:\n%s", diff)
	}
}

// tuner is a DPO or a GRPO.
type tuner struct {
	*gpt.Trainer
	step    func() error
	files   func(path string) ([]checkpoint.File, error)
	restore func(cp *checkpoint.Checkpoint) error
}

// A run that is saved after any step, also between two steps of a round, and restored in one that is built again ends
// in the bits of a run that was not interrupted.
func TestResume(t *testing.T) {
	cp, tok := base(t)
	ctx := t.Context()
	prompts := func() (list []text.Prompt) {
		for _, a := range animals {
			ids, err := tok.Encode("a " + a + " eats ")
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, text.Prompt{Text: a, Tokens: ids})
		}
		return list
	}()
	group := Group{Size: 4, Length: 5, Updates: 3, Clip: 0.2, Beta: 0.1,
		Score: func(_ text.Prompt, answer string) (float64, error) {
			return float64(strings.Count(answer, "a")), nil
		}}
	for _, full := range []bool{true, false} {
		for name, begin := range map[string]func() tuner{
			"dpo": func() tuner {
				d, err := NewDPO(tuning(full), 0.5, pairs(t, tok, "goat", "cow", "hen"), tok, cp, nil)
				if err != nil {
					t.Fatal(err)
				}
				return tuner{d.Trainer, func() error { _, err := d.Step(); return err }, d.TuningFiles, d.Restore}
			},
			"grpo": func() tuner {
				g, err := NewGRPO(tuning(full), group, prompts, tok, cp)
				if err != nil {
					t.Fatal(err)
				}
				return tuner{g.Trainer, func() error { _, _, err := g.Step(ctx); return err }, g.TuningFiles,
					func(cp *checkpoint.Checkpoint) error { return g.Restore(ctx, cp) }}
			},
		} {
			const all = 5
			straight, dir := begin(), t.TempDir()
			for range all {
				if err := straight.step(); err != nil {
					t.Fatal(err)
				}
			}
			broken := begin()
			for step := range all { // interrupted after every step
				if err := broken.step(); err != nil {
					t.Fatal(err)
				}
				list, err := broken.files("base")
				if err != nil {
					t.Fatal(err)
				}
				d, err := checkpoint.Open(dir)
				if err == nil {
					err = errors.Join(d.Save(step+1, list), d.Close())
				}
				if err != nil {
					t.Fatal(err)
				}
				at, err := checkpoint.Load(dir)
				if err != nil {
					t.Fatal(err)
				}
				broken = begin()
				if err := errors.Join(broken.restore(at), at.Close()); err != nil || broken.Done != step+1 {
					t.Fatalf("%s, full %t: step %d of %d: %v", name, full, broken.Done, step+1, err)
				}
			}
			for i, p := range straight.Model.Trainable() {
				if q := broken.Model.Trainable()[i]; !slices.Equal(p.Tensor().F32, q.Tensor().F32) {
					t.Errorf("%s, full %t: %s differs", name, full, p.Name())
				}
			}
		}
	}
	if err := new(GRPO).Restore(ctx, cp.Checkpoint); !errors.Is(err, errNone) {
		t.Errorf("got %v", err)
	}
}
