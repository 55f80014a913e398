package gpt

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/pedestrian-ml/pedestrian/gpt/certificate"
	"github.com/pedestrian-ml/pedestrian/gpt/checkpoint"
	"github.com/pedestrian-ml/pedestrian/gpt/text"
	"github.com/pedestrian-ml/pedestrian/gpt/train"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/graph/stored"
	"github.com/pkg/errors"
)

// atMost is the largest number of steps that a process of TestKillResume does before it is killed.
const atMost = 12

// killed returns the run of TestKillResume, which is longer than all killed processes get together.
func killed(kills int) Config {
	c := eventful()
	c.MaxIters = atMost*kills + 30
	c.LRDecayIters = c.MaxIters
	return c
}

// trainAndSave is the process to be killed. It continues from the newest checkpoint in a directory, does one step for
// every byte of its standard input, saves every third, and prints each step it has done. It does not end before the run
// does.
func trainAndSave(argument string) error {
	var kills int
	var path string
	if _, err := fmt.Sscan(argument, &kills, &path); err != nil {
		return err
	}
	c := killed(kills)
	tok, err := text.NewCharacters(verses)
	if err != nil {
		return err
	}
	data, err := text.NewCorpus(verses, tok, c.BlockSize)
	if err != nil {
		return err
	}
	dir, err := checkpoint.Open(path)
	if err != nil {
		return err
	}
	defer dir.Close()
	var trainer *Trainer
	switch cp, err := checkpoint.Load(path); {
	case errors.Is(err, checkpoint.ErrNone):
		trainer, err = NewTrainer(c, data, tok)
		if err != nil {
			return err
		}
	case err != nil:
		return err
	case len(cp.Refused) > 0:
		return errors.Errorf("torn: %v", cp.Refused)
	default:
		if trainer, err = Resume(c, data, tok, cp); err != nil {
			return err
		}
	}
	for trainer.Done < c.MaxIters {
		if n, _ := os.Stdin.Read(make([]byte, 1)); n == 0 {
			time.Sleep(time.Hour)
		}
		if _, err := trainer.Step(); err != nil {
			return err
		}
		if trainer.Done%3 == 0 || trainer.Done == c.MaxIters {
			list, err := trainer.Files()
			if err != nil {
				return err
			}
			if err := dir.Save(trainer.Done, list); err != nil {
				return err
			}
		}
		fmt.Println("step", trainer.Done)
	}
	return nil
}

// program runs the test binary as another program.
func program(t *testing.T, name, argument, input string, env ...string) (*exec.Cmd, io.Reader, *strings.Builder) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), append(env, programVariable+"="+name, programVariable+"_ARGUMENT="+argument)...)
	var complaint strings.Builder
	cmd.Stdin, cmd.Stderr = strings.NewReader(input), &complaint
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd, out, &complaint
}

