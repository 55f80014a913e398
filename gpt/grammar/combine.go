package grammar

import (
	"fmt"
	"slices"

	"github.com/pedestrian-ml/pedestrian/gpt/internal/field"
	"github.com/pkg/errors"
)

// anyOf returns the union of schemas.
func (r *reader) anyOf(at string, raw any) (set, error) {
	list, ok := raw.([]any)
	if !ok || len(list) == 0 {
		return nil, errors.Errorf("%s: got %s, want a list of 1 or more", at, shown(raw))
	}
	var alternatives union
	for i, item := range list {
		n, err := r.schema(fmt.Sprintf("%s[%d]", at, i), item)
		if err != nil {
			return nil, err
		}
		alternatives = append(alternatives, n)
	}
	return alternatives, nil
}

// oneOf returns the union of schemas that exclude each other: they have different types or different values of enum or
// const, or they are objects that require a property whose values differ.
func (r *reader) oneOf(at string, raw any) (set, error) {
	list, _ := raw.([]any)
	for i := range list {
		for j := range i {
			if !r.disjoint(list[j], list[i], mostNesting) {
				return nil, errors.Errorf("%s: a value may have the schemas %d and %d: want other types, or a "+
					"required property with other values, or anyOf", at, j, i)
			}
		}
	}
	return r.anyOf(at, raw)
}

// disjoint reports whether no value is seen to have both schemas.
func (r *reader) disjoint(a, b any, depth int) bool {
	x, ok := r.resolved(a)
	y, ok2 := r.resolved(b)
	if !ok || !ok2 || depth == 0 {
		return false
	}
	if of, others := typed(x), typed(y); of != nil && others != nil {
		if !slices.ContainsFunc(of, func(t string) bool { return slices.Contains(others, t) }) {
			return true
		}
	}
	if of, others := values(x), values(y); of != nil && others != nil {
		if !slices.ContainsFunc(of, func(v string) bool { return slices.Contains(others, v) }) {
			return true
		}
	}
	if !slices.Equal(typed(x), []string{"object"}) || !slices.Equal(typed(y), []string{"object"}) {
		return false
	}
	of, _ := x.Get("properties").(field.Object)
	others, _ := y.Get("properties").(field.Object)
	for _, m := range of {
		if requires(x, m.Name) && requires(y, m.Name) && others.Has(m.Name) &&
			r.disjoint(m.Value, others.Get(m.Name), depth-1) {
			return true
		}
	}
	return false
}

// resolved returns a schema, behind its $ref if it has one.
func (r *reader) resolved(raw any) (field.Object, bool) {
	for range mostNesting {
		o, ok := raw.(field.Object)
		if !ok || !o.Has("$ref") {
			return o, ok
		}
		other := func(m field.Member) bool { return m.Name != "$ref" && !slices.Contains(annotations(), m.Name) }
		if slices.ContainsFunc(o, other) {
			return nil, false
		}
		ref, _ := o.Get("$ref").(string)
		if raw, ok = r.target(ref); !ok {
			return nil, false
		}
	}
	return nil, false
}

// typed returns the types that a schema names, with number for integer, or nil.
func typed(o field.Object) (types []string) {
	list, ok := o.Get("type").([]any)
	if !ok {
		list = []any{o.Get("type")}
	}
	for _, t := range list {
		s, ok := t.(string)
		if !ok {
			return nil
		}
		if s == "integer" {
			s = "number"
		}
		types = append(types, s)
	}
	return types
}

// values returns the texts of the values of enum or const that are no numbers, which have several texts, or nil.
func values(o field.Object) (texts []string) {
	list, ok := o.Get("enum").([]any)
	if o.Has("const") {
		list, ok = []any{o.Get("const")}, true
	}
	for _, v := range list {
		switch v.(type) {
		case string, bool, nil:
			texts = append(texts, encoded(v))
		default:
			return nil
		}
	}
	if !ok {
		return nil
	}
	return texts
}

// requires reports whether an object must have a property.
func requires(o field.Object, name string) bool {
	list, _ := o.Get("required").([]any)
	return slices.Contains(list, any(name))
}

// allOf returns the schema that has the keywords of several schemas: each of them in one, or equal in all, but with the
// properties and the required names of all. It returns an error that names any other keyword.
func (r *reader) allOf(at string, raw any) (merged field.Object, err error) {
	list, ok := raw.([]any)
	if !ok || len(list) == 0 {
		return nil, errors.Errorf("%s: got %s, want a list of 1 or more", at, shown(raw))
	}
	with := 0 // schemas that have properties, or forbid others
	for i, item := range list {
		o, ok := r.resolved(item)
		if !ok {
			return nil, errors.Errorf("%s[%d]: got %s, want an object or a place of this schema", at, i, shown(item))
		}
		if o.Has("properties") || o.Has("additionalProperties") { // which is about the properties beside it
			with++
		}
		for _, m := range o {
			if merged, err = joined(merged, m); err != nil {
				return nil, errors.WithMessage(err, fmt.Sprintf("%s[%d]", at, i))
			}
		}
	}
	if with > 1 && merged.Has("additionalProperties") && merged.Get("additionalProperties") != true {
		return nil, errors.Errorf("%s: additionalProperties: got %s, want none beside properties of several schemas",
			at, shown(merged.Get("additionalProperties")))
	}
	return merged, nil
}

// joined returns a schema with another keyword.
func joined(o field.Object, m field.Member) (field.Object, error) {
	at := slices.IndexFunc(o, func(other field.Member) bool { return other.Name == m.Name })
	switch {
	case slices.Contains(annotations(), m.Name):
		return o, nil
	case at < 0:
		return append(o, m), nil
	case encoded(o[at].Value) == encoded(m.Value):
		return o, nil
	}
	switch m.Name {
	case "required":
		a, ok := o[at].Value.([]any)
		b, ok2 := m.Value.([]any)
		if ok && ok2 {
			o[at].Value = slices.Concat(a, b)
			return o, nil
		}
	case "properties":
		a, ok := o[at].Value.(field.Object)
		b, ok2 := m.Value.(field.Object)
		if ok && ok2 {
			all := slices.Clone(a)
			for _, p := range b {
				if all.Has(p.Name) && encoded(all.Get(p.Name)) != encoded(p.Value) {
					return nil, errors.Errorf("properties.%.64s: in several schemas, want it in one", p.Name)
				}
				if !all.Has(p.Name) {
					all = append(all, p)
				}
			}
			o[at].Value = all
			return o, nil
		}
	}
	return nil, errors.Errorf("%.64s: in several schemas, want it in one, or equal ones", m.Name)
}
