package grammar

import (
	"encoding/json"
	"math/big"
	"math/rand/v2"
	"net"
	"net/mail"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

// drawnOf draws texts of a schema and passes their values to check. Each is complete in time.
func drawnOf(t *testing.T, schema string, n int, check func(v any) bool) {
	t.Helper()
	g, err := Schema([]byte(schema))
	if err != nil {
		t.Fatalf("%s: %v", schema, err)
	}
	v, rng := pairs(), rand.New(rand.NewPCG(7, 8))
	shortest := g.start()[0].length()
	for i := range n {
		tokens := shortest + i%40
		text, drawn, complete := write(t, matcher(t, g, v, tokens), rng, tokens)
		d := json.NewDecoder(strings.NewReader(text))
		d.UseNumber()
		var value any
		if err := d.Decode(&value); err != nil || !complete || drawn > tokens || !utf8.ValidString(text) {
			t.Fatalf("%s: %d of %d tokens: got %q (%v), complete: %t", schema, drawn, tokens, text, err, complete)
		}
		if !check(value) {
			t.Fatalf("%s: got %s, which is no value of it", schema, text)
		}
	}
}

// Texts of a pattern match it, have the numbers of characters, and end in time; strings that match are texts.
func TestPatterns(t *testing.T) {
	for pattern, texts := range map[string]map[string]bool{
		`^a+b?$`:             {`a`: true, `aab`: true, `b`: false, `ab\n`: false, `xab`: false},
		`cat|dog`:            {`a cat.`: true, `dog`: true, `do g`: false},
		`^[^a-z]{2,4}$`:      {`€\"`: true, `AB\t\\`: true, `Aa`: false, `ABCDE`: false},
		`^(?:é|€|😀){1,3}$`:   {`é€😀`: true, `e`: false, `ê`: false, `😁`: false},
		`^\d{3}-\d{4}$`:      {`555-0123`: true, `5550123`: false},
		`^.$`:                {`x`: true, `\r`: false, `\n`: false, `\t`: true, ``: false},
		`^$|^x`:              {``: true, `xy`: true, `y`: false},
		`^[\w.-]+@[\w-]+\.c`: {`a.b@c.cd`: true, `a@b`: false},
		`^\S+\s\S+$`:         {`a b`: true, `ab`: false},
		`z$`:                 {`z`: true, `az`: true, `za`: false},
		``:                   {``: true, `anything`: true},
	} {
		quotedPattern, _ := json.Marshal(pattern)
		re := regexp.MustCompile(pattern)
		drawnOf(t, `{"type":"string","pattern":`+string(quotedPattern)+`}`, 60, func(v any) bool {
			return re.MatchString(v.(string))
		})
		schema := `{"type":"string","minLength":1,"maxLength":9,"pattern":` + string(quotedPattern) + `}`
		drawnOf(t, schema, 60, func(v any) bool {
			n := utf8.RuneCountInString(v.(string))
			return re.MatchString(v.(string)) && n >= 1 && n <= 9
		})
		g, err := Schema([]byte(`{"pattern":` + string(quotedPattern) + `}`))
		if err != nil {
			t.Fatal(err)
		}
		for text, want := range texts {
			if got := reads(g, `"`+text+`"`); got != want {
				t.Errorf("%s: %s: got %t, want %t", pattern, text, got, want)
			}
		}
	}
	for pattern, want := range map[string]string{
		`(`: "missing closing", `a\b`: "borders of words", `(?i)a`: "no group of the kind (?i)", `(?=a)`: "no group",
		`(a)\1`: "invalid escape", `\z`: `want no \z`, `[[:alpha:]]`: "want no [[", `^a{9,3}$`: "invalid repeat",
		`^[ab]*a[ab]{12}$`: "more than 4096 states", `$a`: "no text",
		strings.Repeat("a", 1025): "got 1025 bytes, want at most 1024", `^\x07$`: "no text that can be written",
	} {
		quotedPattern, _ := json.Marshal(pattern)
		if _, err := Schema([]byte(`{"pattern":` + string(quotedPattern) + `}`)); err == nil ||
			!strings.HasPrefix(err.Error(), "schema: pattern: ") || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", pattern, err, want)
		}
	}
}

