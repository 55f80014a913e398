// Inspect looks inside a trained model: its prediction after every block, the attention of every head or the gates and
// states of its recurrence, and its loss without a head, or a block's attention or MLP. It also shows several runs in
// common charts.
//
//	go run ./examples/inspect -prompt "To be or not to be"    # tables and a page of the model in out/ on the text
//	go run ./examples/inspect -prompt "To be" -forms          # a heatmap of every head, beside prescribed forms
//	go run ./examples/inspect -ablate heads                   # the loss without each head, as a table and a picture
//	go run ./examples/inspect -ablate mlp -mean               # with each MLP replaced by its mean output
//	go run ./examples/inspect -prompt "the ki" -corrupt "the mi" -right n -wrong l   # where an answer comes from
//	go run ./examples/inspect -curvature                      # the largest eigenvalue of the loss's Hessian
//	go run ./examples/inspect -runs out,out2                  # a page with the measurements of two runs
package main

import (
	"context"
	"flag"
	"io"
	"syscall"

	"github.com/pedestrian-ml/pedestrian/examples/internal/base"
	"github.com/pedestrian-ml/pedestrian/examples/internal/program"
	"github.com/pedestrian-ml/pedestrian/gpt/structured"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pkg/errors"
)

func main() { program.Main("inspect", run) }

type options struct {
	checkpoint, prompt, page, ablate, data, picture string
	runs, serve, corrupt, right, wrong              string
	mean, forms, curvature                          bool
	tokens                                          int
	settings                                        structured.Settings
	given                                           map[string]bool // names of flags
}

// places returns the activations for each value of -ablate.
func places() map[string]string {
	return map[string]string{"": "", "heads": "h.*.attn.heads", "attention": "h.*.attn", "mlp": "h.*.mlp"}
}

