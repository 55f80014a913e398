package lab

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/checkpoint"
	"github.com/pedestrian-ml/pedestrian/gpt/parts"
	"github.com/pedestrian-ml/pedestrian/gpt/text"
)

// tiny returns a study of three attentions on a short text, which takes a fraction of a second.
func tiny(t *testing.T, dir string) *Study {
	t.Helper()
	verse := strings.Repeat("The wheel goes round, the water pays no rent.\n", 9)
	tok, err := text.NewCharacters(verse)
	if err != nil {
		t.Fatal(err)
	}
	c := gpt.Shakespeare()
	c.NLayer, c.NHead, c.NEmbd, c.BlockSize, c.BatchSize = 1, 2, 8, 8, 2
	c.EvalInterval, c.EvalIters, c.Threads, c.MinLR = 2, 1, 1, 0
	c.Options.Offer("window", 4)
	corpus, err := text.NewCorpus(verse, tok, c.BlockSize)
	if err != nil {
		t.Fatal(err)
	}
	return &Study{
		Name: "attentions", Base: c, Arms: Arms("baseline", "attention=linear", "attention=gqa,n_kv_head=1"),
		Texts: []Text{{Name: "verse", Corpus: corpus, Tokenizer: tok}}, Seeds: 2, Budget: Budget{Steps: 5}, Dir: dir,
	}
}

// all runs a study and returns its trials by text, arm, setting and seed.
func all(t *testing.T, s *Study) (trials map[string]*Trial, reused int) {
	t.Helper()
	trials = map[string]*Trial{}
	for trial, err := range s.Run(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if trial.Reused {
			reused++
		}
		trials[fmt.Sprint(trial.Text, trial.Arm, trial.Setting, trial.Seed)] = trial
	}
	return trials, reused
}

// results leaves out what another run does not repeat.
func results(trials map[string]*Trial) map[string]Result {
	list := map[string]Result{}
	for name, t := range trials {
		list[name] = t.Result
	}
	return list
}

// A study that is requested again runs nothing. Jobs, parts and threads do not change a bit of the results.
func TestRunRepeats(t *testing.T) {
	s := tiny(t, t.TempDir())
	first, reused := all(t, s)
	if len(first) != 6 || reused != 0 {
		t.Fatalf("got %d trials, %d of them reused, want 6 and 0", len(first), reused)
	}
	for name, trial := range first {
		if r := trial.Result; r.Steps != 5 || len(r.Curve) != 3 || r.Curve[2].Step != 5 || !(r.Loss > 0) ||
			r.Tokens != 80 {
			t.Errorf("%s: got %+v, want 5 steps of 16 tokens with evaluations after 2, 4 and 5", name, r)
		}
	}
	again, reused := all(t, s)
	if diff := cmp.Diff(results(first), results(again)); diff != "" || reused != 6 {
		t.Errorf("again: %d reused, want 6\n%s", reused, diff)
	}
	s = tiny(t, t.TempDir())
	s.Jobs, s.Part, s.Parts, s.Base.Threads = 3, 1, 2, 6
	parallel, _ := all(t, s)
	if diff := cmp.Diff(results(first), results(parallel)); diff != "" {
		t.Errorf("with three jobs:\n%s", diff)
	}
	if left, err := os.ReadDir(filepath.Join(s.Dir, trialsDir)); err != nil || len(left) > 0 {
		t.Errorf("left %v, %v", left, err)
	}
}

