package parts

import (
	"maps"
	"slices"
	"strings"

	"github.com/pedestrian-ml/pedestrian/gpt/internal/field"
	"github.com/pedestrian-ml/pedestrian/nn"
	"github.com/pkg/errors"
)

// Option is a whole number, 0 or more, that an attention reads in addition to the sizes of a Stack. It is declared with
// the attention, and has the same name in configurations, flags and checkpoints. Attentions may share an option.
type Option struct {
	Name, Help string
	Default    func(s Stack) int              // optional value in place of 0; the sizes of s are set
	Check      func(got int, d nn.Dims) error // optional; its error names the option and both numbers

	optional bool // JSON leaves out 0, as it did before the option existed
}

// Options holds the options that have been set, by name. A copy does not change with the original.
type Options struct {
	set      map[string]int
	required map[string]bool // options that the attention must read
}

// Get returns the option of that name, or 0 if it is not set.
func (o Options) Get(name string) int { return o.set[name] }

// Set changes one option that the attention must read: a configuration whose attention does not read it is refused. 0
// removes the option.
func (o *Options) Set(name string, n int) { o.put(name, n, true) }

// Offer changes one option that only counts if the attention reads it. Recipes and files contain such options for all
// attentions.
func (o *Options) Offer(name string, n int) { o.put(name, n, false) }

func (o *Options) put(name string, n int, required bool) {
	if o == nil {
		return
	}
	next, all := maps.Clone(o.set), maps.Clone(o.required)
	if next == nil {
		next = map[string]int{}
	}
	if all == nil {
		all = map[string]bool{}
	}
	next[name], all[name] = n, true
	if n == 0 {
		delete(next, name)
	}
	if n == 0 || !required {
		delete(all, name)
	}
	o.set, o.required = next, all
}

// Equal reports whether the same options are set to the same numbers.
func (o Options) Equal(p Options) bool { return maps.Equal(o.set, p.set) }

// resolved returns the options that the attention reads, with defaults.
func (o Options) resolved(list []Option, s Stack) (out Options) {
	for _, option := range list {
		n := o.Get(option.Name)
		if n == 0 && option.Default != nil {
			n = option.Default(s)
		}
		out.Offer(option.Name, n)
	}
	return out
}

// check refuses the first option, in the order of the names, that was set but that none of the named attentions reads.
func (o Options) check(attentions []Attention, names []string) error {
	for _, name := range slices.Sorted(maps.Keys(o.required)) {
		var readers []string
		for _, a := range attentions {
			reads := slices.ContainsFunc(a.Options, func(p Option) bool { return p.Name == name })
			if reads && !slices.Contains(readers, a.String()) {
				readers = append(readers, a.String())
			}
		}
		switch {
		case slices.ContainsFunc(names, func(name string) bool { return slices.Contains(readers, name) }):
		case len(readers) > 0:
			return errors.Errorf("%s: got %d, which attention %s does not read, want 0 or attention %s",
				name, o.Get(name), strings.Join(names, ","), strings.Join(readers, ", "))
		default:
			options := o.fields(attentions)
			return errors.Errorf("%s: got %d: no attention has such an option; %s",
				field.Clip(name), o.Get(name), options.Nearest(name))
		}
	}
	return nil
}

// variable makes an option a field of a configuration.
type variable struct {
	options *Options
	name    string
}

func (v variable) Get() int  { return v.options.Get(v.name) }
func (v variable) Set(n int) { v.options.Set(v.name, n) }

// Read is Set for a file, which contains the options of all attentions.
func (v variable) Read(n int) { v.options.Offer(v.name, n) }

// fields returns the options of all attentions, each once.
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
