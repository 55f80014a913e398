// Reasoning teaches a small GPT to think before it answers whether a string of bits has an odd number of ones. Its
// thoughts are tokens without a loss, or imitate a careless teacher's; then rewards for right answers alone make the
// model better than its teacher.
//
//	go run ./examples/reasoning                            # both stages, every objective, one table
//	go run ./examples/reasoning -objective ppo -bits 10    # one of reinforce, reinforce_baseline, ppo
//	go run ./examples/reasoning -out_dir D                 # saves checkpoints, from which -resume continues
//
// Every question is drawn anew, so there is no validation split and no early stopping; the learning rate of each stage
// follows its own rule, and the table compares the last weights of the objectives, without averages.
package main

import (
	"context"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/pedestrian-ml/pedestrian/examples/internal/program"
)

func main() { program.Main("reasoning", run) }

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	o, err := parse(args, stderr)
	if err != nil {
		return err
	}
	var trained *agent
	rows := tabwriter.NewWriter(stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintf(stdout, "Is the number of ones among %d bits odd? Guessing is right half of the time.\n\n", o.bits)
	for _, t := range o.tasks() {
		if trained, err = pretrain(ctx, o, t, program.NewBar(stderr, t.name, 0, o.steps)); err != nil {
			return err
		}
		right, err := trained.accuracy(ctx, o, false)
		if err != nil {
			return err
		}
		fmt.Fprintf(rows, "%s\t%5.1f%%", t.name, 100*right)
		if t.thoughts > 0 {
			given, err := trained.accuracy(ctx, o, true)
			if err != nil {
				return err
			}
			fmt.Fprintf(rows, "\tafter right thoughts %5.1f%%", 100*given)
		}
		fmt.Fprintln(rows)
	}
	fmt.Fprintln(stdout, "Right answers after teaching, with the model's own thoughts:")
	if err := rows.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(stdout, "\nRight answers after rewards for right answers alone, starting from the last model above:")
	fmt.Fprintf(rows, "objective\tbefore\t")
	for i := range quarters {
		fmt.Fprintf(rows, "reward %d/%d\t", i+1, quarters)
	}
	fmt.Fprintln(rows, "after")
	for _, name := range o.objectives() {
		r, err := reward(ctx, o, trained, name, program.NewBar(stderr, name, 0, o.rounds))
		if err != nil {
			return err
		}
		fmt.Fprintf(rows, "%s\t%5.1f%%\t", name, 100*r.before)
		for _, mean := range r.rewards {
			fmt.Fprintf(rows, "%.3f\t", mean)
		}
		fmt.Fprintf(rows, "%5.1f%%\n", 100*r.after)
	}
	return rows.Flush()
}
