package grammar

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/pedestrian-ml/pedestrian/internal/fuzzed"
)

// valid returns why a value is not of a schema: it knows the keywords of the tests, as the standard defines them.
func valid(root, schema map[string]any, v any) error {
	if ref, ok := schema["$ref"].(string); ok {
		target := any(root)
		for _, key := range strings.Split(ref, "/")[1:] {
			target = target.(map[string]any)[key]
		}
		return valid(root, target.(map[string]any), v)
	}
	if list, ok := schema["anyOf"].([]any); ok {
		for _, one := range list {
			if valid(root, one.(map[string]any), v) == nil {
				return nil
			}
		}
		return fmt.Errorf("%v is in no alternative of %v", v, list)
	}
	if list, ok := schema["enum"].([]any); ok && !slices.ContainsFunc(list, func(x any) bool {
		return fmt.Sprint(x) == fmt.Sprint(v)
	}) {
		return fmt.Errorf("%v is not in %v", v, list)
	}
	bound := func(key string, otherwise float64) float64 {
		if x, ok := schema[key].(float64); ok {
			return x
		}
		return otherwise
	}
	is := "null"
	switch v := v.(type) {
	case bool:
		is = "boolean"
	case string:
		is = "string"
		if n := float64(utf8.RuneCountInString(v)); n < bound("minLength", 0) || n > bound("maxLength", 1e9) {
			return fmt.Errorf("%q has %v characters", v, n)
		}
	case float64:
		wanted := fmt.Sprint(schema["type"])
		if is = "number"; v == float64(int64(v)) && strings.Contains(wanted, "integer") {
			is = "integer"
		}
		if v < bound("minimum", -1e300) || v > bound("maximum", 1e300) || v <= bound("exclusiveMinimum", -1e300) ||
			v >= bound("exclusiveMaximum", 1e300) {
			return fmt.Errorf("%v is out of bounds", v)
		}
	case []any:
		is = "array"
		if n := float64(len(v)); n < bound("minItems", 0) || n > bound("maxItems", 1e9) {
			return fmt.Errorf("%v has %v values", v, n)
		}
		for _, one := range v {
			if items, ok := schema["items"].(map[string]any); ok {
				if err := valid(root, items, one); err != nil {
					return err
				}
			}
		}
	case map[string]any:
		is = "object"
		for _, key := range anyList(schema["required"]) {
			if _, has := v[key.(string)]; !has {
				return fmt.Errorf("%v lacks %v", v, key)
			}
		}
		listed, _ := schema["properties"].(map[string]any)
		extra, _ := schema["additionalProperties"].(map[string]any)
		for key, one := range v {
			of, known := listed[key].(map[string]any)
			if !known {
				if of = extra; schema["additionalProperties"] == false {
					return fmt.Errorf("%v has %s", v, key)
				}
			}
			if err := valid(root, of, one); err != nil {
				return err
			}
		}
	}
	types := anyList(schema["type"])
	if t, ok := schema["type"].(string); ok {
		types = []any{t}
	}
	if types != nil && !slices.Contains(types, any(is)) {
		return fmt.Errorf("%v is %s, want %v", v, is, types)
	}
	return nil
}

func anyList(v any) []any {
	list, _ := v.([]any)
	return list
}

