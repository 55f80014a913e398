package main

import (
	"flag"
	"io"
	"time"

	"github.com/pedestrian-ml/pedestrian/examples/internal/base"
	"github.com/pedestrian-ml/pedestrian/examples/internal/program"
	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/dist"
	"github.com/pedestrian-ml/pedestrian/gpt/text"
	"github.com/pedestrian-ml/pedestrian/gpt/text/bpe"
	"github.com/pedestrian-ml/pedestrian/graph/stored"
	"github.com/pedestrian-ml/pedestrian/internal/file"
	"github.com/pkg/errors"
)

// options holds the flags that are not the Config's.
type options struct {
	data, config, prompt string
	model                string
	tokenizer, serve     string
	preset               string
	resume, sampleOnly   bool
	curvature            bool
	stop                 []string
	tokens               int
	sampling             base.Sampling
	logInterval          int             // 0 means about fifty lines
	given                map[string]bool // names of flags
	weights              stored.Packing  // empty means float32
	ranks                dist.Options
	keep                 int // the number of earlier checkpoints that stay
}

// parse reads the flags over the -config file, this over the -preset, and this over c.
func parse(c gpt.Config, args []string, stderr io.Writer) (gpt.Config, options, error) {
	o := options{sampling: base.SamplingOfNanoGPT()}
	logInterval := c.LogInterval
	fs := program.Flags("tinyshakespeare", stderr)
	fs.Group("network", "the network, its training and the run, by nanoGPT's names", c.Flags)
	fs.Group("text", "the text, and what to do", func(fs *flag.FlagSet) {
		fs.StringVar(&o.data, "data", "",
			"text file to train on, or directory of texts or token shards; by default tinyshakespeare, downloaded once")
		fs.StringVar(&o.tokenizer, "tokenizer", text.Kinds()[0].Name,
			"of the text: "+text.KindNames(bpe.Kind())+"; shards have their own")
		base.PresetFlag(fs, &o.preset)
		fs.StringVar(&o.config, "config", "", "JSON file of settings, overridden by flags")
		fs.BoolVar(&o.resume, "resume", false, "continue from the newest checkpoint in out_dir, with its settings")
		fs.IntVar(&o.keep, "keep_checkpoints", 1, "number of checkpoints before the newest that stay in out_dir, "+
			"where examples/verify -replay -segments begins; -resume keeps as many as there are")
		fs.StringVar(&o.serve, "serve", "",
			"show the run in a browser, at an address such as :8080 (of this machine alone) or :0 (any free port)")
		fs.BoolVar(&o.curvature, "curvature", false,
			"at each evaluation measure the largest eigenvalue of the Hessian of the loss on the first training batch")
		fs.BoolVar(&o.sampleOnly, "sample_only", false, "only print a sample of the newest checkpoint in out_dir")
		fs.StringVar(&o.model, "model", "", "only print a sample of the model in this directory")
	})
	fs.Group("sampling", "sampling, after the training or alone", func(fs *flag.FlagSet) {
		fs.StringVar(&o.prompt, "prompt", "\n", "beginning of a sample")
		fs.IntVar(&o.tokens, "tokens", 500, "length of a sample; 0 means none")
		o.sampling.Flags(fs)
		fs.StringVar((*string)(&o.weights), "weights", "",
			"keep the weights in fewer bits: "+
				"bf16, int8 with a scale for every output, or int4 with one for every 32 inputs")
		fs.Func("stop", "text that ends a sample and is left out; may be repeated", func(s string) error {
			if o.stop = append(o.stop, s); s == "" {
				return errors.New("empty, want at least one character")
			}
			return nil
		})
	})
	fs.Group("ranks", "several ranks, of a program built with -tags mpi", func(fs *flag.FlagSet) {
		fs.DurationVar(&o.ranks.Timeout, "timeout", time.Minute,
			"how long a rank waits for another one; 0 means for ever")
		fs.BoolVar(&o.ranks.Fast, "fast_reduce", false,
			"add gradients in MPI's own order: possibly faster, but the digits depend on the number of ranks")
	})
	fs.LogInterval()
	fs.Often("preset data tokenizer n_layer n_head n_embd block_size attention position norm optimizer learning_rate " +
		"batch_size max_iters eval_interval seed threads out_dir resume serve model prompt tokens temperature")
	c.LogInterval = -1 // not given
	if err := fs.Parse(args); err != nil {
		return c, o, err
	}
	o.given, o.sampleOnly = fs.Given(), o.sampleOnly || o.model != ""
	if o.preset != "" || o.config != "" {
		if err := base.Preset(o.preset, &c); err != nil {
			return c, o, err
		}
		if o.preset != "" {
			logInterval, c.LogInterval = c.LogInterval, -1
		}
		if err := o.read(&c); err != nil {
			return c, o, err
		}
		o.stop = nil
		if err := fs.Parse(args); err != nil { // again, because flags override both
			return c, o, err
		}
	}
	if c.LogInterval == -1 {
		c.LogInterval = logInterval
	} else {
		o.logInterval = c.LogInterval
	}
	if _, err := text.KindOf(o.tokenizer, bpe.Kind()); err != nil {
		return c, o, errors.Wrap(err, "-tokenizer")
	}
	if o.weights != "" {
		if err := o.weights.Validate(); err != nil {
			return c, o, errors.Wrap(err, "-weights")
		}
	}
	if o.keep < 1 {
		return c, o, errors.Errorf("-keep_checkpoints: got %d, want at least 1", o.keep)
	}
	if o.serve != "" && o.sampleOnly {
		return c, o, errors.New("-serve: it shows a training, but -sample_only does not train")
	}
	if o.curvature && o.sampleOnly {
		return c, o, errors.New("-curvature: it measures a training, but -sample_only does not train")
	}
	if o.samples() && o.prompt == "" {
		return c, o, errors.New("-prompt: empty; give at least one character, such as a newline")
	}
	if err := base.CheckTraining(c.Training, c.Run); err != nil { // the only check of c with -sample_only
		return c, o, err
	}
	return c, o, o.sampling.Sampler(c.Seed).Validate()
}

// samples reports whether the program draws samples: at the end, or for -serve.
func (o options) samples() bool { return o.tokens > 0 || o.serve != "" }

// read reads the -config file, if there is one, into c.
func (o options) read(c *gpt.Config) error {
	if o.config == "" {
		return nil
	}
	f, err := file.Open(o.config)
	if err != nil {
		return errors.Wrap(err, "-config")
	}
	defer f.Close()
	*c, err = gpt.ReadConfig(f, *c)
	return errors.Wrapf(err, "-config %s", o.config)
}
