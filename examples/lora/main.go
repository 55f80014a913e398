// Lora tunes a trained model on another text by low-rank adapters (Hu et al. 2021), shows the cost and how much is
// forgotten, merges the adapters into the weights and saves both.
//
//	go run ./examples/lora                                     # on weather reports; trains a model if out/ has none
//	go run ./examples/lora -data other.txt -lora_r 4           # on another text, with adapters of rank 4
//	go run ./examples/lora -lora_targets c_attn -max_iters 600 # only of the attention's projections
//
// The result is saved to out_dir. Ctrl-C saves the adapters as they are.
package main

import (
	"cmp"
	"context"
	"flag"
	"io"

	"github.com/pedestrian-ml/pedestrian/examples/internal/base"
	"github.com/pedestrian-ml/pedestrian/examples/internal/program"
	"github.com/pedestrian-ml/pedestrian/gpt"
)

func main() { program.Main("lora", run) }

// options holds the flags that are not the Config's.
type options struct {
	checkpoint, data, baseData, prompt string
	baseIters, tokens                  int
	args                               []string        // all given arguments
	given                              map[string]bool // names of flags
}

// recipe returns the tuning; its network is used if there is no checkpoint.
func recipe() gpt.Config {
	c := gpt.Shakespeare()
	c.LoraR, c.LoraAlpha, c.OutDir = 8, 32, "out/lora"
	c.MaxIters, c.LRDecayIters, c.WarmupIters, c.LearningRate, c.MinLR = 250, 250, 10, 5e-3, 5e-4
	return c
}

// parse reads the flags into c and o.
func parse(c *gpt.Config, args []string, stderr io.Writer) (o options, err error) {
	fs := program.Flags("lora", stderr)
	program.Group(fs, "The adapters, their training, and the network if one is trained", c.Flags,
		"eval_interval", "eval_iters", "log_interval", "vocab_size")
	program.Group(fs, "The model and the texts", func(fs *flag.FlagSet) {
		fs.StringVar(&o.checkpoint, "checkpoint", "out",
			"directory of a trained model; if it holds none, one is trained in out_dir/base")
		fs.StringVar(&o.data, "data", "", "text to tune on; by default weather reports")
		fs.StringVar(&o.baseData, "base_data", "",
			"text that the model was trained on, to measure what it forgets; by default tinyshakespeare")
		fs.IntVar(&o.baseIters, "base_iters", 400, "steps of training if there is no checkpoint")
	})
	program.Group(fs, "Sampling, before and after", func(fs *flag.FlagSet) {
		fs.StringVar(&o.prompt, "prompt", "\n", "beginning of the samples")
		fs.IntVar(&o.tokens, "tokens", 160, "length of the samples; 0 means none")
	})
	o.args = args
	if err := program.Parse(fs, args); err != nil {
		return o, err
	}
	o.given = program.Given(fs)
	return o, cmp.Or(program.Want(c.LoraR >= 1, "lora_r", c.LoraR, "1 or more"), base.CheckTraining(c.Training, c.Run))
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	c := recipe()
	o, err := parse(&c, args, stderr)
	if err != nil {
		return err
	}
	b, err := begin(ctx, c, o, stderr)
	if err != nil {
		return err
	}
	defer b.checkpoint.Close()
	c = b.tuning()
	if _, err := parse(&c, args, stderr); err != nil { // flags override the checkpoint
		return err
	}
	t, err := b.fineTune(ctx, c, o, stdout)
	if err != nil {
		return err
	}
	if err := t.train(ctx, stdout, stderr); err != nil {
		return t.keep(ctx, err)
	}
	return t.finish(ctx, stdout)
}
