package seq2seq

import (
	"bytes"
	"context"
	"fmt"
	"testing"
)

// Files and translations during training each have the weights of a single step.
func TestWeightsOfOneStep(t *testing.T) {
	c := small()
	c.NEmbd, c.BatchSize = 64, 2
	tr := newTrainer(t, c)
	translator, err := NewTranslator(tr.Model, 1, 2)
	if err != nil {
		t.Fatal(err)
	}
	for name, write := range map[string]func() ([]byte, error){
		"write": func() ([]byte, error) {
			var b bytes.Buffer
			err := tr.Model.write(&b)
			return b.Bytes(), err
		},
		"Beam": func() ([]byte, error) {
			found, err := translator.Beam(context.Background(), [][]int{{5, 6, 4}}, nil)
			if err != nil {
				return nil, err
			}
			return fmt.Append(nil, found[0][0].Tokens, found[0][0].LogProb), nil
		},
	} {
		known, begun, goOn, done := map[string]bool{}, make(chan bool), make(chan bool), make(chan error, 1)
		note := func() error {
			data, err := write()
			known[string(data)] = true
			return err
		}
		check(t, note())
		go func() {
			for range goOn {
				begun <- true
				_, err := tr.Step()
				done <- err
			}
		}()
		var written []string
		for range 30 {
			goOn <- true
			<-begun
			data, err := write()
			check(t, err)
			written = append(written, string(data))
			check(t, <-done)
			check(t, note())
		}
		close(goOn)
		torn := 0
		for _, data := range written {
			if !known[data] {
				torn++
			}
		}
		if torn > 0 {
			t.Errorf("%s: %d of %d have weights that the run never had", name, torn, len(written))
		}
	}
}

// After a Step the sources must be read again, because the kept values belong to the old weights.
func TestStepAfterTraining(t *testing.T) {
	tr := newTrainer(t, small())
	w, err := NewTranslator(tr.Model, 1, 1)
	if err != nil {
		t.Fatal(err)
	}
	check(t, w.Read([][]int{{5, 6}}))
	_, err = w.Step([]int{Begin})
	check(t, err)
	steps(t, tr, 1)
	_, err = w.Step([]int{5})
	mustSay(t, err, "translator: the weights have changed since Read: Read the sources again")
	check(t, w.Read([][]int{{5, 6}}))
	_, err = w.Step([]int{Begin})
	check(t, err)
}

// A Trainer or a Model with a replaced field is an error that names the field.
func TestReplaced(t *testing.T) {
	other := newTrainer(t, small())
	v := abc(t)
	for says, change := range map[string]func(*Trainer){
		"Core has been replaced":                  func(tr *Trainer) { tr.Core = nil },
		"Model has been replaced":                 func(tr *Trainer) { tr.Model = other.Model },
		"Model has been replaced, which":          func(tr *Trainer) { tr.Model = nil },
		"SHA256 has been replaced":                func(tr *Trainer) { tr.SHA256 = "" },
		"Graph has been replaced":                 func(tr *Trainer) { tr.Model.Graph = other.Model.Graph },
		"Source has been replaced":                func(tr *Trainer) { tr.Model.Source = other.Model.Source },
		"Input has been replaced":                 func(tr *Trainer) { tr.Model.Input = tr.Model.Targets },
		"Targets has been replaced":               func(tr *Trainer) { tr.Model.Targets = tr.Model.Input },
		"Loss has been replaced":                  func(tr *Trainer) { tr.Model.Loss = tr.Model.Logits },
		"Logits has been replaced: want the expr": func(tr *Trainer) { tr.Model.Logits = tr.Model.Loss },
	} {
		tr := newTrainer(t, small())
		change(tr)
		_, err := tr.Step()
		mustSay(t, err, "trainer: ", says)
		_, err = tr.Evaluate(context.Background(), backwards{})
		mustSay(t, err, "trainer: ", says)
		_, err = tr.Files(v, v)
		mustSay(t, err, "trainer: ", says)
	}
	tr := newTrainer(t, small())
	tr.Model.Config.TargetSize-- // training does not read it
	steps(t, tr, 1)
	_, err := NewTranslator(tr.Model, 1, 1)
	mustSay(t, err, "model: Config: got target_size")
	_, err = tr.Files(nil, v)
	mustSay(t, err, "trainer: the source's vocabulary is missing")
	_, err = tr.Files(v, new(Vocabulary))
	mustSay(t, err, "trainer: target: vocabulary: it is empty")
	large := abc(t)
	large.Add("defghijklmnop")
	_, err = tr.Files(v, large)
	mustSay(t, err, "tokens in the target's vocabulary, want at most target_vocab")
}

// A Trainer is in use while its files are written, and a step between two of them is an error of the second.
func TestFilesHold(t *testing.T) {
	tr := newTrainer(t, small())
	v := abc(t)
	files := filesOf(t, tr, v, v)
	err := files[0].Write(stepping{t, tr})
	check(t, err)
	steps(t, tr, 1)
	mustSay(t, files[1].Write(stepping{t, tr}), "files of step 0: got step 1 since")
}

// stepping is a writer that does a step of training when it is written to.
type stepping struct {
	t  *testing.T
	tr *Trainer
}

func (s stepping) Write(b []byte) (int, error) {
	_, err := s.tr.Step()
	mustSay(s.t, err, "in use by another goroutine")
	return len(b), nil
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Error(err)
	}
}
