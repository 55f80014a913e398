// Idea asks for a verdict on the idea in idea.go. Copy both files, and change the second.
//
//	go run ./examples/idea -data input.txt             # at most about an hour
//	go run ./examples/idea -data input.txt -minutes 10 # a first look
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"

	"github.com/pedestrian-ml/pedestrian/gpt/lab"
	"github.com/pedestrian-ml/pedestrian/gpt/lab/verdict"
	"github.com/pedestrian-ml/pedestrian/gpt/text"
)

func main() {
	data := flag.String("data", "input.txt", "text to train on")
	p := verdict.Protocol{Watch: func(p verdict.Progress) { fmt.Fprintf(os.Stderr, "\r\x1b[K%.110v", p) }}
	flag.StringVar(&p.Dir, "out_dir", "out/idea", "directory of the trials and of the report; the same continues")
	flag.Float64Var(&p.Minutes, "minutes", 60, "about the longest time")
	flag.IntVar(&p.Steps, "steps", 0, "steps of a trial on text; 0 means as many as there is time for")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	corpus, tok, err := text.Load(*data, "character", verdict.Baseline().BlockSize)
	if err != nil {
		log.Fatal(err)
	}
	p.Text = lab.Text{Name: *data, Corpus: corpus, Tokenizer: tok}
	r, err := verdict.Judge(ctx, idea(), p)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(r)
}
