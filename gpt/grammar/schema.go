package grammar

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pedestrian-ml/pedestrian/gpt/internal/field"
	"github.com/pkg/errors"
)

// The bounds of a schema.
const (
	mostNodes        = 1024 // values that it describes
	mostProperties   = 128  // of an object
	mostAlternatives = 1024 // of enum
	mostCount        = 1 << 16
	mostNesting      = 64 // of the schema itself
)

// Schema returns the grammar of the values of a JSON Schema, of which it knows type, properties, required,
// additionalProperties, items, minItems, maxItems, enum, const, anyOf, oneOf of schemas that exclude each other, allOf
// of schemas with different keywords, $ref to the schema itself, minLength, maxLength, pattern, the formats date, time,
// date-time, email, uuid and ipv4, the bounds of numbers, and multipleOf. Properties come in the order of the schema,
// and only those that it lists, so that the texts are some of those that the schema permits. It returns an error that
// names any other keyword, and a schema that has no value or no small one.
func Schema(data []byte) (*Grammar, error) {
	raw, err := field.Ordered(data, mostNesting)
	if err != nil {
		return nil, errors.WithMessage(err, "schema")
	}
	r := &reader{root: raw, refs: map[string]*node{}}
	root, err := r.schema("schema", raw)
	if err != nil {
		return nil, err
	}
	if err := r.cycles(); err != nil {
		return nil, err
	}
	g := r.grammar(root)
	if root.shortest(mostDepth) >= infinite {
		return nil, errors.Errorf("schema: no value of at most %d objects and lists inside each other and %d bytes",
			mostDepth, infinite)
	}
	return g, nil
}

// reader reads a schema.
type reader struct {
	builder
	root any
	refs map[string]*node // by the text of $ref
	all  *node            // of all values, made when it is needed

	merges int // number of allOf
	work   work
}

// everything returns the node of all values.
func (r *reader) everything() *node {
	if r.all == nil {
		r.all = r.universe()
	}
	return r.all
}

// annotations lists the keywords that restrict nothing.
func annotations() []string {
	return []string{"title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly", "$schema",
		"$id",
		"$comment", "$defs", "definitions"}
}

