package seq2seq

import (
	"bytes"
	"context"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/pedestrian-ml/pedestrian/gpt/parts"
	"github.com/pedestrian-ml/pedestrian/gpt/train"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/graph/optim"
	"github.com/pedestrian-ml/pedestrian/nn"
)

// Training learns, in every arrangement; a second run with the same seed is bit-identical, also on more threads and
// with dropout. A step counts every token: of the sources, of the targets, and the ends of the targets.
func TestTraining(t *testing.T) {
	for _, change := range []func(*Config){
		func(*Config) {},
		func(c *Config) { c.Block, c.Norm = "post", "layernorm_sigma" },
		func(c *Config) { c.Position, c.Dropout, c.Activation = "rope", 0.1, "relu" },
		func(c *Config) { c.Position, c.Bias = "sinusoidal", false },
	} {
		c := small()
		change(&c)
		tr := begun(t, c)
		losses := steps(t, tr, 40)
		if first, last := losses[0], losses[39]; !(math.Abs(first-math.Log(10)) < 0.6) || !(last < 0.85*first) {
			t.Errorf("%+v: the loss goes from %.3f to %.3f, want from about ln 10 downwards", c, first, last)
		}
		p, err := tr.Step()
		want := 0
		for _, pair := range tr.batch {
			want += len(pair.Source) + len(pair.Target) + 1
		}
		if err != nil || p.Tokens != want || want < 3*c.BatchSize {
			t.Errorf("got %d tokens (%v), want %d", p.Tokens, err, want)
		}
		c.Threads = 2
		if diff := cmp.Diff(losses[:10], steps(t, begun(t, c), 10)); diff != "" {
			t.Errorf("%+v: again on two threads: %s", c, diff)
		}
	}
}

// A run of everything resumes bit-identically, also with its activations computed again. Its averages and those in
// their own checkpoint are the same numbers. A loaded model drops nothing.
func TestResume(t *testing.T) {
	c, v := small(), abc(t)
	c.Optimizer, c.Beta1, c.GradientAccumulationSteps, c.Dropout, c.Attention = "sgd", .5, 3, .1, "window"
	c.EMA, c.Frozen, c.MaxIters = 0.5, train.Frozen{"encoder.h.0.*"}, 5
	c.Options.Set("window", 2)
	full, halted := begun(t, c), begun(t, c)
	want := steps(t, full, 5)
	if full.Model.loads != nil || slices.Equal(want[:3], want[2:]) {
		t.Errorf("got the losses %v", want)
	}
	steps(t, halted, 2)
	pair := list{{[]int{4, 5}, []int{5}}}
	loss, err := halted.Evaluate(t.Context(), pair)
	check(t, err)
	cp := saved(t, halted, v, "", nil)
	check(t, Fits()(cp))
	m, s, err := LoadModel(cp)
	check(t, err)
	check(t, m.Fill(pair))
	p, err := graph.Compile(m.Loss)
	check(t, err)
	check(t, p.Run())
	if !(math.Abs(p.Loss()-loss) <= 1e-6*loss) || s.Step != 2 || s.Source.Size() != 7 {
		t.Errorf("loaded: got the loss %v at step %d, want %v", p.Loss(), s.Step, loss)
	}
	c.Recompute, c.Threads = true, 2
	resumed, err := Resume(c, backwards{}, v, v, cp)
	check(t, err)
	if resumed.Best != halted.Best || resumed.Best != loss {
		t.Errorf("best loss %v, want %v", resumed.Best, halted.Best)
	}
	var again []float64
	for p, err := range resumed.Run(t.Context()) {
		check(t, err)
		again = append(again, p.Loss)
	}
	if !slices.Equal(again, want[2:]) {
		t.Errorf("resumed: losses %v, want %v", again, want[2:])
	}
	if !slices.Equal(numbers(t, resumed.Model, nil), numbers(t, full.Model, nil)) {
		t.Error("resumed to other weights")
	}
	averaged, err := resumed.Averaged()
	averages := numbers(t, averaged, err)
	other, err := full.Averaged()
	files, failed := full.AveragedFiles(v, v)
	check(t, failed)
	alone := written(t, 5, files)
	loaded, _, failed := LoadModel(alone)
	if !slices.Equal(averages, numbers(t, other, err)) || !slices.Equal(averages, numbers(t, loaded, failed)) ||
		slices.Equal(averages, numbers(t, full.Model, nil)) {
		t.Error("got other averages from a resumed run or from a checkpoint, or the weights themselves")
	}
	mustSay(t, second(Resume(c, backwards{}, v, v, alone)), train.OptimizerFile)
}

