package verify

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/pedestrian-ml/pedestrian/verify/hand"
)

// caseRows returns the rows of the input and then of the parameters, sorted by name. Columns that are structural zeros
// have rows of their own.
func caseRows(g hand.Gradients[float64]) (list []Row) {
	parts := map[string][]Row{}
	for _, row := range rows(g) {
		of := parts[row.parameter]
		if n := len(of); n > 0 && of[n-1].Zero == row.Zero {
			of[n-1].to = row.to
			continue
		}
		row.Symbol, row.Equation = "", ""
		parts[row.parameter] = append(of, row)
	}
	for _, name := range slices.SortedFunc(maps.Keys(parts), inputFirst) {
		for _, row := range parts[name] {
			if row.Name = name; len(parts[name]) > 1 {
				row.Name = fmt.Sprintf("%s[%d:%d]", name, row.from, row.to)
			}
			list = append(list, row)
		}
	}
	return list
}

func inputFirst(a, b string) int {
	switch {
	case a == b:
		return 0
	case a == input:
		return -1
	case b == input:
		return 1
	}
	return strings.Compare(a, b)
}

const input = "x" // the name of a layer's input

// rows returns the rows of the gradients in the order of the model, with one row for a parameter that is used twice.
func rows(g hand.Gradients[float64]) (list []Row) {
	next := map[string]int{}
	for _, e := range g {
		if _, twice := next[e.Name]; e.Delta || twice && e.Part == "" {
			continue
		}
		row := Row{
			Name: e.Name, Symbol: e.Symbol, Equation: e.Equation, Zero: e.Zero,
			parameter: e.Name, from: next[e.Name],
		}
		if e.Part != "" {
			row.Name += " " + e.Part
		}
		row.to = row.from + e.Value.Cols
		next[e.Name] = row.to
		list = append(list, row)
	}
	return list
}