// keywords lists what is read of the values of a type, by the type.
func keywords() map[string][]string {
	return map[string][]string{
		"object": {"properties", "required", "additionalProperties"},
		"array":  {"items", "minItems", "maxItems"},
		"string": {"minLength", "maxLength", "pattern", "format"},
		"number": {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"},
	}
}

// typesOf lists the types of values.
func typesOf() []string {
	return []string{"object", "array", "string", "number", "integer", "boolean", "null"}
}

// schema returns the node of a schema at a place.
func (r *reader) schema(at string, raw any) (*node, error) {
	n := r.node(nil)
	var err error
	n.set, err = r.set(at, raw)
	return n, err
}

// set returns the set of a schema.
func (r *reader) set(at string, raw any) (set, error) {
	if len(r.nodes) > mostNodes {
		return nil, errors.Errorf("%s: more than %d values", at, mostNodes)
	}
	o, ok := raw.(field.Object)
	switch {
	case raw == true:
		return r.everything().set, nil
	case !ok:
		return nil, errors.Errorf("%s: got %s, want an object", at, shown(raw))
	}
	if o.Has("allOf") {
		if r.merges++; r.merges > mostNodes { // or it contains itself
			return nil, errors.Errorf("%s: allOf: more than %d", at, mostNodes)
		}
		parts := o.Get("allOf")
		var beside field.Object
		for _, m := range o {
			if m.Name != "allOf" {
				beside = append(beside, m)
			}
		}
		if list, ok := parts.([]any); ok && len(list) > 0 {
			parts = append(slices.Clone(list), any(beside))
		}
		merged, err := r.allOf(at+".allOf", parts)
		if err != nil {
			return nil, err
		}
		return r.set(at, merged)
	}
	var restrict []string
	for _, m := range o {
		if !slices.Contains(annotations(), m.Name) {
			restrict = append(restrict, m.Name)
		}
	}
	for _, alone := range []string{"$ref", "anyOf", "oneOf"} {
		if !slices.Contains(restrict, alone) {
			continue
		}
		if len(restrict) > 1 {
			beside := restrict[0]
			if beside == alone {
				beside = restrict[1]
			}
			return nil, errors.Errorf("%s: %s: beside %.64s, want it alone", at, beside, alone)
		}
		switch alone {
		case "$ref":
			return r.ref(at, o.Get("$ref"))
		case "oneOf":
			return r.oneOf(at+".oneOf", o.Get("oneOf"))
		}
		return r.anyOf(at+".anyOf", o.Get("anyOf"))
	}
	types, err := r.types(at, o, restrict)
	if err != nil {
		return nil, err
	}
	for _, key := range []string{"const", "enum"} {
		if o.Has(key) {
			return r.values(at, key, o, types)
		}
	}
	var alternatives union
	for _, t := range types {
		s, err := r.ofType(at, t, o)
		if err != nil {
			return nil, err
		}
		alternatives = append(alternatives, r.node(s))
	}
	return alternatives, nil
}

// types returns the types of a schema: those that it names, or else those that its keywords are about, or all.
func (r *reader) types(at string, o field.Object, restrict []string) (types []string, err error) {
	implied := map[string]bool{}
	for _, key := range restrict {
		found := slices.Contains([]string{"type", "enum", "const"}, key)
		for t, list := range keywords() {
			if slices.Contains(list, key) {
				found, implied[t] = true, true
			}
		}
		if !found {
			return nil, errors.Errorf("%s: %.64s: this grammar has no such keyword", at, key)
		}
	}
	switch t := o.Get("type").(type) {
	case string:
		types = []string{t}
	case []any:
		for _, item := range t {
			s, _ := item.(string)
			types = append(types, s)
		}
		if len(t) == 0 {
			return nil, errors.Errorf("%s: type: got none, want 1 or more", at)
		}
	case nil:
		for _, t := range typesOf() {
			if t != "integer" && (implied[t] || len(implied) == 0) {
				types = append(types, t)
			}
		}
	default:
		return nil, errors.Errorf("%s: type: got %s, want a text or a list", at, shown(t))
	}
	for _, t := range types {
		if !slices.Contains(typesOf(), t) {
			return nil, errors.Errorf("%s: type: got %.32q, want one of %s", at, t, strings.Join(typesOf(), ", "))
		}
	}
	return types, nil
}

// ofType returns the set of the values of a type.
func (r *reader) ofType(at, t string, o field.Object) (set, error) {
	switch t {
	case "object":
		return r.ofObject(at, o)
	case "array":
		fewest, largest, err := counts(at, o, "minItems", "maxItems")
		if err != nil {
			return nil, err
		}
		items, err := r.anything(at+".items", o, "items")
		if err != nil {
			return nil, err
		}
		return r.list(items, fewest, largest).set, nil
	case "string":
		return r.ofString(at, o)
	case "boolean":
		r.need("truefals")
		return literals{"true", "false"}, nil
	case "null":
		r.need("nul")
		return literals{"null"}, nil
	}
	s, err := bounded(at, o, t == "integer")
	return r.number(s).set, err
}

// anything returns the node of the schema of a key, or the node of all values.
func (r *reader) anything(at string, o field.Object, key string) (*node, error) {
	if !o.Has(key) {
		return r.everything(), nil
	}
	return r.schema(at, o.Get(key))
}

// ofObject returns the set of objects of a schema.
func (r *reader) ofObject(at string, o field.Object) (set, error) {
	listed, ok := o.Get("properties").(field.Object)
	if o.Has("properties") && !ok {
		return nil, errors.Errorf("%s: properties: got %s, want an object", at, shown(o.Get("properties")))
	}
	required, ok := o.Get("required").([]any)
	if o.Has("required") && !ok {
		return nil, errors.Errorf("%s: required: got %s, want a list", at, shown(o.Get("required")))
	}
	var names []string
	for _, item := range required {
		s, ok := item.(string)
		if !ok {
			return nil, errors.Errorf("%s: required: got %s, want a text", at, shown(item))
		}
		names = append(names, s)
		if !listed.Has(s) {
			listed = append(listed, field.Member{Name: s, Value: true})
		}
	}
	if len(listed) > mostProperties {
		return nil, errors.Errorf("%s: properties: got %d, want at most %d", at, len(listed), mostProperties)
	}
	var properties []property
	for _, m := range listed {
		n, err := r.schema(fmt.Sprintf("%s.properties.%.64s", at, m.Name), m.Value)
		if err != nil {
			return nil, err
		}
		properties = append(properties, property{quoted(m.Name) + ":", n, slices.Contains(names, m.Name)})
	}
	extra := o.Get("additionalProperties")
	if len(properties) > 0 || extra == false {
		if _, ok := extra.(field.Object); extra != nil && !ok && extra != true && extra != false {
			return nil, errors.Errorf("%s: additionalProperties: got %s, want an object or a bool", at, shown(extra))
		}
		return r.object(properties, nil).set, nil
	}
	n, err := r.anything(at+".additionalProperties", o, "additionalProperties")
	if err != nil {
		return nil, err
	}
	return r.object(nil, n).set, nil
}

// ref returns the schema at a place of the root, such as #/$defs/name.
func (r *reader) ref(at string, raw any) (set, error) {
	ref, _ := raw.(string)
	if n := r.refs[ref]; n != nil {
		return union{n}, nil
	}
	target, inside := r.target(ref)
	if !inside {
		return nil, errors.Errorf("%s: $ref: got %s, want a place of this schema such as #/$defs/name", at,
			shown(raw))
	}
	n := r.node(nil)
	r.refs[ref] = n
	var err error
	n.set, err = r.set(fmt.Sprintf("%.64s", ref), target)
	return union{n}, err
}

// target returns what is at a place of the root.
func (r *reader) target(ref string) (target any, inside bool) {
	path, inside := strings.CutPrefix(ref, "#")
	target = r.root
	for _, key := range strings.Split(path, "/")[1:] {
		key = strings.NewReplacer("~1", "/", "~0", "~").Replace(key)
		o, ok := target.(field.Object)
		if inside = inside && ok && o.Has(key); !inside {
			break
		}
		target = o.Get(key)
	}
	return target, inside
}

// values returns the values of enum or const that are of one of the types.
func (r *reader) values(at, key string, o field.Object, types []string) (set, error) {
	list, ok := o.Get(key).([]any)
	if key == "const" {
		list, ok = []any{o.Get(key)}, true
	}
	if !ok || len(list) == 0 || len(list) > mostAlternatives {
		return nil, errors.Errorf("%s: %s: got %s, want a list of 1 to %d", at, key, shown(o.Get(key)),
			mostAlternatives)
	}
	seconds := []string{"const", "enum"}
	for _, t := range typesOf() {
		seconds = append(seconds, keywords()[t]...)
	}
	for _, second := range seconds {
		if second != key && o.Has(second) {
			return nil, errors.Errorf("%s: %s: beside %s, want it alone", at, second, key)
		}
	}
	var texts literals
	for _, v := range list {
		if slices.Contains(types, typeOf(v)) || typeOf(v) == "integer" && slices.Contains(types, "number") {
			s := encoded(v)
			r.need(s)
			texts = append(texts, s)
		}
	}
	if len(texts) == 0 {
		return nil, errors.Errorf("%s: %s: got no value of the type", at, key)
	}
	return texts, nil
}

// cycles returns an error if a schema is its own alternative, outside of any object and list.
func (r *reader) cycles() error {
	const visiting, visited = 1, 2
	marks := map[*node]int{}
	var visit func(n *node) bool
	visit = func(n *node) bool {
		u, ok := n.set.(union)
		if !ok || marks[n] == visited {
			return false
		}
		if marks[n] == visiting {
			return true
		}
		marks[n] = visiting
		again := slices.ContainsFunc(u, visit)
		marks[n] = visited
		return again
	}
	if slices.ContainsFunc(r.nodes, visit) {
		return errors.New("schema: $ref: a schema is an alternative of itself")
	}
	return nil
}
