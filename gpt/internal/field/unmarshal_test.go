package field

import (
	"strings"
	"testing"
)

// Errors of a file name the place, the key, and the actual and required value, without types of Go.
func TestUnmarshal(t *testing.T) {
	type inner struct {
		Ids   []int             `json:"ids"`
		Sizes map[string]int    `json:"sizes"`
		Rate  *float64          `json:"rate"`
		On    bool              `json:"on"`
		List  []struct{ A int } `json:"list"`
		Deep  [][]float64       `json:"deep"`
		Name  string            `json:"name"`
	}
	type file struct {
		In inner `json:"in"`
	}
	for text, want := range map[string]string{
		`{"in": {"ids": "x"}}`:               `line 1, column 18: in.ids: got a string, want a list of whole numbers`,
		"{\n  \"in\": {\n\t\"ids\": [1.5]}}": `line 3, column 12: in.ids: got 1.5, want a whole number`,
		`{"in": {"sizes": [1]}}`:             `line 1, column 18: in.sizes: got a list, want an object`,
		`{"in": {"rate": true}}`:             `in.rate: got true or false, want a number`,
		`{"in": {"on": 1}}`:                  `in.on: got a number, want true or false`,
		`{"in": {"list": {}}}`:               `in.list: got an object, want a list of objects`,
		`{"in": {"deep": 7}}`:                `in.deep: got a number, want a list`,
		`{"in": {"name": []}}`:               `in.name: got a list, want a string`,
		`"x"`:                                `line 1, column 3: got a string, want an object`,
		`{"in": 1`:                           `line 1, column 8: unexpected end of JSON input`,
		"{\n\"in\": }":                       `line 2, column 7: invalid character '}' looking for beginning of value`,
		"{}\n x":                             `line 2, column 2: invalid character 'x' after top-level value`,
		``:                                   `unexpected end of JSON input`,
		`{"in": {"ids": [` + strings.Repeat("9", 99) + `]}}`: `in.ids: got ` + strings.Repeat("9", 64) +
			`…, want a whole number`,
	} {
		for name, read := range map[string]func([]byte, any) error{
			"Unmarshal": Unmarshal, "UnmarshalStrict": UnmarshalStrict,
		} {
			err := read([]byte(text), new(file))
			if err == nil || !strings.HasSuffix(err.Error(), want) || !strings.HasPrefix(err.Error(), "line ") &&
				text != "" {
				t.Errorf("%s: %s: got %v, want %s", name, text, err, want)
			}
		}
		if _, value, ok := strings.Cut(want, "in."); ok {
			if err := UnmarshalPart([]byte(text), new(file)); err == nil || err.Error() != "in."+value {
				t.Errorf("UnmarshalPart: %s: got %v, want in.%s", text, err, value)
			}
		}
	}
	const unknown = `{"in": {"other": 1}}`
	if err := UnmarshalStrict([]byte(unknown), new(file)); err == nil || err.Error() != `unknown field "other"` {
		t.Errorf("got %v, want an unknown field", err)
	}
	if err := Unmarshal([]byte(unknown), new(file)); err != nil {
		t.Error(err)
	}
}
