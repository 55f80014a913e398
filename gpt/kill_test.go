package gpt

import (
	"bufio"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/pedestrian-ml/pedestrian/gpt/checkpoint"
	"github.com/pedestrian-ml/pedestrian/gpt/text"
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
// moments and state are those of an uninterrupted run.
func TestKillResume(t *testing.T) {
	kills := 20
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
	steps(t, uninterrupted, c.MaxIters)
	got, err := Resume(c, uninterrupted.Corpus, uninterrupted.Tokenizer, cp)
	if err != nil {
		t.Fatal(err)
	}
	if got.Done != c.MaxIters || fingerprint(t, got) != fingerprint(t, uninterrupted) {
		t.Errorf("after %d kills the run ends at step %d with %s, an uninterrupted one with %s", kills, got.Done, fingerprint(t, got), fingerprint(t, uninterrupted))
	}
	t.Logf("%d kills in %d steps, %d of them done twice", kills, c.MaxIters, lost)
	if lost == 0 && !testing.Short() {
		t.Error("no kill cost a step: the test shows nothing")
	}
}
