package published

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/pedestrian-ml/pedestrian/gpt/internal/field"
	"github.com/pedestrian-ml/pedestrian/gpt/parts"
	"github.com/pkg/errors"
)

// row is a key of a family's config.json, and how it corresponds to the fields of a network.
type row struct {
	key       string
	value     any      // of a file without the key; 0 leaves the network's default
	fields    []string // fields of a network with the same value; if there are none, the file's must be value
	domain    field.Domain
	null      string                               // value for which null stands, as JSON; empty: null is refused
	unwritten bool                                 // the key is only read
	linked    bool                                 // links translate the key, whatever its value
	names     func(list []parts.Activation) []name // translates values; nil if they are the same
}

// name is a value in a file and the same in a field of a network.
type name struct{ theirs, ours string }

// named reports whether a field may have values that the row cannot express.
func (r row) named() bool { return r.names != nil }

// json reports whether the value of the key is any JSON value.
func (r row) json() bool {
	_, ok := r.value.(json.RawMessage)
	return ok
}

// size returns the row of a whole number from 1, of which 0 is none.
func size(key string, value int, fields ...string) row {
	return row{key: key, value: value, fields: fields, domain: field.Size(1)}
}

// number returns the row of a number in the domain.
func number(key string, value float64, domain field.Domain, fields ...string) row {
	return row{key: key, value: value, fields: fields, domain: domain}
}

// fixed returns the row of a key of which only one value is supported.
func fixed(key string, value any) row { return row{key: key, value: value} }

// nullable returns r as the row of a key whose value may be null, which stands for 0.
func (r row) nullable() row {
	r.null = "0"
	return r
}

// onlyRead returns r as the row of a key that is not written.
func (r row) onlyRead() row {
	r.unwritten = true
	return r
}

// byLink returns r as the row of a key that links translate.
func (r row) byLink() row {
	r.linked = true
	return r
}

// object returns the row of a key with any JSON value, null by default, that links translate.
func object(key string) row { return anyJSON(key, "null") }

// anyJSON is object with another default, which is compact JSON.
func anyJSON(key, value string) row {
	return row{key: key, value: json.RawMessage(value), linked: true}
}

// emptyList returns the row of a list that must be empty, which null is too.
func emptyList(key string) row {
	return row{key: key, value: json.RawMessage("[]"), null: "[]"}
}

// inner returns the row of the hidden width of an MLP, of which null means four times the width.
func inner(key string) row { return size(key, 0, "n_inner").nullable() }

// without returns the rows of all but the given keys.
func without(rows []row, keys ...string) []row {
	return slices.DeleteFunc(rows, func(r row) bool { return slices.Contains(keys, r.key) })
}

// tie returns the row of tie_word_embeddings.
func tie(tied bool) row {
	return row{key: "tie_word_embeddings", value: tied, fields: []string{"head"}, names: headNames}
}

func headNames([]parts.Activation) []name {
	return []name{{"true", "tied"}, {"false", "linear"}, {"false", "linear_no_bias"}}
}

// activationNames returns Hugging Face's names of activations.
func activationNames(list []parts.Activation) (names []name) {
	for _, a := range list {
		for _, theirs := range a.HF {
			names = append(names, name{theirs, a.String()})
		}
	}
	return names
}

// file returns the keys of a file with their defaults, in the order of the rows.
func (f family) file() (list field.List) {
	for _, r := range f.rows {
		list = append(list, r.field())
	}
	return list
}

// written returns the keys of a file without those that are only read.
func (f family) written(file field.List) (list field.List) {
	for i, r := range f.rows {
		if !r.unwritten {
			list = append(list, file[i])
		}
	}
	return list
}

// index returns the index of the row of that key, or −1.
func (f family) index(key string) int {
	return slices.IndexFunc(f.rows, func(r row) bool { return r.key == key })
}

// field returns the key with its default.
func (r row) field() field.Field {
	switch v := r.value.(type) {
	case int:
		return field.New(r.key, &v, r.domain, "")
	case float64:
		return field.New(r.key, &v, r.domain, "")
	case bool:
		return field.New(r.key, &v, r.domain, "")
	case string:
		return field.New(r.key, &v, r.domain, "")
	case json.RawMessage:
		return field.New(r.key, &v, r.domain, "")
	}
	return field.New(r.key, new([]string), r.domain, "")
}

// translate returns the value of a key as the value of a field of a network, or an error if no field can express it.
func (r row) translate(key field.Field, list []parts.Activation) (string, error) {
	got, want := key.String(), r.field().String()
	if r.named() {
		names := r.names(list)
		if i := slices.IndexFunc(names, func(n name) bool { return n.theirs == got }); i >= 0 {
			return names[i].ours, nil
		}
		want = choices(names)
	} else if len(r.fields) > 0 || r.linked || got == want || r.json() && canonical(json.RawMessage(got)) == want {
		return got, nil
	}
	return "", errors.Errorf("%s: got %s, want %s", r.key, field.Clip(got), want)
}

// choices returns their first name of each value.
func choices(names []name) string {
	var list, seen []string
	for _, n := range names {
		if !slices.Contains(seen, n.ours) {
			list, seen = append(list, n.theirs), append(seen, n.ours)
		}
	}
	return strings.Join(list, ", ")
}

// original returns the value of a key for the value of a field of a network. ok is false if it has none.
func (r row) original(value string, list []parts.Activation) (theirs string, ok bool) {
	if !r.named() {
		return value, true
	}
	for _, n := range r.names(list) {
		if n.ours == value {
			return n.theirs, true
		}
	}
	return "", false
}

// parse sets the field of that name.
func parse(list field.List, name, value string) error {
	f, ok := list.Find(name)
	if !ok {
		return errors.Errorf("%s: the network has no such field", name)
	}
	return f.Parse(value)
}

// shown returns the value of the field of that name as a flag would write it, or an empty string.
func shown(list field.List, name string) string {
	f, _ := list.Find(name)
	return f.String()
}

// count returns the whole number that the field of that name holds, or 0.
func count(list field.List, name string) int {
	f, _ := list.Find(name)
	n, _ := strconv.Atoi(f.String())
	return n
}