// schemas returns schemas with all keywords.
func schemas() []string {
	return []string{
		`{"type":"object","properties":{"name":{"type":"string","minLength":2,"maxLength":5},` +
			`"age":{"type":"integer","minimum":0,"maximum":120},"tags":{"type":"array","items":{"type":"string",` +
			`"maxLength":3},"minItems":1,"maxItems":3}},"required":["name","tags"],"additionalProperties":false}`,
		`{"type":"object","properties":{"kind":{"enum":["a","ab",3,null,{"x":[1,"y"]}]},"ok":{"type":"boolean"},` +
			`"none":{"type":"null"}},"required":["kind","ok","none"]}`,
		`{"anyOf":[{"type":"object","properties":{"a":{"type":"number"}},"required":["a"],` +
			`"additionalProperties":false},{"type":"array","items":{"type":"integer","exclusiveMinimum":-3,` +
			`"exclusiveMaximum":12}},{"type":"string"}]}`,
		`{"$defs":{"tree":{"type":"object","properties":{"v":{"type":"integer","minimum":-25,"maximum":-7},` +
			`"l":{"anyOf":[{"$ref":"#/$defs/tree"},{"type":"null"}]},"r":{"$ref":"#/$defs/tree"}},"required":["v",` +
			`"l"],"additionalProperties":false}},"type":"object","properties":{"t":{"$ref":"#/$defs/tree"}},` +
			`"required":["t"],"additionalProperties":false}`,
		`{"type":"object","additionalProperties":{"type":["string","integer"]}}`,
		`{"type":"array","items":{"type":"number","minimum":0.25,"maximum":1.5},"minItems":2,"maxItems":4}`,
		`{"type":"number","exclusiveMinimum":-0.001,"exclusiveMaximum":0}`,
		`{"type":"number","minimum":1234.5}`, `{"type":"integer","maximum":-1e3}`,
		`{"type":"integer","minimum":100,"maximum":100}`,
		`{"type":"object","properties":{"a":{},"b":{"type":"object"}},"required":["b","c"],"title":"x",` +
			`"description":"y"}`,
		`{"type":"string","minLength":4}`, `{"const":"é\n<&"}`, `{"enum":[true,false]}`, `true`, `{}`,
		`{"properties":{"` + "é\\\"" + `":{"type":"boolean"}},"required":["` + "é\\\"" +
			`"],"additionalProperties":{"type":"string"}}`,
		`{"type":"array","items":{"$ref":"#"},"maxItems":2}`,
		`{"type":"array","items":{"type":"integer","minimum":-9,"maximum":30},"minItems":4}`,
	}
}

// Whatever is drawn, a text is a value of its schema, and ends in time if the shortest value fits.
func TestSchemas(t *testing.T) {
	v, rng := pairs(), rand.New(rand.NewPCG(3, 4))
	for _, text := range schemas() {
		g, err := Schema([]byte(text))
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		var schema map[string]any
		if text != "true" {
			if err := json.Unmarshal([]byte(text), &schema); err != nil {
				t.Fatal(err)
			}
		}
		values := map[string]bool{}
		for i := range 40 {
			tokens := g.start()[0].length() + i%40
			written, drawn, complete := write(t, matcher(t, g, v, tokens), rng, tokens)
			var value any
			if err := json.Unmarshal([]byte(written), &value); err != nil || !complete || drawn > tokens {
				t.Fatalf("%s: %d of %d tokens: got %q, complete: %v (%v)", text, drawn, tokens, written, complete,
					err)
			}
			if err := valid(schema, schema, value); err != nil {
				t.Fatalf("%s: got %s: %v", text, written, err)
			}
			values[written] = true
		}
		if len(values) < 12 && !strings.Contains(text, "100") && !strings.Contains(text, `"enum":[true`) &&
			!strings.Contains(text, "const") && !strings.Contains(text, "é") {
			t.Errorf("%s: got %d different values of 40 texts, want 12", text, len(values))
		}
	}
}

// The length of the shortest rest is exact in every state: a byte leads to one that is shorter by 1, and none to one
// that is even shorter.
func TestShortestIsExact(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for _, schema := range schemas() {
		g, err := Schema([]byte(schema))
		if err != nil {
			t.Fatal(err)
		}
		for range 8 {
			for s, text := g.start()[0], ""; s != nil && len(text) < 60; {
				shortest := infinite
				var states []*state
				var bytes []byte
				for b := range 256 {
					for _, next := range s.advance(byte(b), nil) {
						shortest = min(shortest, next.length())
						states, bytes = append(states, next), append(bytes, byte(b))
					}
				}
				if s.complete() != (s.length() == 0) || !s.complete() && shortest != s.length()-1 {
					t.Fatalf("%s: after %q: got a rest of %d bytes, and of %d after the next byte; complete: %v",
						schema, text,
						s.length(), shortest, s.complete())
				}
				if len(states) == 0 {
					break
				}
				i := rng.IntN(len(states))
				s, text = states[i], text+string(bytes[i:i+1])
			}
		}
	}
}