// A study that is interrupted at random moments, while two processes run it, ends with the same results.
func TestRunIsInterrupted(t *testing.T) {
	want, _ := all(t, tiny(t, t.TempDir()))
	dir, rng, interrupted := t.TempDir(), rand.New(rand.NewPCG(1, 2)), 0
	for range 100 {
		ctx, cancel := context.WithCancel(t.Context())
		steps := rng.IntN(4)
		s := tiny(t, dir)
		s.Jobs = 2
		s.Watch = func(Step) {
			if steps--; steps < 0 {
				cancel()
			}
		}
		var err error
		for _, err = range s.Run(ctx) {
		}
		cancel()
		if err == nil {
			break
		}
		if !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		interrupted++
	}
	other := tiny(t, dir)
	got, reused := all(t, other)
	if diff := cmp.Diff(results(want), results(got)); diff != "" || reused != 6 || interrupted < 5 {
		t.Errorf("interrupted %d times, %d reused, want all 6:\n%s", interrupted, reused, diff)
	}
}

// A trial saves checkpoints while it runs, which do not change its result.
func TestRunSaves(t *testing.T) {
	want, _ := all(t, tiny(t, t.TempDir()))
	s, saved := tiny(t, t.TempDir()), 0
	s.every = time.Nanosecond
	s.Watch = func(step Step) {
		cp, err := checkpoint.Load(s.trialOf(step.Trial))
		if err != nil {
			return // none before the first step
		}
		defer cp.Close()
		if saved++; cp.Step != step.Step-1 {
			t.Errorf("after step %d: got a checkpoint of step %d, want the step before", step.Step, cp.Step)
		}
	}
	got, _ := all(t, s)
	if diff := cmp.Diff(results(want), results(got)); diff != "" || saved < 6*4 {
		t.Errorf("saved %d times:\n%s", saved, diff)
	}
}

// Two runs of one directory at once do every trial once.
func TestRunIsShared(t *testing.T) {
	dir, done := t.TempDir(), make(chan map[string]*Trial)
	ran := 0
	for part := range 2 {
		s := tiny(t, dir)
		s.Part, s.Parts = part, 2
		go func() {
			trials := map[string]*Trial{}
			for trial, err := range s.Run(t.Context()) {
				if err != nil {
					t.Error(err)
					break
				}
				trials[trial.Key] = trial
			}
			done <- trials
		}()
	}
	for range 2 {
		trials := <-done
		if len(trials) != 6 {
			t.Errorf("got %d trials, want 6", len(trials))
		}
		for _, trial := range trials {
			if !trial.Reused {
				ran++
			}
		}
	}
	if ran != 6 {
		t.Errorf("got %d trials run by both, want each of the 6 once", ran)
	}
}

// Many processes may find at the same time that a trial has ended, each of which removes its directory.
func TestClearIsShared(t *testing.T) {
	s := tiny(t, t.TempDir())
	all(t, s)
	p, err := s.planned()
	if err != nil {
		t.Fatal(err)
	}
	v, err := p.survey()
	if err != nil {
		t.Fatal(err)
	}
	var ended *Trial
	for ended = range v.finished() {
		break
	}
	var workers sync.WaitGroup
	for range 8 {
		workers.Go(func() {
			for range 100 {
				again := *ended
				if err := s.run(t.Context(), &again, nil); err != nil && !errors.Is(err, errBusy) {
					t.Error(err)
					return
				}
			}
		})
	}
	workers.Wait()
	if left, err := os.ReadDir(filepath.Join(s.Dir, trialsDir)); err != nil || len(left) > 0 {
		t.Errorf("got %d directories of trials, want none (%v)", len(left), err)
	}
}

// The caller may leave the loop, and continue with another Run.
func TestRunIsLeft(t *testing.T) {
	s := tiny(t, t.TempDir())
	for trial, err := range s.Run(t.Context()) {
		if err != nil || trial.Reused {
			t.Error(trial, err)
		}
		break
	}
	if _, reused := all(t, s); reused < 1 {
		t.Errorf("got %d reused, want the one of the first loop", reused)
	}
}

