package gpt_test

import (
	"context"
	"fmt"
	"log"

	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/search"
	"github.com/pedestrian-ml/pedestrian/gpt/text"
)

// A model is trained on the characters of a text, saved, opened by another program, and continues a line.
func Example() {
	ctx := context.Background()
	c := gpt.Shakespeare()
	c.MaxIters = 20 // of 2000
	corpus, tok, err := text.Load("input.txt", "character", c.BlockSize)
	check(err)
	trainer, err := gpt.NewTrainer(c, corpus, tok)
	check(err)
	for p, err := range trainer.Run(ctx) {
		check(err)
		fmt.Printf("step %d: loss %.2f\n", p.Step, p.Loss)
	}
	check(trainer.Save("out"))

	model, tok, err := gpt.Open("out")
	check(err)
	for piece, err := range model.Generate(ctx, tok, "ROMEO:", 200, search.NewSampler(1)) {
		check(err)
		fmt.Print(piece)
	}
}

// check ends the program if there is an error.
func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
