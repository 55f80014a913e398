package lab_test

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"

	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/lab"
	"github.com/pedestrian-ml/pedestrian/gpt/text"
)

// Three attentions are compared on a text, with three seeds for each.
func Example() {
	verse := strings.Repeat("The wheel goes round, the water pays no rent.\n", 40)
	tok, _ := text.NewCharacters(verse)
	c := gpt.Shakespeare()
	c.NLayer, c.NHead, c.NEmbd, c.BlockSize, c.BatchSize, c.EvalInterval, c.EvalIters = 1, 2, 16, 16, 4, 20, 1
	corpus, _ := text.NewCorpus(verse, tok, c.BlockSize)
	dir, _ := os.MkdirTemp("", "study")
	defer os.RemoveAll(dir)
	study := lab.Study{
		Name: "attentions", Base: c, Arms: lab.Arms("baseline", "attention=linear", "attention=mla"), Dir: dir,
		Texts: []lab.Text{{Name: "verse", Corpus: corpus, Tokenizer: tok}}, Seeds: 3, Budget: lab.Budget{Steps: 20},
	}
	for _, err := range study.Run(context.Background()) {
		if err != nil {
			panic(err)
		}
	}
	report, err := study.Report()
	if err != nil {
		panic(err)
	}
	for _, row := range report.Tables[0].Rows {
		fmt.Println(row.Arm, row.Outcome.N, "seeds:", row.Judgement)
	}
	// Output:
	// baseline 3 seeds: <nil>
	// attention=linear 3 seeds: not told apart (0.010 would need 2 seeds)
	// attention=mla 3 seeds: not told apart (0.010 would need 4 seeds)
}

// An arm may change what no flag can, such as the learning rate of every step.
func ExampleArm() {
	warm := lab.Arm{Name: "sine", Set: []string{"norm=rmsnorm"}, Version: "1e-3, 1000 steps",
		Change: func(c *gpt.Config) {
			c.Hooks.Rate = func(step int) float64 { return 1e-3 * math.Sin(math.Pi*float64(step+1)/1000) }
		}}
	c, err := warm.Apply(gpt.Shakespeare())
	fmt.Println(c.Norm, c.Hooks.Rate(499), err)
	// Output: rmsnorm 0.001 <nil>
}

// Parts and hooks are code, which a configuration does not hold. A study asks for a name of them and of all that they
// read, here a rate from the environment: results are reused as long as the name is the same.
func ExampleStudy_version() {
	verse := strings.Repeat("The wheel goes round, the water pays no rent.\n", 40)
	tok, _ := text.NewCharacters(verse)
	c := gpt.Shakespeare()
	c.NLayer, c.NHead, c.NEmbd, c.BlockSize, c.BatchSize, c.EvalIters = 1, 2, 16, 16, 4, 1
	rate, _ := strconv.ParseFloat(cmp.Or(os.Getenv("RATE"), "1e-3"), 64)
	c.Hooks.Rate = func(int) float64 { return rate }
	corpus, _ := text.NewCorpus(verse, tok, c.BlockSize)
	dir, _ := os.MkdirTemp("", "study")
	defer os.RemoveAll(dir)
	longer := lab.Text{
		Name: "verse", Corpus: corpus, Tokenizer: tok, Version: "its rates",
		Change: func(c *gpt.Config) { c.MaxIters = 3 },
	}
	study := lab.Study{
		Name: "rates", Base: c, Arms: lab.Arms("baseline"), Texts: []lab.Text{longer}, Seeds: 1, NoVerdict: true,
		Dir: dir,
	}
	for _, version := range []string{"", fmt.Sprint("rate ", rate)} {
		study.Version = version
		for trial, err := range study.Run(context.Background()) {
			if err != nil {
				fmt.Println(err.Error()[:77], "…")
				continue
			}
			fmt.Println(
				trial.Result.Steps, "steps,",
				strings.Contains(string(trial.Identity), `{"base":"rate 0.001","text":"its rates"}`),
			)
		}
	}
	// Output:
	// study "rates": arm "baseline": text "verse": version of the base: empty, want …
	// 3 steps, true
}