func TestTuning(t *testing.T) {
	s := tiny(t, t.TempDir())
	s.Arms = s.Arms[:2]
	s.Tuning = Tuning{Grid: []Values{{"learning_rate", []string{"0.0001", "0.001", "0.3"}}}, Seeds: 2}
	trials, _ := all(t, s)
	if len(trials) != 2*(3*2+2) {
		t.Errorf("got %d trials, want 6 that tune and 2 that report for each of 2 arms", len(trials))
	}
	sums := map[string]float64{}
	for _, trial := range trials {
		if trial.Tuning != (trial.Seed >= tuningSeeds) {
			t.Errorf("seed %d: tuning %v", trial.Seed, trial.Tuning)
		}
		if trial.Tuning {
			sums[trial.Arm+trial.Setting] += trial.Result.Loss
		}
	}
	for _, trial := range trials {
		for _, other := range s.Tuning.settings() {
			if !trial.Tuning && sums[trial.Arm+trial.Setting] > sums[trial.Arm+other] {
				t.Errorf("arm %s: chose %s, but %s has the lower loss", trial.Arm, trial.Setting, other)
			}
		}
	}
}

func TestBudget(t *testing.T) {
	base := tiny(t, "").Base
	base.VocabSize = 20
	for _, c := range []struct {
		Budget
		steps int
	}{{Budget{Steps: 7}, 7}, {Budget{Tokens: 100}, 6}, {Budget{FLOPs: 16.5 * gpt.FLOPsPerToken(base)}, 1}} {
		if got, err := c.Apply(base); err != nil || got.MaxIters != c.steps || got.LRDecayIters != c.steps ||
			got.WarmupIters > 1 {
			t.Errorf(
				"%+v: got %d steps, decay %d, warm-up %d, %v, want %d", c.Budget, got.MaxIters, got.LRDecayIters,
				got.WarmupIters, err, c.steps,
			)
		}
	}
	for _, vary := range []string{"", "n_embd"} {
		for _, n := range []int64{1500, 2000, 5000, 9999} {
			got, err := Budget{Parameters: n, Vary: vary}.Apply(base)
			if err != nil {
				t.Fatal(err)
			}
			count, _ := got.Count()
			for _, by := range []int{-1, 1} { // no neighbour is nearer
				near := got
				if vary == "" {
					near.NInner += by
				} else {
					near.NEmbd += by * 2 * near.NHead
				}
				if other, _ := near.Count(); near.NInner >= 0 && abs(other-n) < abs(count-n) {
					t.Errorf("%d by %q: got %d, but %d is nearer", n, vary, count, other)
				}
			}
		}
	}
}

func abs(n int64) int64 { return max(n, -n) }

// Studies that cannot be run, or that compare nothing, are errors before the first trial.
func TestRefused(t *testing.T) {
	for want, change := range map[string]func(*Study){
		"name: empty":     func(s *Study) { s.Name = "" },
		"dir: empty":      func(s *Study) { s.Dir = "" },
		"arms: got none":  func(s *Study) { s.Arms = nil },
		"texts: got none": func(s *Study) { s.Texts = nil },
		"seeds: got 0":    func(s *Study) { s.Seeds = 0 },
		"seeds: got 1, want at least 2: one seed decides nothing": func(s *Study) { s.Seeds = 1 },
		"part: got 2 of 2, want 0 to 1":                           func(s *Study) { s.Part, s.Parts = 2, 2 },
		`two have the name "attention=linear"`:                    func(s *Study) { s.Arms[2] = s.Arms[1] },
		`arm "same": the same configuration as arm "baseline"`: func(s *Study) {
			s.Arms[1] = Arm{Name: "same", Set: []string{"attention=causal"}}
		},
		`arm "x": text "verse": attention: got nothing`: func(s *Study) {
			s.Arms[1] = Arm{Name: "x", Change: func(c *gpt.Config) { c.Attention = "nothing" }}
		},
		`arm "atention=linear": text "verse": got "atention", want the name of a field`: func(s *Study) {
			s.Arms = Arms(
				"baseline", "atention=linear",
			)
		},
		"got 2 of steps, tokens, flops and seconds":                func(s *Study) { s.Budget.Tokens = 9 },
		`arm "baseline": text "verse": budget: allows 0.625 steps`: func(s *Study) { s.Budget = Budget{Tokens: 10} },
		"parameters: got 3, want at least":                         func(s *Study) { s.Budget.Parameters = 3 },
		"tuning: learning_rate: got no values": func(s *Study) {
			s.Tuning.Grid = []Values{{"learning_rate", nil}}
		},
		"memory_limit": func(s *Study) { s.Base.MemoryLimit = 1e-5 },
	} {
		s := tiny(t, t.TempDir())
		change(s)
		ran := 0
		var err error
		for _, err = range s.Run(t.Context()) {
			if ran++; err != nil {
				break
			}
		}
		if err == nil || !strings.Contains(err.Error(), want) || ran != 1 {
			t.Errorf("got %v after %d, want %s", err, ran, want)
		}
	}
}