// Values of a schema are in the grammar, with or without white space, and others are not.
func TestSchemaReads(t *testing.T) {
	list := schemas()
	for _, c := range []struct {
		schema, text string
		want         bool
	}{
		{list[0], `{"name":"Ann","tags":["a"]}`, true}, {list[0], `{"name": "Ann", "age": 120, "tags": ["a", ""]}`,
			true},
		{list[0], `{"name":"A","tags":["a"]}`, false}, {list[0], `{"name":"Ann","age":121,"tags":["a"]}`, false},
		{list[0], `{"name":"Ann"}`, false}, {list[0], `{"name":"Ann","tags":[]}`, false},
		{list[0], `{"name":"Annika","tags":["a"]}`, false}, {list[0], `{"name":"ééééé","tags":["\u00e9\n€"]}`, true},
		{list[0], `{"name":"Ann","tags":["a"],"x":1}`, false}, {list[0], `{"name":"Ann","tags":["a","b","c","d"]}`,
			false},
		{list[1], `{"kind":"ab","ok":true,"none":null}`, true}, {list[1],
			`{"kind":{"x":[1,"y"]},"ok":false,"none":null}`, true},
		{list[1], `{"kind":"abc","ok":true,"none":null}`, false}, {list[2], `[-2,11]`, true}, {list[2], `[-3]`,
			false},
		{list[2], `[12]`, false}, {list[2], `"x"`, true}, {list[2], `{"a":1e5}`, true}, {list[2], `{}`, false},
		{list[3], `{"t":{"v":-7,"l":{"v":-25,"l":null}}}`, true}, {list[3], `{"t":{"v":-6,"l":null}}`, false},
		{list[5], `[0.25,1.5]`, true}, {list[5], `[0.2,1.5]`, false}, {list[5], `[1,1.500001]`, false}, {list[5],
			`[1]`, false},
		{list[6], `-0.000999`, true}, {list[6], `-0.001`, false}, {list[6], `0`, false}, {list[6], `-0`, false},
		{list[7], `1234.5`, true}, {list[7], `1234.4`, false}, {list[7], `99999`, true}, {list[8], `-1000`, true},
		{list[8], `-999`, false}, {list[9], `100`, true}, {list[9], `0100`, false}, {list[11], `"abc"`, false},
		{`{"type":["integer","null"],"enum":[1,"a",null]}`, `null`, true},
		{`{"type":["integer","null"],"enum":[1,"a",null]}`, `"a"`, false},
		{`{"type":"integer","minimum":-99,"maximum":99}`, `1-2`, false},
		{`{"type":"integer","minimum":-99,"maximum":99}`, `--2`, false},
		{`{"type":"integer","minimum":-99,"maximum":99}`, `-99`, true}, {`{"type":"string"}`, `"\u12g4"`, false},
		{`{"type":"object","additionalProperties":false}`, `{"a":1}`, false}, {`{"type":"string"}`, `"\u12aF"`, true},
		{`{"type":"object","additionalProperties":false}`, `{}`, true},
		{`{"type":"array","maxItems":0}`, `[1]`, false}, {`{"type":"array","maxItems":0}`, `[ ]`, true},
		{`{"type":"integer","minimum":0.5}`, `0`, false}, {`{"type":"integer","minimum":0.5}`, `1`, true},
		{`{"type":"integer","maximum":0.5}`, `1`, false}, {`{"type":"integer","maximum":0.5}`, `0`, true},
		{`{"type":"integer"}`, `1.0`, false}, {`{"type":"integer"}`, `-12`, true},
		{`{"definitions":{"a/b":{"const":1}},"$ref":"#/definitions/a~1b"}`, `1`, true},
	} {
		g, err := Schema([]byte(c.schema))
		if err != nil || reads(g, c.text) != c.want {
			t.Errorf("%s: %s: in the grammar: %v, want %v (%v)", c.schema, c.text, !c.want, c.want, err)
		}
	}
}

