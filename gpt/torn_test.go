package gpt

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/pedestrian-ml/pedestrian/gpt/checkpoint"
	"github.com/pedestrian-ml/pedestrian/gpt/safetensors"
	"github.com/pedestrian-ml/pedestrian/gpt/train"
	"github.com/pedestrian-ml/pedestrian/graph"
)

// weightFiles holds the ways to write a model's weights, each as bytes that are equal if the weights are.
var weightFiles = map[string]func(t *testing.T, m *Model) ([]byte, error){
	"WriteWeights": func(_ *testing.T, m *Model) ([]byte, error) {
		var b bytes.Buffer
		err := m.WriteWeights(&b)
		return b.Bytes(), err
	},
	"Export": func(t *testing.T, m *Model) ([]byte, error) {
		dir := filepath.Join(t.TempDir(), "folder")
		if err := m.Export(dir, nil, safetensors.F32); err != nil {
			return nil, err
		}
		return os.ReadFile(filepath.Join(dir, train.WeightsFile))
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
		packed, err := m.Packed(graph.BF16)
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