// A directory of another study, and a record that was edited or cut, are errors; the record of a trial that is removed
// is made again.
func TestDirectory(t *testing.T) {
	s := tiny(t, t.TempDir())
	first, _ := all(t, s)
	s.Name = "norms"
	refused(t, s, `holds the study "attentions", want one for "norms"`)
	s.Name = "attentions"
	other := tiny(t, s.Dir)
	other.Texts[0].Corpus = text.Dataset{
		Training: s.Texts[0].Corpus.Train(), Validation: s.Texts[0].Corpus.Val(), Sum: "00",
	}
	refused(t, other, `with the text "verse" of sha256`)
	other.Texts[0].Name = "another"
	if err := other.claim(); err != nil { // a study may ask about further texts
		t.Fatal(err)
	}
	name, texts, err := Question(s.Dir)
	if err != nil || name != s.Name || len(texts) != 2 || texts["another"] != "00" {
		t.Errorf("got the texts %v of %q, %v; want both", texts, name, err)
	}
	files, err := filepath.Glob(filepath.Join(s.Dir, resultsDir, "*.json"))
	if err != nil || len(files) != 6 {
		t.Fatal(files, err)
	}
	was, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	for _, edited := range []string{
		strings.Replace(string(was), `"loss": `, `"loss": 1`, 1), string(was[:len(was)/2]), "",
	} {
		if err := os.WriteFile(files[0], []byte(edited), 0o644); err != nil {
			t.Fatal(err)
		}
		refused(t, s, filepath.Base(files[0]))
	}
	if err := os.Remove(files[0]); err != nil {
		t.Fatal(err)
	}
	again, reused := all(t, s)
	if diff := cmp.Diff(results(first), results(again)); diff != "" || reused != 5 {
		t.Errorf("%d reused, want 5\n%s", reused, diff)
	}
}

func refused(t *testing.T, s *Study, want string) {
	t.Helper()
	for _, err := range s.Run(t.Context()) {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
		return
	}
}

// A trial that diverges is a result with its step, and the study goes on.
func TestDiverged(t *testing.T) {
	s := tiny(t, t.TempDir())
	s.Arms = append(
		Arms("baseline"), Arm{Name: "wild", Set: []string{"learning_rate=1e30", "grad_clip=0", "weight_decay=1e9"}},
	)
	trials, _ := all(t, s)
	for _, trial := range trials {
		if _, ok := trial.value("loss"); ok == (trial.Arm == "wild") || ok == (trial.Result.Diverged > 0) {
			t.Errorf("%s: got %+v", trial.Arm, trial.Result)
		}
	}
}

// A budget of seconds fixes the number of steps at the start of a trial.
func TestSeconds(t *testing.T) {
	s := tiny(t, t.TempDir())
	s.Arms, s.Seeds, s.Budget, s.Base.EvalInterval = s.Arms[:1], 1, Budget{Seconds: 0.05}, 1000
	start := time.Now()
	trials, _ := all(t, s)
	for _, trial := range trials {
		if trial.Result.Steps < 2 || trial.Result.Steps == s.Base.MaxIters {
			t.Errorf("got %d steps in %v", trial.Result.Steps, time.Since(start))
		}
	}
}