// A schema that the grammar cannot follow is refused by name and place.
func TestSchemaRefuses(t *testing.T) {
	for schema, want := range map[string]string{
		`{"type":"string","pattern":7}`:                                         "schema: pattern: got 7, want a text",
		`{"type":"object","properties":{"a":{"type":"string","format":"iri"}}}`: `properties.a: format: got "iri"`,
		`{"format":"date","pattern":"a"}`:                                       "format: beside pattern",
		`{"const":1,"pattern":"a"}`:                                             "pattern: beside const",
		`{"oneOf":[]}`:                                                          "oneOf: got [], want a list",
		`{"allOf":[]}`:                                                          "allOf: got [],",
		`{"not":{}}`:                                                            "not: this grammar",
		`{"anyOf":[{}],"type":"string"}`:                                        "type: beside anyOf",
		`{"anyOf":[]}`:                                                          "want a list of 1 or more",
		`{"anyOf":[{"type":"text"}]}`:                                           `schema.anyOf[0]: type: got "text"`,
		`{"type":[]}`:                                                           "type: got none",
		`{"type":3}`:                                                            "type: got 3",
		`{"$ref":"#/$defs/a"}`:                                                  "$ref: got",
		`{"$ref":"https://x"}`:                                                  "$ref: got",
		`{"$ref":"#"}`:                                                          "an alternative of itself",
		`{"anyOf":[{"type":"null"},` +
			`{"$ref":"#"}]}`: "an alternative of itself",
		`{"type":"object","properties":{"a":{"$ref":"#"}},` +
			`"required":["a"]}`: "no value of at most 32",
		`{"type":"array","items":{"type":"array","items":{"$ref":"#"},"minItems":1},` +
			`"minItems":1}`: "no value of at most 32",
		`{"type":"string",` +
			`"minLength":-1}`: "minLength: got -1",
		`{"type":"string","maxLength":1e9}`:             "maxLength: got 1e9",
		`{"type":"string","minLength":5,"maxLength":4}`: "minLength: got 5, want at most maxLength, 4",
		`{"type":"array","items":3}`:                    "schema.items: got 3",
		`{"type":"array","items":false}`:                "schema.items: got false",
		`{"type":"object","properties":[]}`:             "properties: got []",
		`{"type":"object","required":"a"}`:              `required: got "a"`,
		`{"type":"object","required":[1]}`:              "required: got 1",
		`{"type":"object","additionalProperties":3}`:    "got 3",
		`{"enum":[]}`: "enum: got []", `{"type":"string","enum":[1]}`: "no value of the type",
		`{"const":1,"enum":[1]}`:                     "enum: beside const",
		`{"type":"integer","minimum":5,"maximum":4}`: "no number is between",
		`{"type":"number","minimum":1e300}`:          "minimum: got 1e300",
		`{"type":"integer","minimum":"1"}`:           "minimum: got", `{"type":"number","exclusiveMinimum":0,` +
			`"maximum":1e-9}`: "no number is between",
		`{"type":"number","minimum":1e-99999999}`: "", `[]`: "got [], want an object", `{`: "unexpected EOF",
		`{} {}`:                         "more than one",
		`{"type":"null","type":"null"}`: "given twice", strings.Repeat("[", 100): "more than 64",
		`{"type":"object","properties":{` + strings.Repeat(`"a":{},`, 1): "",
		`{"anyOf":[` + strings.Repeat(`{},`, 5000) + `{}]}`:              "more than 1024 values",
		`{"enum":[` + strings.Repeat(`1,`, 1024) + `1]}`:                 "a list of 1 to 1024",
	} {
		g, err := Schema([]byte(schema))
		if want != "" && (g != nil || err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%.100s: got error %v, want %q in it", schema, err, want)
		}
	}
	many := map[string]any{}
	for i := range mostProperties + 1 {
		many[fmt.Sprint(i)] = true
	}
	data, _ := json.Marshal(map[string]any{"type": "object", "properties": many})
	if _, err := Schema(data); err == nil || !strings.Contains(err.Error(), "got 129, want at most 128") {
		t.Errorf("129 properties: got error %v", err)
	}
}

// FuzzSchema reads any schema without a panic, in bounded memory and time, and what it writes is JSON.
func FuzzSchema(f *testing.F) {
	for _, s := range schemas() {
		f.Add(s, uint64(1))
	}
	for _, s := range []string{
		`{"pattern":"^\\d{3}(?:é|€)+$","maxLength":9}`, `{"format":"date-time"}`, `{"multipleOf":0.5,"minimum":7}`,
		`{"pattern":"^\\pL{1,900}$"}`, `{"pattern":"[ab]*a[ab]{11}$"}`, `{"pattern":"^(?:\\w*\\d){9}","maxLength":300}`,
		`{"oneOf":[{"const":"a"},{"enum":["b"]}]}`, `{"allOf":[{"minimum":1},{"maximum":2}],"type":"integer"}`,
	} {
		f.Add(s, uint64(2))
	}
	v := pairs()
	f.Fuzz(func(t *testing.T, schema string, seed uint64) {
		var g *Grammar
		var err error
		fuzzed.Bounded(t, 32<<20+fuzzed.Linear(len(schema)), 10*time.Second, func() {
			g,
				err = Schema([]byte(schema))
		})
		if err != nil || g.start()[0].length() > 500 {
			return
		}
		m, err := g.Matcher(v, 500, 0)
		if err != nil {
			t.Fatal(err)
		}
		if text, _, complete := write(t, m, rand.New(rand.NewPCG(seed, 1)), 500); !complete ||
			!json.Valid([]byte(text)) {
			t.Errorf("%s: got %q", schema, text)
		}
	})
}
