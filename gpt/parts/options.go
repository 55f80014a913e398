package parts

import (
	"maps"

	"github.com/pedestrian-ml/pedestrian/gpt/internal/field"
	"github.com/pedestrian-ml/pedestrian/nn"
)

// Option is a whole number, 0 or more, that an attention reads beside the sizes of a Stack. It is declared with the
// attention, and configurations, flags and checkpoints have it under its name. Attentions may share one.
type Option struct {
	Name, Help string
	Default    func(s Stack) int              // in place of 0; s has its sizes; nil is 0
	Check      func(got int, d nn.Dims) error // what is impossible, naming the option and both numbers; nil is nothing

	optional bool // JSON leaves out 0, as it did before there was the option
}

// Options are the numbers that have been set, by name. A copy does not change with the original.
type Options struct{ set map[string]int }

// Get is the option of that name, 0 if it is not set.
func (o Options) Get(name string) int { return o.set[name] }

// Set changes one option.
func (o *Options) Set(name string, n int) {
	if o == nil {
		return
	}
	next := maps.Clone(o.set)
	if next == nil {
		next = map[string]int{}
	}
	if next[name] = n; n == 0 {
		delete(next, name)
	}
	o.set = next
}

// Equal says whether the same options are set to the same numbers.
func (o Options) Equal(p Options) bool { return maps.Equal(o.set, p.set) }

// resolved is what the attention reads, with defaults.
func (o Options) resolved(list []Option, s Stack) (out Options) {
	for _, option := range list {
		n := o.Get(option.Name)
		if n == 0 && option.Default != nil {
			n = option.Default(s)
		}
		out.Set(option.Name, n)
	}
	return out
}

// variable is an option as a field of a configuration.
type variable struct {
	options *Options
	name    string
}

func (v variable) Get() int  { return v.options.Get(v.name) }
func (v variable) Set(n int) { v.options.Set(v.name, n) }

// fields are the options of all attentions, each once.
func (o *Options) fields(attentions []Attention) (list field.List) {
	for _, a := range attentions {
		for _, option := range a.Options {
			if _, ok := list.Find(option.Name); !ok {
				f := field.New(option.Name, variable{o, option.Name}, field.Size(0), option.Help)
				if option.optional {
					f = f.Optional()
				}
				list = append(list, f)
			}
		}
	}
	return list
}