// Every kind of a user's own part is code.
func TestHasCode(t *testing.T) {
	c := gpt.Shakespeare()
	if hasCode(c) {
		t.Error("the library's parts: got code")
	}
	registry := reflect.TypeFor[parts.Registry]()
	for i := range registry.NumField() {
		f := registry.Field(i)
		if f.Type.Kind() != reflect.Slice {
			continue
		}
		c.Parts = parts.Registry{}
		reflect.ValueOf(&c.Parts).Elem().Field(i).Set(reflect.MakeSlice(f.Type, 1, 1))
		if !hasCode(c) {
			t.Errorf("%s: got no code", f.Name)
		}
	}
}

// Parts and hooks of the user are code, and so are measures: without a version they are refused with the place that
// adds them, and every one of their versions belongs to the key.
func TestCodeHasVersions(t *testing.T) {
	hook := func(c *gpt.Config) { c.Hooks.Rate = func(int) float64 { return 1e-3 } }
	measure := Measure{
		Name: "seven", Version: "1", Of: func(context.Context, *gpt.Trainer) (float64, error) { return 7, nil },
	}
	for where, change := range map[string]func(s *Study, version string){
		"base":           func(s *Study, version string) { hook(&s.Base); s.Version = version },
		`text "verse"`:   func(s *Study, version string) { s.Texts[0].Change, s.Texts[0].Version = hook, version },
		`arm "baseline"`: func(s *Study, version string) { s.Arms[0].Change, s.Arms[0].Version = hook, version },
		`measure "seven"`: func(s *Study, version string) {
			measure.Version = version
			s.Measures = []Measure{measure}
		},
		"measure of text": func(s *Study, version string) {
			measure.Version = version
			s.Texts[0].Measures = []Measure{measure}
		},
		"tokenizers of the base": func(s *Study, version string) {
			s.Base.Parts.Tokenizers, s.Version = []text.Kind{{Name: "own"}}, version
		},
	} {
		s := tiny(t, t.TempDir())
		s.Arms = s.Arms[:1]
		change(s, "")
		name, _, _ := strings.Cut(where, " of text")
		refused(t, s, strings.TrimPrefix(name, "tokenizers of the "))
		refused(t, s, "version")
		keys := map[string]bool{}
		for _, version := range []string{"1", "2"} {
			s := tiny(t, t.TempDir())
			change(s, version)
			p, err := s.planned()
			if err != nil {
				t.Fatalf("%s: %v", where, err)
			}
			trial, err := p.trial(place{}, 1)
			if err != nil || !strings.Contains(string(trial.Identity), `"`+version+`"`) {
				t.Errorf("%s: got %s, %v, want the version %s in it", where, trial.Identity, err, version)
			}
			keys[trial.Key] = true
		}
		if len(keys) != 2 {
			t.Errorf("%s: got the same key of two versions", where)
		}
	}
}

// A hook that reads a rate from outside of the program has other results under another version, and reuses none. Under
// the same version all results are reused.
func TestOtherCodeIsNotReused(t *testing.T) {
	rate := 1e-3
	s := tiny(t, t.TempDir())
	s.Arms = append(Arms("baseline"), Arm{Name: "read", Version: "rate 1e-3", Change: func(c *gpt.Config) {
		c.Hooks.Rate = func(int) float64 { return rate }
	}})
	first, _ := all(t, s)
	rate, s.Arms[1].Version = 1e-1, "rate 1e-1"
	second, reused := all(t, s)
	name := fmt.Sprint("verse", "read", "", 1337)
	if reused != 2 || first[name].Result.Loss == second[name].Result.Loss || first[name].Key == second[name].Key {
		t.Errorf("got %d results reused and the losses %v and %v, want the 2 of the baseline alone", reused,
			first[name].Result.Loss,
			second[name].Result.Loss)
	}
	if _, reused := all(t, s); reused != 4 {
		t.Errorf("the same version: got %d results reused, want 4", reused)
	}
}

