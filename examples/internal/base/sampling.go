package base

import (
	"flag"

	"github.com/pedestrian-ml/pedestrian/gpt/search"
)

// Sampling holds the settings of a search.Sampler that the flags of a program choose.
type Sampling struct {
	Temperature, TopP, MinP, Repetition float64
	TopK                                int
}

// SamplingOfNanoGPT returns the settings of nanoGPT's sample.py.
func SamplingOfNanoGPT() Sampling {
	return Sampling{Temperature: 0.8, TopP: 1, Repetition: 1, TopK: 200}
}

// Flags adds the flags of sampling, with the settings as defaults.
func (s *Sampling) Flags(fs *flag.FlagSet) {
	fs.Float64Var(&s.Temperature, "temperature", s.Temperature, "of sampling; 0 takes the likeliest token")
	fs.IntVar(&s.TopK, "top_k", s.TopK, "number of likeliest tokens to sample among; 0 means all")
	fs.Float64Var(&s.TopP, "top_p", s.TopP, "sample among the likeliest tokens with this total probability")
	fs.Float64Var(&s.MinP, "min_p", s.MinP,
		"sample among tokens with at least this fraction of the likeliest token's probability")
	fs.Float64Var(&s.Repetition, "repetition_penalty", s.Repetition,
		"above 1 makes tokens that are already in the text less likely; 1 is none")
}

// Sampler returns a Sampler with the settings.
func (s Sampling) Sampler(seed uint64) *search.Sampler {
	r := search.NewSampler(seed)
	r.Temperature, r.TopK, r.TopP, r.MinP, r.RepetitionPenalty = s.Temperature, s.TopK, s.TopP, s.MinP, s.Repetition
	return r
}