func parse(args []string, stderr io.Writer) (o options, err error) {
	fs := program.Flags("inspect", stderr)
	program.Group(fs, "The model", func(fs *flag.FlagSet) {
		fs.StringVar(&o.checkpoint, "checkpoint", "out", "directory of a trained model, or folder of a published one")
	})
	program.Group(fs, "The model on a text", func(fs *flag.FlagSet) {
		fs.StringVar(&o.prompt, "prompt", "",
			"text of at most block_size tokens, for the logit lens, the heads' scores, "+
				"and the gates and states of recurrences")
		fs.StringVar(&o.page, "page", "", "file for the page; by default inside.html, with -runs runs.html")
	})
	program.Group(fs, "The heads on the text beside prescribed forms", func(fs *flag.FlagSet) {
		fs.BoolVar(&o.forms, "forms", false, "draw every head, and compare it with the forms of Conti's chapter 3")
		fs.IntVar(&o.settings.Width, "width", 3,
			"half-width of the bands of Σ2, and rows of a group of Σ3; by default fewer for a short prompt")
		fs.IntVar(&o.settings.Tokens, "groups", 2, "groups in a matrix of Σ3; by default fewer for a very short prompt")
		fs.Float64Var(&o.settings.Drop, "drop", 0.3, "probability that an entry of a band is dropped")
		fs.Float64Var(&o.settings.Epsilon, "epsilon", 0.05, "largest error that is added to a draw")
		fs.Float64Var(&o.settings.Share, "share", 0.1, "probability that an entry has an error")
		fs.IntVar(&o.settings.Draws, "draws", 30, "draws from each set")
		fs.Uint64Var(&o.settings.Seed, "seed", 1337, "of the draws")
	})
	program.Group(fs, "Where an answer comes from", func(fs *flag.FlagSet) {
		fs.StringVar(&o.corrupt, "corrupt", "", "text with the same number of tokens as -prompt and another answer")
		fs.StringVar(&o.right, "right", "", "token that answers the prompt")
		fs.StringVar(&o.wrong, "wrong", "", "another token, whose logit is subtracted from that of the right one")
	})
	program.Group(fs, "The measurements of runs", func(fs *flag.FlagSet) {
		fs.StringVar(&o.runs, "runs", "", "directories of runs, separated by commas: a page with common charts")
		fs.StringVar(&o.serve, "serve", "",
			"show the runs as they continue, at an address such as :8080, instead of writing a page")
	})
	program.Group(fs, "The curvature of the loss", func(fs *flag.FlagSet) {
		fs.BoolVar(&o.curvature, "curvature", false,
			"the largest eigenvalue of the Hessian of the training loss, and the learning rate that it allows")
	})
	program.Group(fs, "The loss without a part", func(fs *flag.FlagSet) {
		fs.StringVar(&o.ablate, "ablate", "",
			"the parts to leave out one by one: heads, attention or mlp, of every block")
		fs.BoolVar(&o.mean, "mean", false, "replace a part by its mean over the text instead of 0")
		fs.StringVar(&o.data, "data", "",
			"text whose validation split, or with -curvature its training split, gives the loss; by default the run's")
		fs.IntVar(&o.tokens, "tokens", 10000, "largest number of its tokens")
		fs.StringVar(&o.picture, "picture", "",
			"file for the picture; by default ablation.png, with -corrupt patching.png, with -forms attention.png")
	})
	if err := program.Parse(fs, args); err != nil {
		return o, err
	}
	if _, ok := places()[o.ablate]; !ok {
		return o, program.Want(false, "ablate", o.ablate, "heads, attention or mlp")
	}
	if o.prompt == "" && o.ablate == "" && o.runs == "" && !o.curvature {
		return o, errors.New(
			"nothing to do: want some of -prompt, -ablate and -curvature, or -runs; -help lists the flags")
	}
	if o.runs != "" && (o.prompt != "" || o.ablate != "" || o.curvature) {
		return o, errors.New("-runs: it shows the measurements of runs; want no -prompt, -ablate or -curvature with it")
	}
	o.given = program.Given(fs)
	switch {
	case o.picture == "" && o.forms:
		o.picture = "attention.png"
	case o.picture == "" && o.corrupt == "":
		o.picture = "ablation.png"
	}
	for _, flag := range []string{"data", "tokens"} {
		if o.given[flag] && o.ablate == "" && !o.curvature {
			return o, errors.Errorf("-%s: read only by -ablate and -curvature, neither of which is given", flag)
		}
	}
	for _, flag := range []string{"mean", "picture"} {
		if o.given[flag] && o.ablate == "" && !(flag == "picture" && (o.corrupt != "" || o.forms)) {
			return o, errors.Errorf("-%s: read only by -ablate, which is not given", flag)
		}
	}
	for _, flag := range []string{"width", "groups", "drop", "epsilon", "share", "draws", "seed"} {
		if o.given[flag] && !o.forms {
			return o, errors.Errorf("-%s: read only by -forms, which is not given", flag)
		}
	}
	if o.forms && (o.prompt == "" || o.ablate != "" || o.corrupt != "") {
		return o, errors.New("-forms: give -prompt, without -ablate and -corrupt")
	}
	patching := o.corrupt != "" && o.right != "" && o.wrong != "" && o.prompt != "" && o.ablate == "" && o.page == "" &&
		!o.curvature
	if given := o.corrupt + o.right + o.wrong; given != "" && !patching {
		return o, errors.New(
			"-corrupt, -right and -wrong: give all three and -prompt, without -ablate, -curvature and -page")
	}
	if o.given["page"] && o.prompt == "" && o.runs == "" {
		return o, errors.New("-page: read only by -prompt or -runs, which are not given")
	}
	if o.given["serve"] && o.runs == "" {
		return o, errors.New("-serve: read only by -runs, which is not given")
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
		if err != nil && !errors.Is(err, syscall.EPIPE) { // the picture of -ablate may still be wanted
			return err
		}
	}
	if o.ablate != "" {
		err = program.Printed(stdout, func(w io.Writer) error { return ablate(ctx, w, stderr, o, cp, m, tok) })
	}
	if err != nil || !o.curvature {
		return err
	}
	return program.Printed(stdout, func(w io.Writer) error { return curvature(ctx, w, stderr, o, cp, m, tok) })
}
