package gpt

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/pedestrian-ml/pedestrian/gpt/certificate"
	"github.com/pedestrian-ml/pedestrian/gpt/checkpoint"
	"github.com/pedestrian-ml/pedestrian/gpt/parts"
	"github.com/pedestrian-ml/pedestrian/gpt/text"
	"github.com/pedestrian-ml/pedestrian/gpt/train"
)

// certifiedRun trains for some steps, saves every third, and returns the certificate beside the checkpoints.
func certifiedRun(t *testing.T, c Config, n int) (*certificate.Certificate, *Trainer, string) {
	t.Helper()
	trainer, path := newTrainer(t, c), t.TempDir()
	for range n {
		steps(t, trainer, 1)
		if trainer.Done%3 == 0 || trainer.Done == n {
			check(t, trainer.Save(path))
		}
	}
	made, err := certificate.Open(filepath.Join(path, certificate.File))
	check(t, err)
	return made, trainer, path
}

// repeated begins the run of a certificate again and compares it with the certificate.
func repeated(t *testing.T, c *certificate.Certificate, like *Trainer) error {
	t.Helper()
	trainer, err := Repeat(c, train.Run{Threads: 2}, like.Corpus, like.Tokenizer, nil)
	if err != nil {
		return err
	}
	r, err := c.Replay(0)
	check(t, err)
	for trainer.Done < c.Last().Step {
		p, err := trainer.Step()
		check(t, err)
		if err := r.Step(p.Step, p.Loss, p.Norm); err != nil {
			return err
		}
		files, err := trainer.Files()
		check(t, err)
		now, err := train.Certify(files)
		check(t, err)
		if err := r.State(now.Last().State); err != nil {
			return err
		}
	}
	if links, states := r.Compared(); links != len(c.Links) || states == 0 {
		t.Errorf("got %d links and %d states compared, want %d", links, states, len(c.Links))
	}
	return nil
}

// A certificate holds everything that is needed to do a run again to the last bit, on any number of threads.
func TestRepeat(t *testing.T) {
	averaging, experts, carry := eventful(), eventful(), eventful()
	averaging.EMA = 0.9
	experts.MLP = "moe"
	carry.Attention, carry.Position, carry.Carry = "gla", "none", true
	for name, c := range map[string]Config{
		"tiny": tiny(), "eventful": eventful(), "ema": averaging, "experts": experts, "carry": carry,
	} {
		made, trainer, _ := certifiedRun(t, c, 10)
		if err := repeated(t, made, trainer); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if end := made.Last(); (end.States != "") != (name == "carry") || end.Draws == "" {
			t.Errorf("%s: got the states %v", name, end)
		}
	}
}

// Of forty runs, and a hundred with NIGHTLY=1, each with one thing edited after the run or before the replay — a loss,
// a norm, a weight, the text, the configuration or a link — every edit is noticed and named, also if all sums were
// computed again.
func TestEveryEditIsNoticed(t *testing.T) {
	made, trainer, path := certifiedRun(t, tiny(), 10)
	data, err := made.Encode()
	check(t, err)
	noticed := 0
	rng := rand.New(rand.NewPCG(8, 8))
	forge := func(change func(c *certificate.Certificate)) *certificate.Certificate {
		c, err := certificate.Decode(data)
		check(t, err)
		change(c)
		forged, err := c.Encode()
		check(t, err)
		c, err = certificate.Decode(forged)
		check(t, err)
		return c
	}
	link := func() int { return rng.IntN(len(made.Links)) }
	saved := func() (i int) {
		for i = link(); made.Links[i].Weights == ""; i = link() {
		}
		return i
	}
	const hash = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"
	rounds := 4
	if os.Getenv("NIGHTLY") != "" {
		rounds = 10
	}
	for range rounds {
		drawn, at := rng.Uint64(), link()
		for want, edit := range map[string]func() error{
			fmt.Sprintf("step %d: loss", made.Links[at].Step): func() error {
				return repeated(t, forge(func(c *certificate.Certificate) {
					c.Links[at].Loss = math.Nextafter(c.Links[at].Loss, 9)
				}), trainer)
			},
			fmt.Sprintf("step %d: norm of the gradient", made.Links[at].Step): func() error {
				return repeated(t, forge(func(c *certificate.Certificate) {
					c.Links[at].Norm = math.Nextafter(c.Links[at].Norm, 9)
				}), trainer)
			},
			fmt.Sprintf("step %d: digest", made.Links[at].Step): func() error {
				return repeated(t, forge(func(c *certificate.Certificate) { c.Links[at].Digest = hash }), trainer)
			},
			": weights": func() error {
				return repeated(t, forge(func(c *certificate.Certificate) { c.Links[saved()].Weights = hash }), trainer)
			},
			": moments": func() error {
				return repeated(t, forge(func(c *certificate.Certificate) { c.Links[saved()].Moments = hash }), trainer)
			},
			"loss: ": func() error { // of the first step: another seed has another configuration
				return repeated(t, forge(func(c *certificate.Certificate) {
					c.Config = bytes.Replace(c.Config, []byte(`"seed":`), fmt.Appendf(nil, `"seed":%d`, drawn%9+1), 1)
				}), trainer)
			},
			"repeat: text: got one of": func() error {
				changed := verses + verses[drawn%40:][:1]
				corpus, err := text.NewCorpus(changed, trainer.Tokenizer, trainer.Config().BlockSize)
				check(t, err)
				return repeated(t, made, &Trainer{Corpus: corpus, Tokenizer: trainer.Tokenizer})
			},
			"repeat: tokenizer: got": func() error {
				tok, err := text.NewCharacters(verses + string(rune('α'+drawn%20)))
				check(t, err)
				return repeated(t, made, &Trainer{Corpus: trainer.Corpus, Tokenizer: tok})
			},
			"config: edited": func() error {
				_, err := certificate.Decode(bytes.Replace(data, []byte(`"batch_size":`), []byte(`"batch_size":1`), 1))
				return err
			},
			fmt.Sprintf("link of step %d: edited", made.Links[at].Step): func() error {
				line := fmt.Appendf(nil, `{"step":%d,"loss":`, made.Links[at].Step)
				_, err := certificate.Decode(bytes.Replace(data, line, append(line, '1'), 1))
				return err
			},
		} {
			if err := edit(); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("got %v, want %q", err, want)
				continue
			}
			noticed++
		}
	}
	// An edited weight in a checkpoint whose manifest was written again.
	cp, err := checkpoint.Load(path)
	check(t, err)
	defer cp.Close()
	var files []checkpoint.File
	for _, name := range cp.Names() {
		content, err := cp.File(name)
		check(t, err)
		if name == train.WeightsFile {
			content[len(content)-3] ^= 1
		}
		files = append(files, checkpoint.File{Name: name, Write: train.WriteBytes(content)})
	}
	forged := t.TempDir()
	dir, err := checkpoint.Open(forged)
	check(t, err)
	check(t, dir.Save(cp.Step, files))
	check(t, dir.Close())
	bad, err := checkpoint.Load(forged)
	check(t, err)
	defer bad.Close()
	_, err = Resume(trainer.Config(), trainer.Corpus, trainer.Tokenizer, bad)
	mustContain(t, err, "certificate.json: link of step 10: got model.safetensors with sha256")
	if noticed != 10*rounds {
		t.Errorf("got %d of %d edits noticed and named", noticed, 10*rounds)
	}
}

