package parts_test

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/checkpoint"
	"github.com/pedestrian-ml/pedestrian/gpt/search"
	"github.com/pedestrian-ml/pedestrian/gpt/text"
)

// small returns a run of forty steps of a tiny network.
func small() gpt.Config {
	c := gpt.Shakespeare()
	c.BlockSize, c.BatchSize, c.NLayer, c.NHead, c.NEmbd, c.VocabSize = 8, 3, 2, 4, 16, 23
	c.LearningRate, c.WarmupIters, c.MaxIters, c.LRDecayIters = 1e-2, 4, 40, 40
	return c
}

// corpus returns a verse in c's tokens: by its own tokenizer, or characters.
func corpus(c gpt.Config) (text.Corpus, text.Tokenizer) {
	kind := append(c.Parts.Tokenizers, text.Kinds()...)[0]
	s := strings.Repeat("The wheel goes round, the water pays no rent, and what I grind by day by night is spent. ", 4)
	tok, err := kind.New(s)
	check(err)
	data, err := text.NewCorpus(s, tok, c.BlockSize)
	check(err)
	return data, tok
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}

// trains prints whether the loss falls, and whether the model opened from the run's checkpoint generates text.
func trains(c gpt.Config) {
	dir, err := os.MkdirTemp("", "own")
	check(err)
	defer os.RemoveAll(dir)
	data, tok := corpus(c)
	trainer, err := gpt.NewTrainer(c, data, tok)
	check(err)
	var losses []float64
	for p, err := range trainer.Run(context.Background()) {
		check(err)
		losses = append(losses, p.Loss)
	}
	if first, last := losses[0], losses[len(losses)-1]; last < 0.9*first {
		fmt.Print("the loss falls, ")
	}
	check(trainer.Save(dir))
	m, tok, err := gpt.Open(dir, c.Parts)
	check(err)
	written := ""
	for piece, err := range m.Generate(context.Background(), tok, "The ", 20, search.NewSampler(1)) {
		check(err)
		written += piece
	}
	if len(written) > 0 {
		fmt.Println("and it writes")
	}
}

// resumes reports whether a run that is resumed after step 25 ends with the weights of one that is not interrupted.
func resumes(c gpt.Config) (same bool) {
	out, err := os.MkdirTemp("", "own")
	check(err)
	defer os.RemoveAll(out)
	data, tok := corpus(c)
	run := func(t *gpt.Trainer) *gpt.Model {
		for p, err := range t.Run(context.Background()) {
			check(err)
			if p.Step == 25 && t.Done == 25 {
				check(t.Save(out))
			}
		}
		return t.Model
	}
	first, err := gpt.NewTrainer(c, data, tok)
	check(err)
	m := run(first)
	cp, err := checkpoint.Load(out, gpt.Fits(c.Parts))
	check(err)
	defer cp.Close()
	second, err := gpt.Resume(c, data, tok, cp)
	check(err)
	again := run(second)
	for i, p := range m.Params() {
		if !slices.Equal(p.Tensor().Floats(), again.Params()[i].Tensor().Floats()) {
			return false
		}
	}
	return true
}

// A user-defined part has at most thirty lines, from the first after the imports up to its Example.
func TestOwnPartsAreShort(t *testing.T) {
	for _, name := range []string{"attention", "norm", "mlp", "optimizer", "schedule", "tokenizer"} {
		data, err := os.ReadFile("own_" + name + "_example_test.go")
		if err != nil {
			t.Fatal(err)
		}
		_, own, imports := strings.Cut(string(data), "\n)\n")
		if !imports {
			_, own, _ = strings.Cut(string(data), "\n")
		}
		own, example, found := strings.Cut(own, "func Example")
		own = own[:strings.LastIndex(own, "}")+1] // without the comment of the Example
		if lines := strings.Count(strings.TrimSpace(own), "\n") + 1; lines > 30 || !found ||
			!strings.Contains(example, "// Output:") {
			t.Errorf("own_%s_example_test.go: %d lines, want at most 30 and an Example behind them", name, lines)
		}
	}
}
