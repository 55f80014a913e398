package jinja

import (
	"bytes"
	"encoding/json"
	"maps"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// talks returns conversations, by the roles and contents of their messages.
func talks() (list []map[string]any) {
	for _, turns := range [][]string{
		{"user", " Hi \n"},
		{"system", "Be brief. /no_think", "user", "Hi", "assistant", "<think>\nwell\n</think>\n\nYes."},
		{"user", "a", "assistant", "<think>b</think>c", "user", "<|im_end|>é"},
		{"system", " s ", "user", "a", "assistant", "b ", "user", "c"},
		{"user", "a", "user", "b"},
		{"assistant", "a"},
	} {
		var messages []any
		for i := 0; i < len(turns); i += 2 {
			messages = append(messages, map[string]any{"role": turns[i], "content": turns[i+1]})
		}
		list = append(list, map[string]any{"messages": messages, "bos_token": "<s>", "eos_token": "</s>", "tools": nil,
			"add_generation_prompt": turns[len(turns)-2] != "assistant"})
	}
	with := maps.Clone(list[1])
	with["tools"] = []any{map[string]any{"function": map[string]any{"description": "two\n\"lines\"", "name": "f",
		"parameters": map[string]any{"properties": map[string]any{}, "required": []any{"a", "é"}, "type": "object"}}, "type": "function"}}
	return append(list, with)
}

// TestHuggingFaceJinja compares templates of the forms of published ones with Hugging Face's library: the same text, or
// both refuse. PEDESTRIAN_JINJA is its unpacked package of npm.
func TestHuggingFaceJinja(t *testing.T) {
	library := os.Getenv("PEDESTRIAN_JINJA")
	if library == "" {
		t.Skip("set PEDESTRIAN_JINJA to the unpacked package @huggingface/jinja of npm")
	}
	paths, err := filepath.Glob("testdata/*.jinja")
	must(t, err)
	type task struct {
		Template string         `json:"template"`
		Values   map[string]any `json:"values"`
	}
	var tasks []task
	var names []string
	for _, path := range paths {
		data, err := os.ReadFile(path)
		must(t, err)
		for _, values := range talks() {
			tasks, names = append(tasks, task{string(data), values}), append(names, path)
		}
	}
	in, err := json.Marshal(tasks)
	must(t, err)
	library, err = filepath.Abs(library)
	must(t, err)
	cmd := exec.Command("node", "testdata/oracle.mjs", library)
	cmd.Stdin = bytes.NewReader(in)
	out, err := cmd.Output()
	must(t, err)
	var want []string
	must(t, json.Unmarshal(out, &want))
	refused := 0
	for i, task := range tasks {
		got, err := Render(task.Template, task.Values)
		if err != nil && want[i] == "refused" {
			refused++
			continue
		}
		if err != nil || got.S != want[i] || len(got.By) != len(got.S) {
			t.Errorf("%s, conversation %d: got %q (%v), want %q", names[i], i%len(talks()), got.S, err, want[i])
		}
	}
	if len(tasks) < 66 || refused == 0 || refused > len(tasks)/2 {
		t.Errorf("%d of %d were refused", refused, len(tasks))
	}
}

// Values and statements by their texts.
func TestRender(t *testing.T) {
	values := map[string]any{"n": 3, "s": "aXb", "l": []any{"p", "q"}, "o": map[string]any{"k": "v"}, "none": nil}
	for template, want := range map[string]string{
		"{{ 1 + 2 * 3 }} {{ 7 / 2 }} {{ 6 / 2 }} {{ 7 // 2 }} {{ -7 % 3 }} {{ -n }}":                                                      "7 3.5 3.0 3 2 -3",
		"{{ n > 2 > 1 }} {{ 1 == 1.0 }} {{ not n }} {{ n in [3] }} {{ 'x' not in s }}":                                                    "True True False True True",
		"{{ 'a' ~ 1 + 2 if n else 0 }}":                                                                                                   "", // replaced below
		"{{ l[-1] }} {{ l[::-1] | join }} {{ s[1:] }} {{ s[5] }}{{ l[9] }}":                                                               "q qp Xb ",
		"{{ o.k }} {{ o['k'] }} {{ o.get('z', 'd') }} {{ o.z }}{{ o.items() | list | length }}":                                           "v v d 1",
		"{% for k, v in o.items() %}{{ k }}={{ v }}{% endfor %}":                                                                          "k=v",
		"{% for x in l %}{{ loop.index }}{{ x }}{% if not loop.last %},{% endif %}{% endfor %}":                                           "1p,2q",
		"{% for x in [] %}a{% else %}b{% endfor %}":                                                                                       "b",
		"{% for x in range(9) if x % 2 %}{% if x > 5 %}{% break %}{% endif %}{% if x == 3 %}{% continue %}{% endif %}{{ x }}{% endfor %}": "15",
		"{% set x = 1 %}{% for i in l %}{% set x = 2 %}{% endfor %}{{ x }}":                                                               "1",
		"{% set ns = namespace(x=1) %}{% for i in l %}{% set ns.x = ns.x + 1 %}{% endfor %}{{ ns.x }}":                                    "3",
		"{% if false %}a{% elif true %}b{% else %}c{% endif %}":                                                                           "b",
		"{% macro m(a, b='x') %}{{ a }}{{ b }}{% endmacro %}{{ m(1) }}{{ m(2, b=3) }}":                                                    "1x23",
		"{% set t %}a{{ n }}{% endset %}{{ t | upper }}":                                                                                  "A3",
		"a\n  {% if true %}\n  b\n  {% endif %}\nc\n":                                                                                     "a\n  b\nc",
		"a  {%- if true -%}  b  {%- endif +%}  c":                                                                                         "ab  c",
		"{# x #}\na{#- y -#} b": "ab",
		`{{ "\n\t\\\x41é\q" }}`: "\n\t\\Aé\\q",
		"{{ s | replace('X', '--') }} {{ ' a b '.strip() }} {{ 'xxaxx'.strip('x') }} {{ s.find('b') }}":                     "a--b a b a 2",
		"{{ 'a-b-c'.split('-', 1) | join('+') }} {{ ' a  b '.split() | join('+') }} {{ 'é'|upper }}":                        "a+b-c a+b É",
		"{{ o | tojson }} {{ [1, none, true, 's<'] | tojson }}":                                                             `{"k": "v"} [1, null, true, "s<"]`,
		"{{ x is defined }} {{ n is defined and n is not none }} {{ x is undefined }} {{ s is string }} {{ o is mapping }}": "False True True True True",
		"{{ none is none }} {{ x | default('d') }} {{ '' | default('d', true) }} {{ l | first }}{{ l | last }}":             "True d d pq",
		"{{ [o, o] | map(attribute='k') | join(',') }} {{ [o] | selectattr('k', 'equalto', 'v') | list | length }}":         "v,v 1",
		"{{ {'a': {'b': 1}}.a.b }}{{ }}":                  "",
		"{{ 'x' if false }}|{{ 3 | string ~ '4' | int }}": "|34",
		"{%- generation -%} a {%- endgeneration -%}":      "a",
	} {
		switch {
		case strings.Contains(template, "1 + 2 if n"):
			want = "" // a text and a number: an error
		}
		got, err := Render(template, values)
		if want == "" {
			if err == nil {
				t.Errorf("%q: got %q, want an error", template, got.S)
			}
			continue
		}
		if err != nil || got.S != want || len(got.By) != len(want) {
			t.Errorf("%q: got %q (%v), want %q", template, got.S, err, want)
		}
	}
}

// Every byte keeps its author through all that a template does to a text.
func TestAuthors(t *testing.T) {
	values := map[string]any{"u": By('u', "  a<b>É x</b> "), "a": By('a', "yes")}
	for template, want := range map[string]string{
		"x{{ u | trim }}y{{ a }}":                   "tuuuuuuuuuuuutaaa"[:1] + strings.Repeat("u", len("a<b>É x</b>")) + "taaa",
		"{{ u.split('>')[0] + '|' }}":               "uuuuut",
		"{{ 'é' ~ u[2:4] | upper }}":                "ttuu",
		"{{ u.strip().replace('b', 'tt')[:4] }}":    "uutt",
		"{% set x %}{{ a }}.{% endset %}{{ x }}":    "aaat",
		"{{ [a, 1] | join(', ') }}{{ a | length }}": "aaatttt",
		"{{ {'k': a} | tojson }}":                   "aaaaaaaaaaaa",
		"{{ a.upper().title() }}":                   "aaa",
	} {
		if got, err := Render(template, values); err != nil || got.By != want {
			t.Errorf("%q: got %q by %q (%v), want by %q", template, got.S, got.By, err, want)
		}
	}
}

// TestJSON compares with the texts of json.dumps of Python 3, with ensure_ascii=False.
func TestJSON(t *testing.T) {
	values := map[string]any{"o": map[string]any{
		"a": []any{1, 2.0, nil, true, map[string]any{"b": "q\"\n\t\\\u2028é\x01<\x7f", "c": map[string]any{}}}, "d": []any{},
		"e": 1e16, "f": 1e-5, "g": 123456789.5, "h": 1e22, "i": math.Inf(1), "j": 0.1, "k": -1.5e-7,
	}}
	compact := `{"a": [1, 2.0, null, true, {"b": "q\"\n\t\\` + "\u2028é" + `\u0001<` + "\x7f" + `", "c": {}}], "d": [], "e": 1e+16, "f": 1e-05, ` +
		`"g": 123456789.5, "h": 1e+22, "i": Infinity, "j": 0.1, "k": -1.5e-07}`
	text := `"q\"\n\t\\` + "\u2028é" + `\u0001<` + "\x7f" + `"`
	lines := "{\n>\"a\": [\n>>1,\n>>2.0,\n>>null,\n>>true,\n>>{\n>>>\"b\": " + text + ",\n>>>\"c\": {}\n>>}\n>],\n>\"d\": [],\n>\"e\": 1e+16,\n" +
		">\"f\": 1e-05,\n>\"g\": 123456789.5,\n>\"h\": 1e+22,\n>\"i\": Infinity,\n>\"j\": 0.1,\n>\"k\": -1.5e-07\n}"
	for arguments, want := range map[string]string{
		"": compact, "()": compact, "(indent=none)": compact, "(ensure_ascii=false, sort_keys=true)": compact,
		"(indent=2)": strings.ReplaceAll(lines, ">", "  "), "(indent=0)": strings.ReplaceAll(lines, ">", ""),
		"(indent=-1)": strings.ReplaceAll(lines, ">", ""), "(indent=false)": strings.ReplaceAll(lines, ">", ""),
		"(indent=true)": strings.ReplaceAll(lines, ">", " "), "(indent='--')": strings.ReplaceAll(lines, ">", "--"),
	} {
		got, err := Render("{{ o | tojson"+arguments+" }}", values)
		if err != nil || got.S != want {
			t.Errorf("tojson%s: got\n%s (%v), want\n%s", arguments, got.S, err, want)
		}
	}
	got, err := Render("{{ 1234567.5 }} {{ 10000000000000000.0 }} {{ 3.0 }} {{ 0.00001 }}", nil)
	if want := "1234567.5 1e+16 3.0 1e-05"; err != nil || got.S != want {
		t.Errorf("got %s (%v), want %s", got.S, err, want)
	}
}

// A template that would work without end, or make texts without end, is refused in little time, and so is one that is no
// template.
func TestHostileTemplates(t *testing.T) {
	deep := func(begin, end string, n int) string { return strings.Repeat(begin, n) + "1" + strings.Repeat(end, n) }
	for template, want := range map[string]string{
		"{% for a in range(99999) %}{% for b in range(99999) %}x{% endfor %}{% endfor %}": "more than 524288 steps",
		"{{ range(9999999999) }}": "steps",
		"{% set ns = namespace(x='aaaa') %}{% for a in range(99) %}{% set ns.x = ns.x + ns.x %}{% endfor %}":                   "bytes of text",
		"{% set ns = namespace(x='aaaa') %}{% for a in range(99) %}{% set ns.x = ns.x.replace('a', 'aaaaaaaa') %}{% endfor %}": "bytes of text",
		"{% set ns = namespace(x='aaaa') %}{% for a in range(99) %}{% set ns.x = [ns.x, ns.x] | join %}{% endfor %}":           "bytes of text",
		"{% set ns = namespace(x=[1]) %}{% for a in range(99) %}{% set ns.x = ns.x + ns.x %}{% endfor %}":                      "steps",
		"{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}":                                                                      "more than 100 calls",
		"{% macro m() %}{{ m() }}{{ m() }}{% endmacro %}{{ m() }}":                                                             "more than 100 calls",
		"{{ " + deep("(", ")", 5000) + " }}":                                                                                   "more than 100 expressions",
		"{{ " + deep("-", "", 5000) + " }}":                                                                                    "more than 100 expressions",
		"{{ " + deep("not ", "", 5000) + " }}":                                                                                 "more than 100 expressions",
		"{{ " + deep("[", "]", 5000) + " }}":                                                                                   "more than 100 expressions",
		deep("{% if 1 %}", "{% endif %}", 5000):                                                                                "more than 100 expressions",
		"{% if 1 %}{% elif 1 %}":                                                                                               "has no endif",
		"{% for %}":                                                                                                            "want a name", "{% for a in b %}": "has no endfor", "{% set %}": "want a name", "{% macro m(1) %}": "want a name",
		"{{ 1": "a tag has no end", "{{ 'a }}": "a string has no end", "{# a": "a comment has no end", "{{ 1 $ }}": "in a tag",
		"{{ a.b }}": "a is undefined", "{{ f() }}": "cannot be called", "{{ x | nothing }}": "unknown filter", "{{ x is nothing }}": "unknown test",
		"{% import 'x' %}": "unknown statement \"import\"", "{% endif %}": "unknown statement", "{{ 1 / 0 }}": "/ 0", "{{ range }}": "cannot write",
		"{{ 'a' + 1 }}": "cannot compute a text + a number", "{{ '\\ud800' }}": "want a character",
		"{{ [] | tojson(indent=101) }}": "indent: got 101, want at most 100", "{{ [] | tojson(indent=1.5) }}": "indent: got a number, want a whole number",
		"{{ [] | tojson(separators=(',', ':')) }}": "tojson: separators is not supported", "{{ [] | tojson(ensure_ascii=true) }}": "tojson: ensure_ascii is not",
		"{{ [] | tojson(2) }}": "tojson: want names of arguments",
		"{% set ns = namespace(x=1) %}{% for a in range(9999) %}{% set ns.x = [ns.x] %}{% endfor %}{{ ns.x | tojson(indent=100) }}": "bytes of text",
		"{{ raise_exception('no') }}": "line 1: the template refuses this: no", "\n\n{{ 1 + none }}": "line 3", "{{ 'a'[1:2:0] }}": "step 0",
		"{% set ns = namespace() %}{% set ns.l = [ns] %}{{ ns.l | tojson }}": "as JSON", "{{ strftime_now('%Q') }}": "unknown mark",
		"{% set ns = namespace(x=1) %}{% for a in range(99) %}{% set ns.x = [ns.x, ns.x] %}{% endfor %}{{ ns.x == ns.x }}":   "steps",
		"{% set ns = namespace(x=1) %}{% for a in range(99) %}{% set ns.x = [ns.x, ns.x] %}{% endfor %}{{ ns.x | tojson }}":  "steps",
		"{% set ns = namespace(x=1) %}{% for a in range(99) %}{% set ns.x = [ns.x, ns.x] %}{% endfor %}{{ ns.x in [ns.x] }}": "steps",
		strings.Repeat(" ", maxTemplate+1): "bytes, want at most",
		"{% set x = range(2000) | list %}{% for a in x %}{% for b in x %}{% for c in x %}{% endfor %}{% endfor %}{% endfor %}": "steps",
	} {
		begin := time.Now()
		got, err := Render(template, nil)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.80q: got %.80q and error %v, want %q in it", template, got.S, err, want)
		}
		if took := time.Since(begin); took > 20*time.Second {
			t.Errorf("%.80q took %v", template, took)
		}
	}
}

// FuzzRender: no template makes it fail, whatever it contains.
func FuzzRender(f *testing.F) {
	paths, _ := filepath.Glob("testdata/*.jinja")
	for _, path := range paths {
		data, _ := os.ReadFile(path)
		f.Add(string(data))
	}
	values := talks()[3]
	f.Fuzz(func(t *testing.T, template string) {
		if got, err := Render(template, values); err == nil && len(got.S) != len(got.By) {
			t.Errorf("got %d bytes by %d authors", len(got.S), len(got.By))
		}
	})
}

func TestDate(t *testing.T) {
	now := time.Date(2026, 1, 2, 15, 4, 5, 0, time.UTC)
	if got, err := date("%d %b %Y, %A %H:%M:%S %I%p 100%%", now); err != nil || got.S != "02 Jan 2026, Friday 15:04:05 03PM 100%" {
		t.Errorf("got %q (%v)", got.S, err)
	}
}
