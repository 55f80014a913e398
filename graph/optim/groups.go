package optim

import (
	"path"
	"slices"

	"github.com/pkg/errors"
)

// Groups is a Rule that updates groups of parameters by a Rule each: a parameter belongs to the first Group that has
// it. If no Group has a parameter, New returns an error.
type Groups struct {
	Name string // for errors
	List []Group
}

// Group is a set of parameters and their Rule.
type Group struct {
	Names    []string // patterns of path.Match such as "h.*.c_fc.*", where * also matches dots; none means all names
	Matrices bool     // only parameters with two axes
	Rule     Rule
}

// State returns the State of the group that keeps the most moments, under the name of g. The error of a setting names
// the group's Rule.
func (g Groups) State() (all State, err error) {
	all.Name = g.Name
	for i, group := range g.List {
		if group.Rule == nil {
			return all, errors.Errorf("group %d: got no rule (nil), want one such as AdamW", i)
		}
		s, err := group.Rule.State()
		if _, averaging := group.Rule.(Averaging); averaging && err == nil {
			err = errors.New("averages all weights of a model: want it alone, not in Groups")
		}
		if err == nil {
			err = group.check()
		}
		if err != nil {
			return all, errors.WithMessagef(err, "group %d, %s", i, s.Name)
		}
		all.Moments, all.Whole = max(all.Moments, s.Moments), all.Whole || s.Whole
	}
	return all, nil
}

func (g Group) check() error {
	for _, pattern := range g.Names {
		if _, err := path.Match(pattern, ""); err != nil {
			return errors.Errorf("names: got %q, want a name, * for any letters, ? for one, [a-b] for one of a range",
				pattern)
		}
	}
	return nil
}

// has reports whether a parameter belongs to g.
func (g Group) has(name string, shape []int) bool {
	matches := func(pattern string) bool {
		ok, err := path.Match(pattern, name)
		return ok && err == nil
	}
	return (!g.Matrices || len(shape) == 2) && (len(g.Names) == 0 || slices.ContainsFunc(g.Names, matches))
}

// find returns the group of a parameter.
func (g Groups) find(name string, shape []int) (group Group, ok bool) {
	i := slices.IndexFunc(g.List, func(group Group) bool { return group.has(name, shape) })
	if i < 0 || g.List[i].Rule == nil {
		return group, false
	}
	return g.List[i], true
}

// Step applies the Rule of the parameter's group. It does nothing if there is none.
func (g Groups) Step(s Step) {
	if group, ok := g.find(s.Name, s.W.Shape); ok {
		group.Rule.Step(s)
	}
}

// StateOf returns the State that a Rule has for a parameter, or an error if the Rule cannot update it.
func StateOf(rule Rule, name string, shape []int) (s State, err error) {
	if g, ok := rule.(Groups); ok {
		group, ok := g.find(name, shape)
		if !ok {
			return s, errors.Errorf("%s of shape %v belongs to no group", name, shape)
		}
		s, err = StateOf(group.Rule, name, shape)
		return s, errors.WithMessage(err, s.Name)
	}
	if rule == nil {
		return s, errors.New("got no rule (nil), want one such as AdamW")
	}
	s, err = rule.State()
	switch {
	case err != nil:
	case s.Moments < 0 || s.Moments > 2:
		err = errors.Errorf("got %d moments, want 0 to 2", s.Moments)
	case s.matrix && len(shape) != 2:
		err = errors.Errorf("%s has shape %v, want a matrix: Groups give other parameters another rule", name, shape)
	case s.Further != nil && !s.Whole:
		err = errors.New("further tensors: want Whole, because a piece of a parameter has no part of them")
	}
	return s, err
}
