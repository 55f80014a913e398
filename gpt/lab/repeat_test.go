package lab

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/certificate"
	"github.com/pedestrian-ml/pedestrian/gpt/text"
	"github.com/pedestrian-ml/pedestrian/gpt/train"
)

// finished runs a study and returns its trials as they are in the directory.
func finished(t *testing.T, s *Study) []Finished {
	t.Helper()
	all(t, s)
	list, err := Results(s.Dir)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// Every trial of a study is repeated from its record, to the bit, and has a certificate with the same chain. Another
// run of the study, in another order, has its hash, and no other study has.
func TestRepeat(t *testing.T) {
	s := tiny(t, t.TempDir())
	seven := func(context.Context, *gpt.Trainer) (float64, error) { return 7, nil }
	s.Measures = []Measure{{Name: "seven", Version: "1", Of: seven}}
	list := finished(t, s)
	steps := 0
	for _, f := range list {
		compared, err := f.Repeat(t.Context(), s.Texts[0], s.Measures, 1, func(Step) { steps++ })
		if err != nil || len(compared) != 7 {
			t.Errorf("%s: compared %q, %v", f.Name, compared, err)
		}
		c, err := certificate.Open(filepath.Join(s.Dir, certificatesDir, f.Key+".json"))
		if err != nil || c.Last().Digest != f.Result.Chain || c.Last().Step != 5 || c.Last().Weights == "" {
			t.Errorf("%s: got the certificate %v, %v, want the chain %s", f.Name, c, err, f.Result.Chain)
		}
	}
	if len(list) != 6 || steps != 6*5 || !strings.HasPrefix(list[0].Name, "verse, ") {
		t.Errorf("got %d trials, %d steps, %q", len(list), steps, list[0].Name)
	}
	hash, err := SHA256(list)
	if err != nil {
		t.Fatal(err)
	}
	again := tiny(t, t.TempDir())
	again.Measures, again.Jobs = s.Measures, 2
	if second, err := SHA256(finished(t, again)); err != nil || second != hash {
		t.Errorf("got the hash %s of the same study, %v, want %s", second, err, hash)
	}
	again = tiny(t, t.TempDir())
	again.Base.Seed++
	if second, err := SHA256(finished(t, again)); err != nil || second == hash {
		t.Errorf("got the hash of another study, %v", err)
	}
	if name, texts, err := Question(s.Dir); err != nil || name != "attentions" || len(texts) != 1 ||
		texts["verse"] != list[0].Corpus {
		t.Errorf("got the question %q on %v, %v", name, texts, err)
	}
}

// A number of a result that was edited is named, also if the record was sealed again. A text, a tokenizer or code that
// differ are refused.
func TestRepeatNames(t *testing.T) {
	s := tiny(t, t.TempDir())
	list := finished(t, s)
	hooked := tiny(t, t.TempDir())
	hooked.Base.Hooks.Gradients, hooked.Version = func(int, []train.Named) error { return nil }, "1"
	renamed := s.Texts[0]
	renamed.Corpus = text.Dataset{Training: renamed.Corpus.Train(), Validation: renamed.Corpus.Val(), Sum: "00"}
	words := s.Texts[0]
	tok, err := text.NewWords("The wheel")
	if err != nil {
		t.Fatal(err)
	}
	words.Tokenizer = tok
	for want, test := range map[string]struct {
		text Text
		f    Finished
		edit func(r *Result)
	}{
		"loss: got ":       {s.Texts[0], list[0], func(r *Result) { r.Loss = math.Nextafter(r.Loss, 9) }},
		"chain: got ":      {s.Texts[0], list[0], func(r *Result) { r.Chain = strings.Repeat("0", 64) }},
		"step 4: got the ": {s.Texts[0], list[0], func(r *Result) { r.Curve[1].Val++ }},
		"steps: got 5":     {s.Texts[0], list[0], func(r *Result) { r.Steps++ }},
		"parameters: got":  {s.Texts[0], list[0], func(r *Result) { r.Parameters++ }},
		"diverged: got 0":  {s.Texts[0], list[0], func(r *Result) { r.Diverged++ }},
		`text "verse": got one of sha256 00, want `: {renamed, list[0], func(*Result) {}},
		`tokenizer of text "verse": got one of`:     {words, list[0], func(*Result) {}},
		"not covered: it has code with the version": {s.Texts[0], finished(t, hooked)[0], func(*Result) {}},
		"got no trial":               {s.Texts[0], Finished{}, func(*Result) {}},
		"got no corpus or no tokeni": {Text{}, list[0], func(*Result) {}},
	} {
		f := test.f
		f.Result.Curve = append([]Point{}, f.Result.Curve...)
		test.edit(&f.Result)
		if _, err := f.Repeat(t.Context(), test.text, nil, 1, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	path := filepath.Join(s.Dir, resultsDir, list[0].Key+".json")
	was, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(strings.Replace(string(was), `"loss": `, `"loss": 1`, 1)), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Results(s.Dir); err == nil || !strings.Contains(err.Error(), ": edited: its sha256") {
		t.Errorf("got %v", err)
	}
	if _, err := Results(t.TempDir()); err == nil || !strings.Contains(err.Error(), "no results") {
		t.Errorf("got %v", err)
	}
	if _, _, err := Question(t.TempDir()); err == nil {
		t.Error("a directory without a study has a question")
	}
}

// A trial that diverged diverges again, in the same step.
func TestRepeatDiverged(t *testing.T) {
	s := tiny(t, t.TempDir())
	s.Base.LearningRate, s.Base.Optimizer, s.Base.GradClip, s.Base.WarmupIters = 1e30, "sgd", 0, 0
	for _, f := range finished(t, s) {
		if f.Result.Diverged == 0 || f.Result.Chain != "" {
			t.Errorf("got %v, want a trial that diverges", f.Result)
		}
		if _, err := f.Repeat(t.Context(), s.Texts[0], nil, 1, nil); err != nil {
			t.Error(err)
		}
	}
}
