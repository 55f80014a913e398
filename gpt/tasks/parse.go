package tasks

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/pedestrian-ml/pedestrian/gpt/internal/field"
	"github.com/pedestrian-ml/pedestrian/internal/spelling"
	"github.com/pkg/errors"
)

// Parse returns the kind of task that a text such as "parity:Length=16,TestLength=32,Train=20000" names, and the
// numbers of rows. The name is one of Names. The options are the fields of the Kind, and Train and Test of the Set.
func Parse(text string) (k Kind, s Set, err error) {
	name, list, _ := strings.Cut(text, ":")
	names := Names()
	i := slices.Index(names, name)
	if i < 0 {
		return nil, s, errors.Errorf("tasks: got %.80q, want one of %s%s", name, strings.Join(names, ", "),
			spelling.Hint(name, names))
	}
	values := map[string]json.Number{}
	for option := range strings.FieldsFuncSeq(list, func(r rune) bool { return r == ',' || r == ' ' }) {
		key, value, _ := strings.Cut(option, "=")
		if _, twice := values[key]; twice || value == "" {
			return nil, s, errors.Errorf("tasks: %s: got %.80q, want each option once, such as Length=16", name, option)
		}
		values[key] = json.Number(value)
	}
	for key, rows := range map[string]*int{"Train": &s.Train, "Test": &s.Test} {
		if value, ok := values[key]; ok {
			if *rows, err = strconv.Atoi(string(value)); err != nil || *rows < 1 || *rows > mostTokens {
				return nil, s, errors.Errorf("tasks: %s: %s: got %.80q, want 1 to %d", name, key, value, mostTokens)
			}
			delete(values, key)
		}
	}
	k, err = readers()[i](values)
	return k, s, errors.WithMessagef(err, "tasks: %s", name)
}

// Names returns the names of All, in its order.
func Names() (names []string) {
	for _, k := range All() {
		r, _ := k.rule() // the defaults are possible
		names = append(names, r.Name)
	}
	return names
}

// readers returns, for every kind of task, the function that reads its options. The first six are the tasks of MAD.
func readers() []func(options map[string]json.Number) (Kind, error) {
	return []func(map[string]json.Number) (Kind, error){
		read[InContextRecall], read[FuzzyRecall], read[NoisyRecall], read[SelectiveCopying], read[Compression],
		read[Memorization], read[MultiQueryRecall], read[Repetition], read[Dyck], read[Parity], read[WordProblem],
		read[ModularAddition], read[Markov],
	}
}

// read returns a kind with options.
func read[K Kind](options map[string]json.Number) (Kind, error) {
	var k K
	defaults, err := json.Marshal(k)
	if err != nil {
		return nil, err
	}
	var known map[string]any
	if err := field.UnmarshalPart(defaults, &known); err != nil {
		return nil, err
	}
	for key := range options {
		if _, ok := known[key]; !ok {
			return nil, errors.Errorf("got the option %.80q, want some of %s, Train and Test", key, defaults)
		}
	}
	data, err := json.Marshal(options)
	if err != nil {
		return nil, errors.WithMessage(err, "want numbers, such as Length=16")
	}
	return k, field.UnmarshalPart(data, &k)
}