// TestKillResume kills a training run again and again, at any point, also during a save. In the end its weights,
// moments, state and certificate equal an uninterrupted run's.
func TestKillResume(t *testing.T) {
	kills := 10
	switch {
	case testing.Short():
		kills = 5
	case os.Getenv("NIGHTLY") != "":
		kills = 200
	}
	c, path := killed(kills), t.TempDir()
	argument := fmt.Sprint(kills, " ", path)
	rng := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 0))
	lost := 0
	for i := range kills {
		allowed := 1 + rng.IntN(atMost)
		cmd, out, complaint := program(t, "train", argument, strings.Repeat(".", allowed))
		lines, done := bufio.NewScanner(out), 0
		for range 1 + rng.IntN(allowed) {
			if !lines.Scan() {
				t.Fatalf("kill %d: the run ended by itself: %s", i, complaint)
			}
			fmt.Sscanf(lines.Text(), "step %d", &done)
		}
		time.Sleep(time.Duration(rng.IntN(int(15 * time.Millisecond)))) // into a step, or into a save
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		for lines.Scan() { // what it had written before
			fmt.Sscanf(lines.Text(), "step %d", &done)
		}
		if err := cmd.Wait(); err == nil || complaint.Len() > 0 {
			t.Fatalf("kill %d: the run ended before: %v %s", i, err, complaint)
		}
		cp, err := checkpoint.Load(path)
		switch {
		case errors.Is(err, checkpoint.ErrNone) && done < 3:
		case err != nil:
			t.Fatal(err)
		case cp.Step < done-done%3:
			t.Fatalf("step %d was saved, the newest checkpoint is of step %d", done-done%3, cp.Step)
		default:
			lost += max(0, done-cp.Step)
		}
	}
	cmd, out, complaint := program(t, "train", argument, strings.Repeat(".", c.MaxIters))
	if _, err := io.Copy(io.Discard, out); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatal(err, complaint)
	}
	cp, err := checkpoint.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	uninterrupted := newTrainer(t, c)
	undisturbed := t.TempDir()
	for range c.MaxIters {
		steps(t, uninterrupted, 1)
		if uninterrupted.Done%3 == 0 || uninterrupted.Done == c.MaxIters {
			check(t, uninterrupted.Save(undisturbed))
		}
	}
	killed, err := certificate.Open(filepath.Join(path, certificate.File))
	check(t, err)
	want, err := certificate.Open(filepath.Join(undisturbed, certificate.File))
	check(t, err)
	if !cmp.Equal(killed, want) || killed.Last().Step != c.MaxIters || len(killed.Builds) != 1 {
		t.Errorf("after %d kills the certificate differs from one of an uninterrupted run: %s", kills,
			cmp.Diff(want, killed))
	}
	got, err := Resume(c, uninterrupted.Corpus, uninterrupted.Tokenizer, cp)
	if err != nil {
		t.Fatal(err)
	}
	if got.Done != c.MaxIters || fingerprint(t, got) != fingerprint(t, uninterrupted) {
		t.Errorf(
			"after %d kills the run ends at step %d with %s, an uninterrupted one with %s", kills, got.Done,
			fingerprint(t, got), fingerprint(t, uninterrupted),
		)
	}
	t.Logf("%d kills in %d steps, %d of them done twice", kills, c.MaxIters, lost)
	if lost == 0 && !testing.Short() {
		t.Error("no kill cost a step: the test shows nothing")
	}
}

// weightFiles holds the ways to write a model's weights, each as bytes that are equal if the weights are.
var weightFiles = map[string]func(t *testing.T, m *Model) ([]byte, error){
	"WriteWeights": func(_ *testing.T, m *Model) ([]byte, error) {
		var b bytes.Buffer
		err := m.WriteWeights(&b)
		return b.Bytes(), err
	},
	"Files": func(_ *testing.T, m *Model) ([]byte, error) {
		files, err := m.Files(nil)
		if err != nil {
			return nil, err
		}
		at := slices.IndexFunc(files, func(f checkpoint.File) bool { return f.Name == train.WeightsFile })
		var b bytes.Buffer
		err = files[at].Write(&b)
		return b.Bytes(), err
	},
	"Plain": func(_ *testing.T, m *Model) ([]byte, error) {
		plain, err := m.Plain(1)
		if err != nil {
			return nil, err
		}
		var b bytes.Buffer
		err = plain.WriteWeights(&b)
		return b.Bytes(), err
	},
	"Packed": func(_ *testing.T, m *Model) ([]byte, error) {
		packed, err := m.Packed(stored.BF16)
		if err != nil {
			return nil, err
		}
		p, err := graph.Compile(packed.Logits)
		if err == nil {
			err = p.Run()
		}
		return fmt.Append(nil, p.Value().Floats()), err
	},
	"a decoder": func(_ *testing.T, m *Model) ([]byte, error) {
		d, err := NewDecoder(m, 1)
		if err != nil {
			return nil, err
		}
		var logits graph.Tensor
		for _, id := range []int{3, 1, 4, 1, 5, 9, 2, 6} {
			if logits, err = d.Feed([]int{id}); err != nil {
				return nil, err
			}
		}
		return fmt.Append(nil, logits.Floats()), nil
	},
}