// A checkpoint that contradicts the run, or has wrong content, is refused with the reason.
func TestResumeRefuses(t *testing.T) {
	swap := func(old, new string) func([]byte) []byte {
		return func(b []byte) []byte { return bytes.Replace(b, []byte(old), []byte(new), 1) }
	}
	tr, v := begun(t, small()), abc(t)
	steps(t, tr, 2)
	for _, tc := range []struct {
		file        string
		change      func([]byte) []byte
		resume, fit string // errors
	}{
		{train.WeightsFile, swap("encoder.wte", "encoder.wta"), "weights: encoder.wte.weight is missing", "numbers"},
		{train.WeightsFile, func(b []byte) []byte { return b[:len(b)-4] }, "safetensors", "safetensors"},
		{train.OptimizerFile, swap("m.encoder.wte", "m.encoder.wta"), "m.encoder.wte.weight", "m.encoder.wta.weight"},
		{train.StateFile, swap(`"step": 2`, `"step": -2`), "says step -2, its directory step 2", "says step -2"},
		{train.StateFile, swap(`"format": 2`, `"format": 3`), "format 3, this program reads 2", "format 3"},
		{train.StateFile, swap(`"n_head": 2`, `"n_heads": 2`), "n_heads: unknown field; did you mean", "n_heads"},
		{train.StateFile, swap(`"n_head": 2`, `"n_head": 4`), "n_head: got 2, want 4 as saved", "numbers"},
		{train.StateFile, swap(`"n_embd": 16`, `"n_embd": 20`), "n_embd: got 16, want 20",
			"numbers, want 19974 for this configuration; layer decoder.h.0.attn.c_attn: got 816, want 1008"},
		{train.StateFile, swap(`"n_embd": 16`, `"n_embd": 268435456`), "n_embd: got 16", "memory"},
		{train.StateFile, swap(`"source": {`, `"sauce": {`), "sauce", "sauce"},
		{train.StateFile, func([]byte) []byte {
			return []byte(`{"format": 2, "step": 2}`)
		}, "source: vocabulary: missing", "source: vocabulary: missing"},
		{train.StateFile, swap(`"b",`, `"d",`), "the vocabulary of 7 tokens is not the one of 7 that is saved", ""},
	} {
		cp := saved(t, tr, v, tc.file, tc.change)
		mustSay(t, second(Resume(small(), backwards{}, v, v, cp)), tc.resume)
		if err := Fits()(cp); tc.fit != "" {
			mustSay(t, err, tc.fit)
		} else if err != nil {
			t.Errorf("%s: %v", tc.resume, err)
		}
		if tc.fit == "memory" {
			_, _, err := LoadModel(cp)
			mustSay(t, err, "memory")
		}
	}
	cp := saved(t, tr, v, "", nil)
	mustSay(t, second(Resume(small(), list{{[]int{4}, []int{5}}}, v, v, cp)), "trained on data with sha256 ")
	mustSay(t, second(Resume(small(), list{{}}, v, v, cp)), "pair 0: cannot be read")
	mustSay(t, second(Resume(small(), backwards{}, v, nil, cp)), "the vocabulary of 0 tokens is not the one of 7")
	mustSay(t, second(tr.Files(nil, v)), "trainer: source: vocabulary: missing")
	mustSay(t, second(tr.Files(v, new(Vocabulary))), "trainer: target: vocabulary: missing")
	mustSay(t, second(tr.AveragedFiles(v, v)), "ema: got 0")
	mustSay(t, second(tr.Files(v, abc(t, "defghijklmnop"))), "tokens in the target's vocabulary, want at most target")
	zeros := saved(t, tr, v, train.StateFile, func(b []byte) []byte { // a saved size of 0 stands for its default
		return regexp.MustCompile(`"(qk_size|v_size|n_inner)": *\d+`).ReplaceAll(b, []byte(`"$1": 0`))
	})
	check(t, Fits()(zeros))
}

// In a window of a checkpoint of format 1 a token saw half on either side: 4 becomes 3, 1 stays 1.
func TestWindowsOfFormat1(t *testing.T) {
	for was, want := range map[int]int{0: 0, 1: 1, 4: 3, 5: 3} {
		c := small()
		if was > 0 {
			c.Attention = "window"
		}
		c.Options.Offer("window", was)
		s, err := ReadState(saved(t, begun(t, c), abc(t), train.StateFile, func(b []byte) []byte {
			return bytes.Replace(b, []byte(`"format": 2`), []byte(`"format": 1`), 1)
		}))
		if got := s.Config.Options.Get("window"); err != nil || got != want {
			t.Errorf("window %d: got %d (%v), want %d", was, got, err, want)
		}
	}
}

