// Idea asks for a verdict on the idea in idea.go, in about an hour. Copy both files, and change the other one.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log"
	"os"

	"github.com/pedestrian-ml/pedestrian/gpt/lab/verdict"
	"github.com/pedestrian-ml/pedestrian/gpt/text"
)

func main() {
	if err := run(context.Background(), os.Args[1:], os.Stdout, os.Stderr); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	fs := flag.NewFlagSet("idea", flag.ContinueOnError)
	fs.SetOutput(stderr)
	p := verdict.Protocol{Dir: "out/idea", Watch: func(p verdict.Progress) { fmt.Fprintf(stderr, "\r\x1b[K%.110v", p) }}
	p.Flags(fs)
	fs.StringVar(&p.Text.Name, "data", "input.txt", "text to train on")
	err := fs.Parse(args)
	if err == nil {
		p.Text.Corpus, p.Text.Tokenizer, err = text.Load(p.Text.Name, "character", verdict.Baseline().BlockSize)
	}
	if err != nil {
		return err
	}
	r, err := verdict.Judge(ctx, idea(), p)
	if err == nil {
		_, err = fmt.Fprint(stdout, r)
	}
	return err
}
