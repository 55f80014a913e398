// Architectures trains every variant of the library on the same text, with the same batches and seed, and prints one
// table: size, loss, time, memory, the error of its gradients, and the speed of decoding. A second table shows how the
// cost of a token grows with the context.
//
//	go run ./examples/architectures                        # everything; about half an hour on two cores
//	go run ./examples/architectures -only attention,rope   # the variants of a part, or one of them
//	go run ./examples/architectures -max_iters 200 -seeds 1 -contexts ""
//	go run ./examples/architectures -quick                 # a tiny model for a few steps, as a trial
//
// A row is the baseline with one part changed; the flags of the network change the baseline.
package main

import (
	"context"
	"encoding/json"
	"io"

	"github.com/pedestrian-ml/pedestrian/examples/internal/base"
	"github.com/pedestrian-ml/pedestrian/examples/internal/corpus"
	"github.com/pedestrian-ml/pedestrian/examples/internal/program"
	"github.com/pedestrian-ml/pedestrian/gpt/text"
	"github.com/pkg/errors"
)

func main() { program.Main("architectures", run) }

// results holds both tables.
type results struct {
	Text      string  `json:"text"`
	Steps     int     `json:"steps"`
	Tokens    int     `json:"tokens_per_step"`
	Threads   int     `json:"threads"`
	Rows      []*row  `json:"rows"`
	Contexts  []int   `json:"contexts,omitempty"`
	Costs     []*cost `json:"costs,omitempty"`
	CostBatch int     `json:"cost_tokens_per_step,omitempty"`
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	c, o, err := parse(args, stderr)
	if err != nil {
		return err
	}
	rows, err := chosen(c, o)
	if err != nil {
		return err
	}
	if err := base.Check(c); err != nil { // before opening the text
		return err
	}
	source, err := corpus.Open(ctx, o.data, stderr)
	if err != nil {
		return err
	}
	tok, err := text.NewCharacters(source.Text)
	if err != nil {
		return errors.Wrap(err, source.Name)
	}
	data, err := source.Encode(tok, c.BlockSize)
	if err != nil {
		return err
	}
	for _, r := range rows {
		r.config.VocabSize = tok.Size()
	}
	r := results{Text: source.Name, Steps: c.MaxIters, Tokens: c.BatchSize * c.BlockSize * c.GradientAccumulationSteps,
		Rows: rows}
	if err := check(ctx, rows); err != nil {
		return err
	}
	s := study{rows: rows, data: data, tok: tok, rounds: o.rounds, stderr: stderr}
	if r.Threads, err = s.train(ctx); err != nil {
		return err
	}
	if err := s.decode(ctx); err != nil {
		return err
	}
	if !o.asJSON {
		if err := r.write(stdout); err != nil {
			return err
		}
	}
	if len(o.contexts) > 0 {
		r.Contexts, r.CostBatch = o.contexts, o.contexts[len(o.contexts)-1]
		if r.Costs, err = costs(ctx, rows, o, stderr); err != nil {
			return err
		}
	}
	if !o.asJSON {
		return r.writeCosts(stdout)
	}
	e := json.NewEncoder(stdout)
	e.SetIndent("", "  ")
	return e.Encode(r)
}
