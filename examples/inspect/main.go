// Inspect looks inside a trained model: what it would predict behind every block, what every head looks at, and what
// it loses without a head, or a block's attention or MLP. It also lays runs over each other.
//
//	go run ./examples/inspect -prompt "To be or not to be"    # tables and a page of what the model in out/ makes of it
//	go run ./examples/inspect -ablate heads                   # the loss without each head, as a table and a picture
//	go run ./examples/inspect -ablate mlp -mean               # with the mean of what each MLP gives in its place
//	go run ./examples/inspect -prompt "the ki" -corrupt "the mi" -right n -wrong l   # where an answer comes from
//	go run ./examples/inspect -runs out,out2                  # a page of what two runs have measured
package main

import (
	"context"
	"flag"
	"io"
	"syscall"

	"github.com/pedestrian-ml/pedestrian/examples/internal/base"
	"github.com/pedestrian-ml/pedestrian/examples/internal/program"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pkg/errors"
)

func main() { program.Main("inspect", run) }

type options struct {
	checkpoint, prompt, page, ablate, data, picture string
	runs, serve, corrupt, right, wrong              string
	mean                                            bool
	tokens                                          int
}

// places returns the activations of what -ablate names.
func places() map[string]string {
	return map[string]string{"": "", "heads": "h.*.attn.heads", "attention": "h.*.attn", "mlp": "h.*.mlp"}
}

func parse(args []string, stderr io.Writer) (o options, err error) {
	fs := program.Flags("inspect", stderr)
	program.Group(fs, "The model", func(fs *flag.FlagSet) {
		fs.StringVar(&o.checkpoint, "checkpoint", "out", "directory of a trained model, or folder of a published one")
	})
	program.Group(fs, "What it makes of a text", func(fs *flag.FlagSet) {
		fs.StringVar(&o.prompt, "prompt", "", "text of at most block_size tokens: the logit lens and the heads' scores on it")
		fs.StringVar(&o.page, "page", "", "file for the page that shows it; by default inside.html, of -runs runs.html")
	})
	program.Group(fs, "Where an answer comes from", func(fs *flag.FlagSet) {
		fs.StringVar(&o.corrupt, "corrupt", "", "text of as many tokens as -prompt, with another answer")
		fs.StringVar(&o.right, "right", "", "token that answers the prompt")
		fs.StringVar(&o.wrong, "wrong", "", "another token, whose logit is taken off that of the right one")
	})
	program.Group(fs, "What runs have measured", func(fs *flag.FlagSet) {
		fs.StringVar(&o.runs, "runs", "", "directories of runs, with commas between: a page that lays them over each other")
		fs.StringVar(&o.serve, "serve", "", "show them as they go on, at an address such as :8080, instead of writing a page")
	})
	program.Group(fs, "What it loses without a part", func(fs *flag.FlagSet) {
		fs.StringVar(&o.ablate, "ablate", "", "the parts to leave out one by one: heads, attention or mlp, of every block")
		fs.BoolVar(&o.mean, "mean", false, "leave a part's mean over the text in its place, not 0")
		fs.StringVar(&o.data, "data", "", "text to take the loss of, its validation split; by default that of the run")
		fs.IntVar(&o.tokens, "tokens", 10000, "tokens of it at most")
		fs.StringVar(&o.picture, "picture", "", "file for the picture; by default ablation.png, of -corrupt patching.png")
	})
	if err := program.Parse(fs, args); err != nil {
		return o, err
	}
	if _, ok := places()[o.ablate]; !ok {
		return o, program.Want(false, "ablate", o.ablate, "heads, attention or mlp")
	}
	if o.prompt == "" && o.ablate == "" && o.runs == "" {
		return o, errors.New("nothing to look at: want -prompt, -ablate, or both, or -runs; -help lists the flags")
	}
	if o.runs != "" && (o.prompt != "" || o.ablate != "") {
		return o, errors.New("-runs: it looks at what runs have measured; want neither -prompt nor -ablate beside it")
	}
	given := program.Given(fs)
	if o.picture == "" && o.corrupt == "" {
		o.picture = "ablation.png"
	}
	for _, flag := range []string{"mean", "data", "tokens", "picture"} {
		if given[flag] && o.ablate == "" && !(flag == "picture" && o.corrupt != "") {
			return o, errors.Errorf("-%s: it belongs to -ablate, which is not given", flag)
		}
	}
	if asked := o.corrupt + o.right + o.wrong; asked != "" && (o.corrupt == "" || o.right == "" || o.wrong == "" || o.prompt == "" || o.ablate != "" || o.page != "") {
		return o, errors.New("-corrupt, -right and -wrong: they belong together, and to -prompt, without -ablate and -page")
	}
	if given["page"] && o.prompt == "" && o.runs == "" {
		return o, errors.New("-page: it belongs to -prompt or -runs, which are not given")
	}
	if given["serve"] && o.runs == "" {
		return o, errors.New("-serve: it belongs to -runs, which is not given")
	}
	return o, program.Want(o.tokens > 0, "tokens", o.tokens, "at least 1")
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	o, err := parse(args, stderr)
	if err != nil {
		return err
	}
	if o.runs != "" {
		return runs(ctx, o, stdout)
	}
	cp, err := base.Decoder().Load(o.checkpoint, stderr)
	if err != nil {
		return err
	}
	defer cp.Close()
	m, tok, err := base.Open(graph.New(graph.Float32, 1), cp, stderr)
	if err != nil {
		return err
	}
	if o.corrupt != "" {
		return program.Printed(stdout, func(w io.Writer) error { return patch(w, o, m, tok) })
	}
	if o.prompt != "" {
		err = program.Printed(stdout, func(w io.Writer) error { return look(w, o, title(o.checkpoint, cp), m, tok) })
		if err != nil && !errors.Is(err, syscall.EPIPE) { // who closed it may still want the picture of -ablate
			return err
		}
	}
	if o.ablate == "" {
		return err
	}
	return program.Printed(stdout, func(w io.Writer) error { return ablate(ctx, w, stderr, o, cp, m, tok) })
}
