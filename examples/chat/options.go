package main

import (
	"flag"
	"io"
	"maps"
	"math/rand/v2"
	"net/url"
	"slices"
	"strings"

	"github.com/pedestrian-ml/pedestrian/examples/internal/base"
	"github.com/pedestrian-ml/pedestrian/examples/internal/folder"
	"github.com/pedestrian-ml/pedestrian/examples/internal/program"
	"github.com/pedestrian-ml/pedestrian/gpt/search"
	"github.com/pedestrian-ml/pedestrian/graph/stored"
	"github.com/pedestrian-ml/pedestrian/internal/spelling"
	"github.com/pkg/errors"
)

// options holds the values of the flags.
type options struct {
	model, adapter, template, system string
	weights                          stored.Packing // empty means float32
	blockSize, tokens                int
	cut                              bool
	sampling                         sampling
	serve, key, alias, cors, pooling string
	lanes, queue                     int
	body                             int64
	isolate, log                     bool
}

// sampling holds the settings of a search.Sampler.
type sampling struct {
	base.Sampling
	seed                uint64  // 0 means another one for each answer
	frequency, presence float64 // penalties
}

func (s sampling) sampler() *search.Sampler {
	for s.seed == 0 {
		s.seed = rand.Uint64()
	}
	r := s.Sampler(s.seed)
	r.FrequencyPenalty, r.PresencePenalty = s.frequency, s.presence
	return r
}

// The largest values of flags.
const (
	mostTokens = 1 << 20
	mostLanes  = 1 << 10
	mostQueued = 1 << 16
	mostBody   = 1 << 30
)

// flags returns the flags of the program.
func (o *options) flags(stderr io.Writer) *program.FlagSet {
	fs := program.Flags("chat", stderr)
	fs.Group("model", "the model", func(fs *flag.FlagSet) {
		folder.ModelFlags(fs, &o.model, &o.adapter)
		fs.StringVar((*string)(&o.weights), "weights", "", "keep the weights in fewer bits: bf16, int8 or int4")
		folder.TemplateFlag(fs, &o.template)
		fs.IntVar(&o.blockSize, "block_size", 0,
			"tokens of a conversation; 0 means the model's context, at most 4096")
	})
	fs.Group("answers", "answers; a request to the server may say otherwise", func(fs *flag.FlagSet) {
		fs.IntVar(&o.tokens, "tokens", 512, "the largest number of tokens of an answer")
		o.sampling.Flags(fs)
		fs.Uint64Var(&o.sampling.seed, "seed", 0, "of sampling; 0 means another one for each answer")
		fs.BoolVar(&o.cut, "cut", false,
			"leave the earliest messages out of a conversation that is longer than block_size, instead of refusing it")
		fs.StringVar(&o.system, "system", "", "the system message of a conversation in the terminal")
	})
	fs.Group("server", "the server", func(fs *flag.FlagSet) {
		fs.StringVar(&o.serve, "serve", "",
			"address such as :8080, which is for this machine alone; 0.0.0.0:8080 is for others, too")
		fs.StringVar(&o.key, "key", "", "the key that clients must send; by default none")
		fs.StringVar(&o.alias, "alias", "", "the name of the model in requests and answers, or several with commas "+
			"between them; by default the folder's")
		fs.StringVar(&o.cors, "cors", "",
			"an origin such as https://example.org whose pages may use the server; * is all")
		fs.StringVar(&o.pooling, "pooling", "mean",
			"the embedding of a text: the mean of its tokens' hidden values, or the last")
		fs.BoolVar(&o.log, "log", false,
			"log each request with its status, its tokens and its times, without its content")
		fs.IntVar(&o.lanes, "lanes", 8, "number of answers that are written at once")
		fs.IntVar(&o.queue, "queue", 64, "number of requests that wait for a lane")
		fs.Int64Var(&o.body, "body", 1<<20, "the largest number of bytes of a request")
		fs.BoolVar(&o.isolate, "isolate", false, "start every prompt from nothing, unless its request has the "+
			"cache_salt of an earlier one: without it, the time of an answer tells how another client's prompt began")
	})
	fs.Often("model adapter template weights block_size tokens temperature top_k top_p system seed cut serve key lanes")
	return fs
}

func parse(args []string, stderr io.Writer) (o options, err error) {
	o.sampling.Sampling = base.Sampling{Temperature: 0.7, TopP: 0.95, Repetition: 1}
	fs := o.flags(stderr)
	if err := fs.Parse(args); err != nil {
		return o, err
	}
	given := fs.Given()
	for _, name := range []string{"key", "alias", "cors", "log", "pooling", "lanes", "queue", "body", "isolate"} {
		if given[name] && o.serve == "" {
			return o, errors.Errorf("-%s: read with -serve alone; give both", name)
		}
	}
	if given["system"] && o.serve != "" {
		return o, errors.New("-system: not read with -serve: a request has its own system message")
	}
	return o, o.check()
}

func (o options) check() error {
	for _, size := range []struct {
		name             string
		got, least, most int64
	}{
		{"block_size", int64(o.blockSize), 0, mostTokens}, {"tokens", int64(o.tokens), 1, mostTokens},
		{"lanes", int64(o.lanes), 1, mostLanes}, {"queue", int64(o.queue), 0, mostQueued},
		{"body", o.body, 1, mostBody},
	} {
		if size.got < size.least || size.got > size.most {
			return errors.Errorf("-%s: got %d, want %d to %d", size.name, size.got, size.least, size.most)
		}
	}
	if o.alias != "" && slices.Contains(strings.Split(o.alias, ","), "") {
		return errors.Errorf("-alias: got %q, want names with commas between them", o.alias)
	}
	if poolings()[o.pooling] == nil {
		return errors.Errorf("-pooling: got %q, want mean or last%s", o.pooling,
			spelling.Hint(o.pooling, slices.Collect(maps.Keys(poolings()))))
	}
	if err := checkOrigin(o.cors); err != nil {
		return err
	}
	if o.weights != "" {
		if err := o.weights.Validate(); err != nil {
			return errors.Wrap(err, "-weights")
		}
	}
	return o.sampling.sampler().Validate()
}

// checkOrigin returns an error unless s is empty, * or an origin.
func checkOrigin(s string) error {
	if s == "" || s == "*" {
		return nil
	}
	u, err := url.Parse(s)
	if err != nil || u.Host == "" || u.Scheme+"://"+u.Host != s {
		return errors.Errorf("-cors: got %q, want an origin such as https://example.org, or *", s)
	}
	return nil
}
