// Inspect looks inside a trained model: its prediction after every block, the attention of every head or the gates and
// states of its recurrence, and its loss without a head, or a block's attention or MLP. It also shows several runs in
// common charts.
//
//	go run ./examples/inspect look -prompt "To be or not to be"   # tables and a page of the model in out/ on the text
//	go run ./examples/inspect forms -prompt "To be"               # a heatmap of every head, beside prescribed forms
//	go run ./examples/inspect ablate -parts heads                 # the loss without each head, and a picture
//	go run ./examples/inspect ablate -parts mlp -mean             # with each MLP replaced by its mean output
//	go run ./examples/inspect patch -prompt "the ki" -corrupt "the mi" -right n -wrong l   # sources of an answer
//	go run ./examples/inspect curvature                           # the largest eigenvalue of the loss's Hessian
//	go run ./examples/inspect explore -serve :8080                # a page to remove parts, patch places, find neurons
//	go run ./examples/inspect runs -model out,out2                # a page with the measurements of two runs
package main

import (
	"context"
	"flag"
	"io"

	"github.com/pedestrian-ml/pedestrian/examples/internal/base"
	"github.com/pedestrian-ml/pedestrian/examples/internal/folder"
	"github.com/pedestrian-ml/pedestrian/examples/internal/program"
	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/checkpoint"
	"github.com/pedestrian-ml/pedestrian/gpt/published"
	"github.com/pedestrian-ml/pedestrian/gpt/text"
	"github.com/pedestrian-ml/pedestrian/graph"
)

func main() { program.Main("inspect", run) }

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	return program.Commands("inspect", []program.Command{
		{Name: "look", About: "what a model predicts after every block, its heads and its states on a text",
			Run: runLook},
		{Name: "forms", About: "every head as a heatmap, and its distances from prescribed forms", Old: "forms",
			Run: runForms},
		{Name: "ablate", About: "the loss without each head, attention or MLP", Old: "ablate", Run: runAblate},
		{Name: "patch", About: "where the answer to a prompt comes from", Old: "corrupt right wrong", Run: runPatch},
		{Name: "curvature", About: "the largest eigenvalue of the Hessian of the loss", Old: "curvature",
			Run: runCurvature},
		{Name: "explore", About: "a page on which parts are removed and places patched", Run: runExplore},
		{Name: "runs", About: "the measurements of several runs in common charts", Old: "runs serve", Run: runRuns},
	})(ctx, args, stdout, stderr)
}

// subject is a model with the flags that several commands share.
type subject struct {
	dir, prompt, data, picture string // flags
	tokens                     int    // flag

	cp  *checkpoint.Checkpoint
	m   *gpt.Model
	tok text.Tokenizer
}

// flags returns the flags of a command, with -model among them.
func (s *subject) flags(name string, stderr io.Writer) *program.FlagSet {
	fs := program.Flags("inspect "+name, stderr)
	fs.Group("model", "the model", func(fs *flag.FlagSet) {
		fs.StringVar(&s.dir, "model", "out", "directory of a run, or folder of a published model")
	})
	fs.Old("checkpoint", "model")
	return fs
}

// promptFlag adds -prompt.
func (s *subject) promptFlag(fs *flag.FlagSet) {
	fs.StringVar(&s.prompt, "prompt", "", "text of at most block_size tokens")
}

// pictureFlag adds -picture.
func (s *subject) pictureFlag(fs *flag.FlagSet, name string) {
	fs.StringVar(&s.picture, "picture", name, "file for the picture")
}

// dataFlags adds the flags of the text that gives a loss.
func (s *subject) dataFlags(fs *program.FlagSet, split string) {
	fs.Group("data", "the text", func(fs *flag.FlagSet) {
		fs.StringVar(&s.data, "data", "", "text whose "+split+" split gives the loss; by default the run's")
		fs.IntVar(&s.tokens, "data_tokens", 10000, "largest number of its tokens")
	})
	fs.Old("tokens", "data_tokens")
}

// open opens the model, and calls do with an output that is passed on afterwards, as program.Printed does.
func (s *subject) open(stdout, stderr io.Writer, do func(w io.Writer) error) (err error) {
	if s.cp, err = folder.Kind("./examples/tinyshakespeare").Load(s.dir, stderr); err != nil {
		return err
	}
	defer s.cp.Close()
	files, err := published.SourceOf(s.cp)
	if err == nil {
		s.m, s.tok, err = base.Open(graph.New(graph.Float32, 1), files)
	}
	if err != nil {
		return err
	}
	return program.Printed(stdout, do)
}
