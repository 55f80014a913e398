// Lab answers which architecture is better, and with what certainty. It trains every arm of a study, which is a variant
// of one configuration, with the same seeds at an equal budget, and compares the arms with the baseline seed by seed.
//
//	go run ./examples/lab                                    # three variants, five seeds each; 5 to 7 minutes
//	go run ./examples/lab compare -arms "attention=linear; modern" -budget tokens=1e6,parameters=800000
//	go run ./examples/lab compare -arms "attention=gated_deltanet*3,causal"  # attentions by block
//	go run ./examples/lab compare -parts attention,rope -until told          # adds seeds until each arm has a verdict
//	go run ./examples/lab compare -parts norm,mlp -cross -tune learning_rate=3e-4,1e-3,3e-3
//	go run ./examples/lab compare -parts all -seeds 1 -measures all          # every variant of the library
//	go run ./examples/lab tasks -tasks "mad; parity:TestLength=80"           # tasks with a known answer
//	go run ./examples/lab scale -sizes 32x1,32x2,64x2,96x3,128x4      # fits a law to losses by sizes and tokens
//	go run ./examples/lab transfer -widths 32,64,128 -rates 2e-3,4e-3 # the best rate by width, with and without muP
//	go run ./examples/lab compare -study question.json                # flags in a file: {"seeds": 8, "parts": "norm"}
//	go run ./examples/lab tasks -study examples/lab/mad.json          # eight mixers on six tasks, half an hour
//	go run ./examples/lab -verdict attention=gated_deltanet           # all questions about an idea; about an hour
//	go run ./examples/lab board -minutes 5                            # a verdict on every part; many hours
//	go run ./examples/lab -replay DIR -n 5                            # five random trials of a study again
//	go run ./examples/lab -replay examples/lab/BOARD.md -trials attention=gla # a row of the board again
//	mpirun -np 4 ./lab compare -out_dir DIR                           # four processes share the trials, as do the
//	                                                                  # tasks of a Slurm array
//
// A result is kept in -out_dir for good: a study that is requested again trains nothing, and one that was interrupted
// continues. The directory then contains report.md, page.html, results.jsonl with the numbers that another run repeats
// to the bit, timings.jsonl with the others, results.csv, forest.png and curves.png. Its certificates hold the steps of
// each trial.
package main

import (
	"cmp"
	"context"
	"fmt"
	"io"

	"github.com/pedestrian-ml/pedestrian/examples/internal/program"
	"github.com/pkg/errors"
)

func main() { program.MainOfRanks("lab", run) } // the ranks share a directory, and write the same files

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	command := func(name, about, old string) program.Command {
		return program.Command{Name: name, About: about, Old: old,
			Run: func(ctx context.Context, args []string, stdout, stderr io.Writer) error {
				o, err := parse(name, args, stderr)
				if err != nil {
					return err
				}
				return o.run(ctx, args, stdout, stderr)
			}}
	}
	return program.Commands("lab", []program.Command{
		command("compare", "variants with a baseline, by their losses on texts", ""),
		command("tasks", "variants with a baseline, by their accuracies on tasks with a known answer", "tasks"),
		command("scale", "sizes and numbers of steps, to which a law of scaling is fitted", "scale scale_iters"),
		command("transfer", "learning rates by width, with and without muP", "widths rates"),
		{Name: "verdict", About: "an idea: is it right, what does it cost, does it help, and at any size?",
			Old: "verdict", Run: judgeIdea},
		{Name: "board", About: "a verdict on every part of the library", Run: board},
		{Name: "replay", About: "trials of a study again: are they equal to the last bit?", Old: "replay", Run: replay},
	})(ctx, studied(args), stdout, stderr)
}

// run runs the study, and writes and prints its report.
func (o *options) run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	s, err := o.study(ctx, stderr)
	if err != nil {
		return err
	}
	for _, left := range o.leftOut {
		fmt.Fprintln(stderr, "left out:", left)
	}
	done := progress{out: stderr, most: o.most(s)}
	if !o.report {
		if err := done.run(ctx, s); err != nil {
			return err
		}
	}
	r, err := s.Report()
	if err != nil {
		return err
	}
	if len(r.Trials) == 0 {
		return errors.Errorf("report: %s has no result of this study by this program; run it without -report", s.Dir)
	}
	if done.reused == 0 && o.report {
		done.reused = len(r.Trials)
	}
	sum, err := o.summary(r, args, done.reused)
	if err != nil {
		return err
	}
	written := write(s.Dir, sum, r)
	if o.events != "" {
		written = cmp.Or(written, r.WriteEvents(o.events))
	}
	if o.part > 0 { // the first process prints
		fmt.Fprintf(stderr, "part %d of %d: the report is in %s\n", o.part+1, o.processes, s.Dir)
		return written
	}
	return cmp.Or(program.Printed(stdout, sum.print(o.asJSON)), written)
}