// The loss over pairs is the mean over their tokens, independent of the batch size and of dropout. An evaluation counts
// those since the lowest loss.
func TestEvaluate(t *testing.T) {
	var pairs list
	for i := range 17 {
		p, _ := backwards{}.Pair(5000 + i)
		pairs = append(pairs, p)
	}
	var want float64
	for _, batch := range []int{17, 5, 1, 20} {
		c := small()
		c.BatchSize, c.Dropout, c.Patience = batch, 0.3, 2
		tr := begun(t, c)
		for since := range 3 {
			got, err := tr.Evaluate(t.Context(), pairs)
			if want == 0 {
				want = got
			}
			if err != nil || !(math.Abs(got-want) < 1e-6) || tr.Best != got || tr.Since != since ||
				tr.Stalled() != (since == 2) {
				t.Errorf("batches of %d: %v (%v), best %v, %d since, want %v", batch, got, err, tr.Best, tr.Since, want)
			}
		}
	}
	tr := begun(t, small())
	mustSay(t, second(tr.Evaluate(t.Context(), list{})), "evaluate: no pairs")
	mustSay(t, second(tr.Evaluate(t.Context(), nil)), "evaluate: no pairs")
	mustSay(t, second(tr.Evaluate(t.Context(), list{{}})), "cannot be read")
	mustSay(t, second(tr.Evaluate(t.Context(), list{{[]int{4}, []int{99}}})), "99")
}

// A new Trainer reads all pairs and refuses one that does not fit; a pair that cannot be read later ends the step.
func TestNewTrainerReadsAllPairs(t *testing.T) {
	good := Pair{[]int{4}, []int{5}}
	for _, tc := range []struct {
		pairs Pairs
		want  string
	}{
		{nil, "trainer: no pairs (nil)"},
		{list{}, "trainer: no pairs"},
		{list{good, good, {[]int{4}, make([]int, 7)}}, "pair 2: the target has 8 tokens with its end, target_size is"},
		{list{good, {make([]int, 6), nil}}, "pair 1: the source has 6 tokens, source_size is 5"},
		{list{good, {}}, "trainer: pair 1: cannot be read"},
	} {
		mustSay(t, second(NewTrainer(small(), tc.pairs)), tc.want)
	}
	pairs := list{good}
	tr := trainerOn(t, small(), pairs)
	pairs[0] = Pair{}
	mustSay(t, second(tr.Step()), "step 1: cannot be read")
	seen := map[string]int{} // pairs that consist of the same numbers in a row have other sums
	for i, pairs := range []list{
		{{[]int{4, 5}, []int{6}}}, {{[]int{4}, []int{5, 6}}}, {{[]int{4, 5, 6}, nil}},
		{{[]int{4, 5}, nil}, {[]int{6}, nil}}, {{[]int{6}, nil}, {[]int{4, 5}, nil}},
	} {
		sum, err := survey(small(), pairs)
		if _, twice := seen[sum]; err != nil || twice || len(sum) != 64 {
			t.Errorf("pairs %d: got sum %q (%v)", i, sum, err)
		}
		seen[sum] = i
	}
}

// A Trainer or a Model with a replaced field is an error that names the field.
func TestReplaced(t *testing.T) {
	other := begun(t, small())
	for says, change := range map[string]func(*Trainer){
		"Core has been replaced":                  func(tr *Trainer) { tr.Core = nil },
		"Model has been replaced, which":          func(tr *Trainer) { tr.Model = other.Model },
		"Graph has been replaced":                 func(tr *Trainer) { tr.Model.Graph = other.Model.Graph },
		"Source has been replaced":                func(tr *Trainer) { tr.Model.Source = other.Model.Source },
		"Input has been replaced":                 func(tr *Trainer) { tr.Model.Input = tr.Model.Targets },
		"Targets has been replaced":               func(tr *Trainer) { tr.Model.Targets = tr.Model.Input },
		"Loss has been replaced":                  func(tr *Trainer) { tr.Model.Loss = tr.Model.Logits },
		"Logits has been replaced: want the expr": func(tr *Trainer) { tr.Model.Logits = tr.Model.Loss },
	} {
		tr := begun(t, small())
		change(tr)
		mustSay(t, second(tr.Step()), "trainer: ", says)
		mustSay(t, second(tr.Evaluate(context.Background(), backwards{})), "trainer: ", says)
		mustSay(t, second(tr.Files(abc(t), abc(t))), "trainer: ", says)
		if tr.Model != other.Model && tr.Core != nil {
			mustSay(t, tr.Model.Fill(nil), says)
			mustSay(t, second(NewTranslator(tr.Model, 1, 1)), "translator: ", says)
		}
	}
	tr := begun(t, small())
	tr.Model.Config.TargetSize-- // training does not read it
	steps(t, tr, 1)
	mustSay(t, second(NewTranslator(tr.Model, 1, 1)), "translator: model: Config: got target_size")
	for _, nothing := range []*Trainer{nil, {}} {
		mustSay(t, second(nothing.Step()), "trainer: nothing to train")
		mustSay(t, second(nothing.Averaged()), "trainer: nothing to train")
		mustSay(t, second(nothing.Files(abc(t), abc(t))), "trainer: nothing to train")
		mustSay(t, second(nothing.Evaluate(context.Background(), backwards{})), "trainer: nothing to train")
	}
}