// Code of the user is named in the certificate with the hash of its source, or as not covered, and cannot be done again
// without it. Neither can a tuning.
func TestCertificatesOfOwnCode(t *testing.T) {
	c := tiny()
	c.Norm, c.Parts.Norms = "mine", []parts.Norm{parts.Find(parts.Norms(), "rmsnorm")}
	c.Parts.Norms[0].Name = "mine"
	c.Hooks.Gradients = func(int, []train.Named) error { return nil }
	for _, source := range []string{"", "package mine"} {
		c.Parts.Source, c.Hooks.Source = source, source
		made, trainer, _ := certifiedRun(t, c, 3)
		want := []certificate.Code{
			certificate.NewCode("norm mine", source), certificate.NewCode("hook gradients", source),
		}
		if !cmp.Equal(made.Code, want) || made.Code[0].Covered() != (source != "") {
			t.Errorf("got %v, want %v", made.Code, want)
		}
		mustContain(t, repeated(t, made, trainer), `code: "norm mine" is not the library's`)
	}
	tuned := *mustCertify(t, newTrainer(t, tiny()))
	tuned.Base = strings.Repeat("0", 64)
	mustContain(t, repeated(t, &tuned, newTrainer(t, tiny())), "base: the run began with weights")
	tuned.Kind = certificate.Pairs
	mustContain(t, repeated(t, &tuned, newTrainer(t, tiny())), "kind: got")
	if _, err := Repeat(nil, train.Run{}, nil, nil, nil); err == nil {
		t.Error("did nil again")
	}
}

func mustCertify(t *testing.T, trainer *Trainer) *certificate.Certificate {
	t.Helper()
	files, err := trainer.Files()
	check(t, err)
	made, err := train.Certify(files)
	check(t, err)
	return made
}

// A checkpoint without a certificate, of an earlier version, is resumed; the chain then covers what follows.
func TestCertificateOfAnEarlierRun(t *testing.T) {
	_, trainer, path := certifiedRun(t, tiny(), 6)
	cp, err := checkpoint.Load(path)
	check(t, err)
	var files []checkpoint.File
	for _, name := range cp.Names() {
		if content, err := cp.File(name); name != certificate.File {
			check(t, err)
			files = append(files, checkpoint.File{Name: name, Write: train.WriteBytes(content)})
		}
	}
	old := t.TempDir()
	dir, err := checkpoint.Open(old)
	check(t, err)
	check(t, dir.Save(6, files))
	check(t, dir.Close())
	cp, err = checkpoint.Load(old)
	check(t, err)
	defer cp.Close()
	resumed, err := Resume(trainer.Config(), trainer.Corpus, trainer.Tokenizer, cp)
	check(t, err)
	steps(t, resumed, 3)
	made := mustCertify(t, resumed)
	var at []int
	for _, l := range made.Links {
		at = append(at, l.Step)
	}
	if made.From != 6 || made.Builds[0].From != 6 || !slices.Equal(at, []int{7, 8, 9}) {
		t.Errorf("got a chain from step %d on with links at %d", made.From, at)
	}
}

// Every preset has a certificate of at most 10 kB, with room for the largest chain.
func TestCertificatesOfPresets(t *testing.T) {
	largest := 0
	for _, p := range Presets() {
		c := p.Config
		if c.NEmbd == 0 {
			continue
		}
		c.VocabSize = 65
		data, err := c.certified().MarshalJSON()
		check(t, err)
		largest = max(largest, len(data))
	}
	if largest == 0 || largest > 2500 {
		t.Errorf("got a configuration of %d bytes, want at most 2500", largest)
	}
	t.Logf("at most %d bytes", largest)
}

// Files without a certificate have none.
func TestCertifyNothing(t *testing.T) {
	if _, err := train.Certify(nil); err == nil {
		t.Error("certified nothing")
	}
	trainer := newTrainer(t, tiny())
	files, err := trainer.Files()
	check(t, err)
	steps(t, trainer, 1)
	_, err = train.Certify(files)
	mustContain(t, err, "got step 1 since")
}