// Texts of the formats are what the standard library reads; the borders of the calendar are exact.
func TestFormatsOfTexts(t *testing.T) {
	parsed := func(layout string) func(s string) bool {
		return func(s string) bool { _, err := time.Parse(layout, s); return err == nil }
	}
	for name, check := range map[string]func(s string) bool{
		"date": parsed(time.DateOnly), "date-time": parsed(time.RFC3339Nano),
		"time": func(s string) bool { return parsed(time.RFC3339Nano)("2000-01-01T" + s) },
		"email": func(s string) bool {
			a, err := mail.ParseAddress(s)
			return err == nil && a.Address == s && len(s) <= 254 && strings.IndexByte(s, '@') <= 64
		},
		"ipv4": func(s string) bool { return net.ParseIP(s).To4() != nil },
		"uuid": regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`).MatchString,
	} {
		drawnOf(t, `{"type":"string","format":"`+name+`"}`, 100, func(v any) bool { return check(v.(string)) })
	}
	for format, texts := range map[string]map[string]bool{
		"date": {"2024-02-29": true, "2023-02-29": false, "1900-02-29": false, "2000-02-29": true, "2023-04-31": false,
			"2023-12-31": true, "2023-00-10": false},
		"time":      {"23:59:59Z": true, "24:00:00Z": false, "12:00:00.123+05:30": true, "12:00:00": false},
		"date-time": {"2024-02-29T00:00:00-00:00": true, "2024-02-30T00:00:00Z": false},
		"ipv4":      {"255.0.10.249": true, "256.0.0.1": false, "01.0.0.1": false, "1.2.3": false},
		"email":     {"a.b+c@d-e.org": true, "a@b": false, "a..b@c.org": false},
	} {
		g, err := Schema([]byte(`{"format":"` + format + `"}`))
		if err != nil {
			t.Fatal(err)
		}
		for text, want := range texts {
			if got := reads(g, `"`+text+`"`); got != want {
				t.Errorf("%s: %s: got %t, want %t", format, text, got, want)
			}
		}
	}
}

// Numbers are multiples within the bounds.
func TestMultiples(t *testing.T) {
	for schema, of := range map[string]string{
		`{"type":"integer","multipleOf":7}`: "7", `{"type":"integer","multipleOf":12,"minimum":-50,"maximum":50}`: "12",
		`{"type":"number","multipleOf":0.25}`: "0.25", `{"type":"number","multipleOf":3,"exclusiveMinimum":0}`: "3",
		`{"type":"number","multipleOf":0.000003,"maximum":-0.5,"minimum":-0.75}`: "0.000003",
		`{"type":"integer","multipleOf":2.5}`:                                    "5",
		`{"type":"integer","multipleOf":999999999999999}`:                        "999999999999999",
	} {
		m, _ := new(big.Rat).SetString(of)
		drawnOf(t, schema, 60, func(v any) bool {
			x, _ := new(big.Rat).SetString(string(v.(json.Number)))
			return x.Quo(x, m).IsInt()
		})
	}
	for schema, want := range map[string]string{
		`{"multipleOf":0}`: "multipleOf: got 0", `{"multipleOf":-1}`: "got -1", `{"multipleOf":1e2}`: "got 1e2",
		`{"multipleOf":"a"}`: "got \"a\"", `{"multipleOf":0.0000001}`: "at most 6 digits after the point",
		`{"type":"integer","multipleOf":7,"minimum":8,"maximum":13}`: "no number is between its bounds",
	} {
		if _, err := Schema([]byte(schema)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", schema, err, want)
		}
	}
}

// One of several schemas that exclude each other, and all of several with different keywords, are read; others are
// refused with the keyword.
func TestOneOfAndAllOf(t *testing.T) {
	kinds := `{"oneOf":[{"type":"object","properties":{"kind":{"const":"a"},"x":{"type":"integer"}},` +
		`"required":["kind","x"]},{"$ref":"#/$defs/b"},{"type":"null"}],"$defs":{"b":{"type":"object",` +
		`"properties":{"kind":{"enum":["b","c"]}},"required":["kind"]}}}`
	drawnOf(t, kinds, 100, func(v any) bool {
		o, ok := v.(map[string]any)
		if !ok {
			return v == nil
		}
		_, x := o["x"]
		return o["kind"] == "a" && x || (o["kind"] == "b" || o["kind"] == "c") && !x
	})
	drawnOf(t, `{"allOf":[{"$ref":"#/$defs/named"},{"properties":{"age":{"type":"integer"}},"required":["age"]}],`+
		`"$defs":{"named":{"type":"object","properties":{"name":{"type":"string","maxLength":4}},`+
		`"required":["name"]}}}`, 60, func(v any) bool {
		o := v.(map[string]any)
		return o["name"] != nil && o["age"] != nil && len(o) == 2
	})
	drawnOf(t, `{"type":"integer","minimum":3,"allOf":[{"maximum":9},{"type":"integer","multipleOf":4}]}`, 20,
		func(v any) bool { return v == json.Number("4") || v == json.Number("8") })
	for schema, want := range map[string]string{
		`{"oneOf":[{"type":"integer"},{"type":"number"}]}`:                "may have the schemas 0 and 1",
		`{"oneOf":[{"const":1},{"const":1.0}]}`:                           "the schemas 0 and 1",
		`{"oneOf":[{"type":"object"},{"type":"object"},{"type":"null"}]}`: "the schemas 0 and 1",
		`{"allOf":[{"minimum":1},{"minimum":2}]}`:                         "minimum: in several schemas",
		`{"allOf":[true]}`:                       "allOf[0]: got true",
		`{"allOf":[{"$ref":"#/x","minimum":1}]}`: "allOf[0]: got ",
		`{"allOf":[{"properties":{"a":{}}},{"additionalProperties":false}]}`:       "additionalProperties:",
		`{"$ref":"#/$defs/a","$defs":{"a":{"allOf":[{"$ref":"#/$defs/a"}]}}}`:      "allOf: more than",
		`{"allOf":[{"properties":{"a":{"type":"null"}}},{"properties":{"a":{}}}]}`: "properties.a: in several",
	} {
		if _, err := Schema([]byte(schema)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", schema, err, want)
		}
	}
}