// A user-defined norm, optimizer, and attention with an option train, resume and are loaded by a program that has
// them.
func TestOwnParts(t *testing.T) {
	c := small()
	attention := parts.Find(parts.Attentions(), "causal") // with the encoder's mask
	attention.Name, attention.Options = "mine", []parts.Option{{Name: "mine_width", Help: "a number"}}
	c.Parts = parts.Registry{
		Norms:      []parts.Norm{{Name: "scaled", New: func(at nn.Site) nn.Layer { return nn.NewLayerNormSigma(at) }}},
		Attentions: []parts.Attention{attention},
		Optimizers: []parts.Optimizer{{Name: "slow", New: func(train.Training) optim.Rule { return optim.SGD{} }}},
	}
	c.Norm, c.Optimizer, c.Attention = "scaled", "slow", "mine"
	c.Options.Set("mine_width", 7)
	tr, v := begun(t, c), abc(t)
	steps(t, tr, 2)
	cp := saved(t, tr, v, "", nil)
	check(t, second(Resume(c, backwards{}, v, v, cp)))
	none := parts.Registry{} // all registries count
	check(t, Fits(c.Parts, none)(cp))
	if m, _, err := LoadModel(cp, c.Parts, none); err != nil || m.Config.Options.Get("mine_width") != 7 {
		t.Errorf("loaded with %+v, %v", m, err)
	}
	_, _, err := LoadModel(cp)
	mustSay(t, err, "mine_width: unknown field")
}

// The experts of both sides are balanced, by a loss that begins with a new training or by biases that are not trained.
func TestExperts(t *testing.T) {
	c, v := small(), abc(t)
	c.MLP, c.Experts.NumExperts = "moe", 3
	tr := begun(t, c)
	if tr.Model.Config.Experts.RouterAuxLossCoef == 0 || tr.Model.objective.Node() == tr.Model.Loss.Node() {
		t.Error("the objective has no loss that balances the experts")
	}
	p, err := tr.Step()
	check(t, err)
	var mixtures []string
	for _, load := range p.Loads {
		mixtures = append(mixtures, load.Mixture)
	}
	if got := strings.Join(mixtures, " "); got != "encoder.h.0.mlp encoder.h.1.mlp decoder.h.0.mlp decoder.h.1.mlp" {
		t.Errorf("got the loads of %s", got)
	}
	check(t, second(Resume(c, backwards{}, v, v, saved(t, tr, v, "", nil))))
	c.Experts.RouterBiasUpdateRate = 0.1
	tr = begun(t, c)
	if got, all := len(tr.Model.trained()), len(tr.Model.Params()); all-got != 4 {
		t.Errorf("%d of %d parameters are trained, want all but a bias in each of 4 blocks", got, all)
	}
	steps(t, tr, 1)
}

// Smoothing changes the loss that training minimises, but not the loss of evaluations.
func TestSmoothing(t *testing.T) {
	c := small()
	plain := begun(t, c)
	c.LabelSmoothing = 0.1
	smooth := begun(t, c)
	a, err := plain.Evaluate(t.Context(), backwards{})
	check(t, err)
	b, err := smooth.Evaluate(t.Context(), backwards{})
	check(t, err)
	if x, y := steps(t, plain, 1), steps(t, smooth, 1); a != b || x[0] == y[0] {
		t.Errorf("evaluated to %v and %v, the losses of training are %v and %v", a, b, x, y)
	}
}

// The scopes of the blocks contain parameters, and all parameters of blocks.
func TestBlocks(t *testing.T) {
	tr := begun(t, small())
	places := small().blocks()
	if len(places) != 2*small().NLayer {
		t.Errorf("got %v, want %d places on either side", places, small().NLayer)
	}
	for _, p := range tr.Model.Params() {
		in := slices.ContainsFunc(places, func(place string) bool { return strings.HasPrefix(p.Name(), place+".") })
		if in != strings.Contains(p.Name(), ".h.") {
			t.Errorf("%s is in one of %v: %t", p.Name(), places, in)
		}
	}
}
