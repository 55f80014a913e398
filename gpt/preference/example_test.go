package preference_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"strings"

	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/checkpoint"
	"github.com/pedestrian-ml/pedestrian/gpt/preference"
	"github.com/pedestrian-ml/pedestrian/gpt/text"
)

// A model that finds hay and oats about equally likely learns from one pair that hay is preferred.
func ExampleNewDPO() {
	files, tok := farm()
	defer files.Checkpoint.Close()
	c := gpt.LoRATuning()
	c.BatchSize, c.GradientAccumulationSteps, c.LearningRate, c.MaxIters = 2, 1, 1e-2, 10
	pair := text.Pair{Chosen: answer(tok, "a goat eats ", "hay"), Rejected: answer(tok, "a goat eats ", "oats")}
	const beta = 0.5
	d, err := preference.NewDPO(c, beta, []text.Pair{pair}, tok, files, nil)
	check(err)
	for p, err := range d.Run(context.Background()) {
		check(err)
		if p.Step == 1 {
			fmt.Printf("the first loss: %.4f\n", p.Loss)
		}
	}
	other := text.Pair{Chosen: answer(tok, "a cow eats ", "hay"), Rejected: answer(tok, "a cow eats ", "oats")}
	list, err := d.Judge(context.Background(), []text.Pair{other}, nil)
	check(err)
	fmt.Println("the margin of another pair is above 0:", list[0].Margin(beta) > 0)
	// Output:
	// the first loss: 0.6931
	// the margin of another pair is above 0: true
}

// The same model is rewarded for short answers.
func ExampleNewGRPO() {
	files, tok := farm()
	defer files.Checkpoint.Close()
	c := gpt.LoRATuning()
	c.BatchSize, c.GradientAccumulationSteps, c.LearningRate = 8, 1, 1e-2
	ends, err := tok.Encode("\n")
	check(err)
	group := preference.Group{Size: 8, Length: 6, Stop: ends, Clip: 0.2, Beta: 0.04,
		Score: func(_ text.Prompt, answer string) (float64, error) { return -float64(len(answer)), nil }}
	prompt, err := tok.Encode("a goat eats ")
	check(err)
	g, err := preference.NewGRPO(c, group, []text.Prompt{{Tokens: prompt}}, tok, files)
	check(err)
	var first, last preference.Round
	for step := range 12 {
		_, round, err := g.Step(context.Background())
		check(err)
		if last = round; step == 0 {
			first = round
		}
	}
	fmt.Println("at first some groups teach something:", first.Equal < 1)
	fmt.Println(
		"at last answers are shorter:", last.Length < first.Length, "and more of them end:", last.Ended >= first.Ended,
	)
	// Output:
	// at first some groups teach something: true
	// at last answers are shorter: true and more of them end: true
}

// farm returns the checkpoint of a small model of lines such as "a goat eats hay".
func farm() (gpt.Source, text.Tokenizer) {
	verse := strings.Repeat("a goat eats hay\na cow eats oats\na goat eats oats\na cow eats hay\n", 50)
	tok, err := text.NewCharacters(verse)
	check(err)
	c := gpt.Baby()
	c.NLayer, c.NHead, c.NEmbd, c.BlockSize, c.BatchSize = 1, 2, 32, 24, 8
	c.MaxIters, c.LRDecayIters, c.WarmupIters, c.LearningRate, c.Dropout = 150, 150, 5, 1e-2, 0
	corpus, err := text.NewCorpus(verse, tok, c.BlockSize)
	check(err)
	t, err := gpt.NewTrainer(c, corpus, tok)
	check(err)
	for _, err := range t.Run(context.Background()) {
		check(err)
	}
	dir, err := os.MkdirTemp("", "farm")
	check(err)
	defer os.RemoveAll(dir)
	check(t.Save(dir))
	cp, err := checkpoint.Load(dir)
	check(err)
	files, err := gpt.SourceOf(cp)
	check(err)
	return files, tok
}

// answer returns the tokens of a prompt and its answer.
func answer(tok text.Tokenizer, prompt, answer string) text.Choice {
	first, err := tok.Encode(prompt)
	check(err)
	all, err := tok.Encode(prompt + answer + "\n")
	check(err)
	return text.Choice{Tokens: all, First: len(first), Bytes: len(answer)}
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