// The identity is stored beside the key, which is its SHA-256; it holds the resolved configuration and the texts. A
// record with another identity is refused.
func TestIdentityIsStored(t *testing.T) {
	s := tiny(t, t.TempDir())
	trials, _ := all(t, s)
	for _, trial := range trials {
		var id struct {
			Config  gpt.Config
			Corpus  string
			Version string
		}
		if err := json.Unmarshal(trial.Identity, &id); err != nil || sum(trial.Identity) != trial.Key {
			t.Fatalf("got %v and the hash %s, want %s", err, sum(trial.Identity), trial.Key)
		}
		if id.Config.Seed != trial.Seed || id.Config.VocabSize == 0 || id.Config.MaxIters != 5 ||
			id.Corpus != s.Texts[0].Corpus.SHA256() || id.Version == "" {
			t.Errorf("got %s", trial.Identity)
		}
		var line map[string]any
		if data, err := json.Marshal(trial); err != nil || json.Unmarshal(data, &line) != nil ||
			line["identity"] == nil {
			t.Errorf("got %s, %v, want the identity in it", data, err)
		}
		data, err := os.ReadFile(s.recordOf(trial))
		if err != nil {
			t.Fatal(err)
		}
		var r record
		if err := json.Unmarshal(data, &r); err != nil {
			t.Fatal(err)
		}
		r.Identity = json.RawMessage(strings.Replace(string(r.Identity), id.Corpus, strings.Repeat("0", 64), 1))
		sealed, err := r.sealed() // by somebody who knows the format
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(s.recordOf(trial), append(sealed, '\n'), 0o644); err != nil {
			t.Fatal(err)
		}
		refused(t, s, "edited")
		return
	}
}

// A value of an arm may contain commas: an item without "=" continues it.
// An arm may be a preset: its network and its optimizer, with the batches, the context, the steps and the seed of the
// study. Changes after it change the preset.
func TestArmsOfPresets(t *testing.T) {
	base := gpt.Shakespeare()
	base.BlockSize, base.BatchSize, base.Seed, base.MaxIters, base.VocabSize, base.LRDecayIters = 16, 3, 9, 7, 65, 6
	for _, name := range []string{"modern", "preset=modern", "preset=modern,norm=dyt"} {
		c, err := Arms(name)[0].Apply(base)
		if err != nil {
			t.Fatal(err)
		}
		want := gpt.Modern()
		want.BlockSize, want.BatchSize, want.Seed, want.VocabSize, want.LRDecayIters = 16, 3, 9, 65, 6
		want.Run = base.Run
		if strings.Contains(name, "dyt") {
			want.Norm = "dyt"
		}
		if err := c.ResumeDiff(want); err != nil || c.MaxIters != 7 {
			t.Errorf("%s: %v, %d steps", name, err, c.MaxIters)
		}
	}
	for name, want := range map[string]string{
		"modrn": "did you mean modern?", "preset=modrn": "did you mean modern?", "lora_tuning": "which has no network",
	} {
		if _, err := Arms(name)[0].Apply(base); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q in it", name, err, want)
		}
	}
}

func TestArmsOfLists(t *testing.T) {
	got := Arms("attention=gla*3,causal,norm=rmsnorm", "window=2,attention=gla,window,causal")
	want := [][]string{{"attention=gla*3,causal", "norm=rmsnorm"}, {"window=2", "attention=gla,window,causal"}}
	for i, a := range got {
		if !slices.Equal(a.Set, want[i]) {
			t.Errorf("%s: got %q, want %q", a.Name, a.Set, want[i])
		}
	}
}