// Everything written from a model during training has the weights of one step. The steps, in another goroutine, record
// the weights between them; the written ones must be among these.
func TestWeightsOfOneStep(t *testing.T) {
	for name, write := range weightFiles {
		t.Run(name, func(t *testing.T) {
			c := tiny() // many weights and few tokens: an update is as long as what is computed
			c.QKSize, c.VSize, c.Bias, c.Head, c.Activation = 0, 0, true, "tied", "gelu_tanh"
			c.NLayer, c.NEmbd, c.BatchSize, c.MaxIters = 1, 64, 1, 1000
			trainer := newTrainer(t, c)
			known, stop, done := map[[32]byte]bool{}, make(chan bool), make(chan error, 1)
			var noted atomic.Int32
			note := func() error {
				data, err := write(t, trainer.Model)
				known[sha256.Sum256(data)] = true
				noted.Add(1)
				return err
			}
			if err := note(); err != nil {
				t.Fatal(err)
			}
			go func() {
				for {
					_, err := trainer.Step()
					if err == nil {
						err = note()
					}
					select {
					case <-stop:
						done <- err
						return
					default:
					}
					if err != nil {
						done <- err
						return
					}
				}
			}()
			var sums [][32]byte
			for len(sums) < 12 || noted.Load() < 3 && len(sums) < 5000 { // a busy machine may do no step meanwhile
				data, err := write(t, trainer.Model)
				if err != nil {
					t.Fatal(err)
				}
				sums = append(sums, sha256.Sum256(data))
			}
			close(stop)
			if err := <-done; err != nil {
				t.Fatal(err)
			}
			torn := 0
			for _, sum := range sums {
				if !known[sum] {
					torn++
				}
			}
			if torn > 0 {
				t.Errorf("%d of %d are of weights that the run never had", torn, len(sums))
			}
			if len(known) < 3 {
				t.Errorf("the run did %d steps meanwhile, too few to see a torn file", len(known)-1)
			}
		})
	}
}

// Decoders are built and generate while their model trains. The race detector checks this if kernels are plain Go.
func TestWritingWhileTraining(t *testing.T) {
	for _, kernels := range []bool{true, false} {
		c := tiny()
		c.Kernels = kernels
		trainer := newTrainer(t, c)
		newDecoderOf(t, trainer.Model)
		var wait sync.WaitGroup
		wait.Go(func() { steps(t, trainer, 6) })
		for range 2 {
			wait.Go(func() {
				for range 2 {
					d, err := NewDecoder(trainer.Model, 1)
					for i := 0; err == nil && i < 3; i++ {
						_, err = d.Feed([]int{1})
					}
					if err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
		wait.Wait()
	}
}

// While a Trainer evaluates or writes a file, every other use of it or of its Core is an error.
func TestTrainerBusy(t *testing.T) {
	tr := newTrainer(t, tiny())
	files, err := tr.Files()
	check(t, err)
	refused := 0
	busy := func() {
		refused++
		_, step := tr.Step()
		_, core := tr.Core.Step()
		_, evaluate := tr.Evaluate(context.Background())
		_, all := tr.EvaluateAll(context.Background(), nil)
		_, loss := lossNow(context.Background(), tr)
		_, again := tr.Files()
		for name, err := range map[string]error{
			"Step": step, "Core.Step": core, "Evaluate": evaluate, "EvaluateAll": all, "Losses": loss,
			"Files": again, "Save": tr.Save(t.TempDir()), "Write": files[2].Write(io.Discard),
		} {
			if err == nil || strings.Count(err.Error(), "trainer: in use by another goroutine") != 1 {
				t.Errorf("%s: got %v, want that it is in use", name, err)
			}
		}
	}
	_, err = tr.EvaluateAll(context.Background(), func(int, int) { busy() })
	check(t, err)
	check(t, files[0].Write(writerFunc(busy)))
	if refused < 3 {
		t.Errorf("the Trainer was used %d times meanwhile, want at least 3", refused)
	}
	steps(t, tr, 1)
}

// writerFunc is a function that is called by each Write.
type writerFunc func()

func (f writerFunc) Write(b []byte) (int, error) { f(); return len(b), nil }
