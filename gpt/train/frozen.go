package train

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"github.com/pedestrian-ml/pedestrian/gpt/internal/field"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/internal/spelling"
	"github.com/pkg/errors"
)

// Frozen is a list of patterns of path.Match over the names of parameters, such as "wte.*" or "h.[0-3].*", where * also
// matches dots. A parameter that matches a pattern is not trained: it has no gradient, no moments and no weight decay.
type Frozen []string

// Has reports whether a pattern matches the name of a parameter.
func (f Frozen) Has(name string) bool {
	return slices.ContainsFunc(f, func(pattern string) bool {
		matched, err := path.Match(pattern, name)
		return matched && err == nil
	})
}

// Rest returns the parameters that f leaves to train.
func (f Frozen) Rest(params []graph.Expr) []graph.Expr {
	if len(f) == 0 {
		return params
	}
	return slices.DeleteFunc(slices.Clone(params), func(p graph.Expr) bool { return f.Has(p.Name()) })
}

// Check returns an error if a pattern matches none of these names, which lists similar ones, or if no parameter is left
// to train.
func (f Frozen) Check(names []string) error {
	for _, pattern := range f {
		if _, err := path.Match(pattern, ""); err != nil {
			return errors.Errorf("frozen: got %s: want a name, * for any letters, ? for one, [a-b] for one of a range",
				field.Clip(pattern))
		}
		if !slices.ContainsFunc(names, Frozen{pattern}.Has) {
			return errors.Errorf("frozen: got %s, which is none of the %d parameters to train: the nearest are %s",
				field.Clip(pattern), len(names), strings.Join(nearest(pattern, names), ", "))
		}
	}
	if len(f) > 0 && !slices.ContainsFunc(names, func(name string) bool { return !f.Has(name) }) {
		return errors.Errorf("frozen: got %s, which is all of the %d parameters: nothing is left to train",
			field.Clip(strings.Join(f, ",")), len(names))
	}
	return nil
}

func names(params []graph.Expr) (list []string) {
	for _, p := range params {
		list = append(list, p.Name())
	}
	return list
}

// nearest returns the names most similar to a pattern, judged by its parts before the first * and after the last.
func nearest(pattern string, names []string) []string {
	const most = 4
	pattern = pattern[:min(len(pattern), 100)]
	before, _, _ := strings.Cut(pattern, "*")
	after := pattern[strings.LastIndexByte(pattern, '*')+1:]
	off := func(name string) int {
		return spelling.Distance(before, name[:min(len(name), len(before))]) +
			spelling.Distance(after, name[max(0, len(name)-len(after)):])
	}
	near := slices.Clone(names)
	slices.SortStableFunc(near, func(a, b string) int { return cmp.Compare(off(a), off(b)) })
	return near[:min(most, len(near))]
}
