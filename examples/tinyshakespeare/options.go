package main

import (
	"io"
	"os"

	"github.com/pedestrian-ml/pedestrian/examples/internal/program"
	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/text"
	"github.com/pkg/errors"
)

// options are the flags that are not the Config's.
type options struct {
	data, config, prompt string
	tokenizer            string
	resume, sampleOnly   bool
	stop                 []string
	tokens, topK         int
	temperature, topP    float64
	minP, penalty        float64
}

// parse reads the flags over the -config file over the recipe.
func parse(args []string, stderr io.Writer) (c gpt.Config, o options, err error) {
	c = gpt.Shakespeare()
	fs := program.Flags("tinyshakespeare", stderr)
	c.Flags(fs)
	fs.StringVar(&o.data, "data", "",
		"text file to train on, or directory of texts or token shards; by default tinyshakespeare, downloaded once")
	fs.StringVar(&o.tokenizer, "tokenizer", text.Kinds()[0].Name, "of the text: "+text.KindNames()+"; shards have one")
	fs.StringVar(&o.config, "config", "", "JSON file of settings, overridden by flags")
	fs.BoolVar(&o.resume, "resume", false, "continue from the newest checkpoint in out_dir")
	fs.BoolVar(&o.sampleOnly, "sample_only", false, "only let the newest checkpoint in out_dir write")
	fs.StringVar(&o.prompt, "prompt", "\n", "what a sample begins with")
	fs.Func("stop", "text that ends a sample, and is left out; may be given several times", func(s string) error {
		if o.stop = append(o.stop, s); s == "" {
			return errors.New("empty, want at least one character")
		}
		return nil
	})
	fs.IntVar(&o.tokens, "tokens", 500, "length of a sample; 0 is none")
	fs.Float64Var(&o.temperature, "temperature", 0.8, "of sampling; 0 takes the likeliest")
	fs.IntVar(&o.topK, "top_k", 200, "number of likeliest tokens to sample among; 0 is all")
	fs.Float64Var(&o.topP, "top_p", 1, "sample among the likeliest tokens of this probability together")
	fs.Float64Var(&o.minP, "min_p", 0, "sample among tokens at least this times as likely as the likeliest")
	fs.Float64Var(&o.penalty, "repetition_penalty", 1, "above 1 makes tokens that are in the text already less likely")
	if err = program.Parse(fs, args); err != nil {
		return c, o, err
	}
	if o.config != "" {
		f, err := os.Open(o.config)
		if err != nil {
			return c, o, err
		}
		defer f.Close()
		if c, err = gpt.ReadConfig(f, c); err != nil {
			return c, o, errors.Wrap(err, o.config)
		}
		if err = fs.Parse(args); err != nil {
			return c, o, err
		}
	}
	return c, o, o.sampler(c.Seed).Validate()
}

func (o options) sampler(seed uint64) *gpt.Sampler {
	s := gpt.NewSampler(seed)
	s.Temperature, s.TopK, s.TopP, s.MinP, s.RepetitionPenalty = o.temperature, o.topK, o.topP, o.minP, o.penalty
	return s
}
