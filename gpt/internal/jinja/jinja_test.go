package jinja

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pedestrian-ml/pedestrian/internal/fuzzed"
	"github.com/pkg/errors"
)

func render(template string, values map[string]any) (Text, error) {
	t, err := Parse(template)
	if err != nil {
		return Text{}, err
	}
	return t.Render(context.Background(), valuesOf(values))
}

// valuesOf returns values in which maps are objects, in the order of their names, and strings are texts.
func valuesOf(values map[string]any) map[string]any {
	var convert func(v any) any
	convert = func(v any) any {
		switch v := v.(type) {
		case string:
			return plain(v)
		case []any:
			list := make([]any, len(v))
			for i, e := range v {
				list[i] = convert(e)
			}
			return list
		case map[string]any:
			o := &Object{}
			for _, name := range slices.Sorted(maps.Keys(v)) {
				o.Set(plain(name), convert(v[name]))
			}
			return o
		}
		return v
	}
	converted := map[string]any{}
	for name, v := range values {
		converted[name] = convert(v)
	}
	return converted
}

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
		"parameters": map[string]any{"properties": map[string]any{}, "required": []any{"a", "é"}, "type": "object"}},
		"type": "function"}}
	return append(list, with)
}

// task is a template to render elsewhere.
type task struct {
	Template string         `json:"template"`
	Values   map[string]any `json:"values"`
}

// ask returns the texts that another program renders, or "refused".
func ask(t *testing.T, tasks []task, program ...string) (want []string) {
	t.Helper()
	in, err := json.Marshal(tasks)
	must(t, err)
	cmd := exec.Command(program[0], program[1:]...)
	cmd.Stdin = bytes.NewReader(in)
	out, err := cmd.Output()
	must(t, err)
	must(t, json.Unmarshal(out, &want))
	if len(want) != len(tasks) {
		t.Fatalf("got %d answers to %d tasks", len(want), len(tasks))
	}
	return want
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
	var tasks []task
	var names []string
	for _, path := range paths {
		data, err := os.ReadFile(path)
		must(t, err)
		for _, values := range talks() {
			tasks, names = append(tasks, task{string(data), values}), append(names, path)
		}
	}
	library, err = filepath.Abs(library)
	must(t, err)
	want := ask(t, tasks, "node", "testdata/oracle.mjs", library)
	refused := 0
	for i, task := range tasks {
		got, err := render(task.Template, task.Values)
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

// Every byte keeps its author through all that a template does to a text.
func TestAuthors(t *testing.T) {
	values := map[string]any{"u": By('u', "  a<b>É x</b> "), "a": By('a', "yes")}
	for template, want := range map[string]string{
		"x{{ u | trim }}y{{ a }}": "tuuuuuuuuuuuutaaa"[:1] + strings.Repeat("u", len("a<b>É x</b>")) +
			"taaa",
		"{{ u.split('>')[0] + '|' }}":               "uuuuut",
		"{{ 'é' ~ u[2:4] | upper }}":                "ttuu",
		"{{ u.strip().replace('b', 'tt')[:4] }}":    "uutt",
		"{% set x %}{{ a }}.{% endset %}{{ x }}":    "aaat",
		"{{ [a, 1] | join(', ') }}{{ a | length }}": "aaatttt",
		"{{ {'k': a} | tojson }}":                   "aaaaaaaaaaaa",
		"{{ a.upper().title() }}":                   "aaa",
	} {
		if got, err := render(template, values); err != nil || got.By != want {
			t.Errorf("%q: got %q by %q (%v), want by %q", template, got.S, got.By, err, want)
		}
	}
}

// TestJSON compares with the texts of json.dumps of Python 3, with ensure_ascii=False.
func TestJSON(t *testing.T) {
	values := map[string]any{"o": map[string]any{
		"a": []any{1, 2.0, nil, true, map[string]any{"b": "q\"\n\t\\\u2028é\x01<\x7f", "c": map[string]any{}}},
		"d": []any{},
		"e": 1e16, "f": 1e-5, "g": 123456789.5, "h": 1e22, "i": math.Inf(1), "j": 0.1, "k": -1.5e-7,
	}}
	compact := `{"a": [1, 2.0, null, true, {"b": "q\"\n\t\\` + "\u2028é" + `\u0001<` + "\x7f" +
		`", "c": {}}], "d": [], "e": 1e+16, "f": 1e-05, ` +
		`"g": 123456789.5, "h": 1e+22, "i": Infinity, "j": 0.1, "k": -1.5e-07}`
	text := `"q\"\n\t\\` + "\u2028é" + `\u0001<` + "\x7f" + `"`
	lines := "{\n>\"a\": [\n>>1,\n>>2.0,\n>>null,\n>>true,\n>>{\n>>>\"b\": " + text +
		",\n>>>\"c\": {}\n>>}\n>],\n>\"d\": [],\n>\"e\": 1e+16,\n" +
		">\"f\": 1e-05,\n>\"g\": 123456789.5,\n>\"h\": 1e+22,\n>\"i\": Infinity,\n>\"j\": 0.1,\n>\"k\": -1.5e-07\n}"
	for arguments, want := range map[string]string{
		"": compact, "()": compact, "(indent=none)": compact, "(ensure_ascii=false, sort_keys=true)": compact,
		"(indent=2)": strings.ReplaceAll(lines, ">", "  "), "(indent=0)": strings.ReplaceAll(lines, ">", ""),
		"(indent=-1)": strings.ReplaceAll(lines, ">", ""), "(indent=false)": strings.ReplaceAll(lines, ">", ""),
		"(indent=true)": strings.ReplaceAll(lines, ">", " "), "(indent='--')": strings.ReplaceAll(lines, ">", "--"),
	} {
		got, err := render("{{ o | tojson"+arguments+" }}", values)
		if err != nil || got.S != want {
			t.Errorf("tojson%s: got\n%s (%v), want\n%s", arguments, got.S, err, want)
		}
	}
	got, err := render("{{ 1234567.5 }} {{ 10000000000000000.0 }} {{ 3.0 }} {{ 0.00001 }}", nil)
	if want := "1234567.5 1e+16 3.0 1e-05"; err != nil || got.S != want {
		t.Errorf("got %s (%v), want %s", got.S, err, want)
	}
}

// hostile holds templates that must end soon and need little memory, with a part of their error, or "" for none.
func hostile() map[string]string {
	deep := func(begin, end string, n int) string { return strings.Repeat(begin, n) + "1" + strings.Repeat(end, n) }
	const work = "of work and memory"
	twice := func(x, change, use string) string {
		return "{% set ns = namespace(x=" + x + ") %}{% for a in range(99) %}{% set ns.x = " + change +
			" %}{% endfor %}" + use
	}
	large := "{% set ns = namespace(x='a') %}{% for i in range(20) %}{% set ns.x = ns.x + ns.x %}{% endfor %}{% set " +
		"s = ns.x %}"
	const many = maxTemplate / 8
	million := func(part string) string { return strings.Repeat(part, maxTemplate/len(part)) }
	repeat := func(part string) string { return strings.Repeat(part, many/len(part)) }
	loop := func(what string) string {
		return large + "{% set t = s + 'b' %}{% for i in range(2000) %}{% if " + what + " %}{% endif %}{% endfor %}"
	}
	return map[string]string{
		"{% for a in range(99999) %}{% for b in range(99999) %}x{% endfor %}{% endfor %}": work,
		"{{ range(9999999999) }}": "at most 100000", "{{ range(-9223372036854775807, " +
			"9223372036854775807) }}": "at most 100000",
		twice("'aaaa'", "ns.x + ns.x", ""): work, twice("'aaaa'", "ns.x.replace('a', 'aaaaaaaa')", ""): work,
		twice("'aaaa'", "[ns.x, ns.x] | join", ""): work, twice("[1]", "ns.x + ns.x", ""): work,
		twice("1", "[ns.x, ns.x]", "{{ ns.x == ns.x }}"): work, twice("1", "[ns.x, ns.x]", "{{ ns.x | tojson }}"): work,
		twice("1", "[ns.x, ns.x]", "{{ ns.x in [ns.x] }}"): work, twice("1", "[ns.x, ns.x]", "{{ ns.x }}"): work,
		twice("1", "ns.x * 10", ""):       "more than 64 bits",
		"{{ 'a' * 9223372036854775807 }}": work, "{{ [1] * 9223372036854775807 }}": work,
		"{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}":          "more than 100 calls",
		"{% macro m() %}{{ m() }}{{ m() }}{% endmacro %}{{ m() }}": "more than 100 calls",
		"{% for a in [1] recursive %}{{ loop([1]) }}{% endfor %}":  "more than 100 calls",
		"{% set x = range(2000) | list %}{% for a in x %}{% for b in x %}{% for c in x %}{% endfor %}{% endfor %}{% " +
			"endfor %}": work,
		twice(
			"1", "[ns.x]", "{% for a in range(99) %}{% set ns.x = [ns.x] %}{% endfor %}{{ ns.x | tojson }}",
		): "within each other",
		twice(
			"1", "[ns.x]", "{% for a in range(99) %}{% set ns.x = [ns.x] %}{% endfor %}{{ ns.x == ns.x }}",
		): "within each other",

		"{{ " + deep("(", ")", 5000) + " }}":           "more than 100 expressions",
		"{{ " + deep("-", "", 5000) + " }}":            "more than 100 expressions",
		"{{ " + deep("not ", "", 5000) + " }}":         "more than 100 expressions",
		"{{ " + deep("[", "]", 5000) + " }}":           "more than 100 expressions",
		deep("{% if 1 %}", "{% endif %}", 5000):        "more than 100 expressions",
		"{{ " + deep("1 if 1 else ", "", 5000) + " }}": "more than 100 expressions",
		strings.Repeat(" ", maxTemplate+1):             "bytes, want at most",

		// Large templates, which are read in linear time and evaluated without depth.
		million("{##}"): "", million("{%set a=1%}"): "", repeat("{% set a = 1 %}\n"): "", repeat("{{1}}"): "",
		repeat("{"): "", repeat("\n {#x#}"): "",
		"{{ " + million("'a'")[:maxTemplate-7] + " }}": "",
		"{{ 1" + repeat("+1") + " }}":                  "", "{{ 1" + repeat("|e") + " }}": "",
		"{{ 1" + repeat("<1") + " }}": "",
		"{{ a" + repeat(".a") + " }}": "a is undefined", "{{ a" + repeat("[1]") + " }}": "no item",
		"{{ a" + repeat("()") + " }}":  "cannot be called",
		"{{ [" + repeat("1,") + "] }}": "", "{{ {" + repeat("1:1,") + "} }}": "", "{{ 1" + repeat("~1") + " }}": "",
		"{% if 0 %}" + repeat("{% elif 0 %}") + "{% endif %}": "", repeat("{{"): "more than 100",
		repeat("{%"): "want a name", repeat("{#"): "a comment has no end",
		"{{ '" + repeat("\\n") + "' }}": "", "{{ '" + repeat("a"): "a string has no end",
		"{{ " + repeat("9"): "64 bits",

		// Long texts.
		large + "{% set s = s[:1048576] %}{{ s.strip(s) | length }}":    "",
		large + "{{ s | length }}{{ s | length }}{{ s[::2] | length }}": "", loop("t in s"): work, loop("s == t"): work,
		loop("s < t"): work, loop("s in {s: 1}"): work, loop("s in {'a': 1}"): work, loop("{}[s]"): work,
		loop("s.startswith(t)"): work, loop("s.find(t)"): work, loop("s|upper"): work,
		loop("s is lower"): work, loop("[1]|map(attribute=s)"): work, loop("[1]|map(s)"): "unknown filter",
		loop("s.removeprefix(t)"): work, loop("s.split(s)"): work,
		loop("s[1]"): work, loop("s|first"): work, loop("s.format()"): work, loop("s % ()"): work, loop("s|int"): work,
		loop("s.splitlines()"): work,
		loop("s|reverse"):      work, loop("s|tojson"): work, loop("s ~ s"): work, loop("s|e"): work,
		loop("s|title"): work, loop("s|indent"): work, loop("s|trim(t)"): work,
		loop("{s: 1} == {s: 1}"): work, loop("strftime_now(s)"): work, loop("{s: 1, t: 2}"): work,
		loop("[s]|unique"): work, loop("[s, t]|sort"): work, loop("s.count(t)"): work,
		large + "{% for c in s %}{% endfor %}": work, large + "{{ s | list }}": work,
		large + "{{ s.split('a') }}": work, large + "{{ s.replace('', 'a') }}": work,
		large + "{{ ('%' + s) % () }}": "no value", large + "{{ ('%%' * 999999) % () }}": work,
		large + "{{ [s] * 99999 }}": work, large + "{{ ([s] * 999)|join }}": work,
	}
}

// little renders a template with a little work, and checks its text.
func little(template string, work int) error {
	t, err := Parse(template)
	if err != nil {
		return err
	}
	t.work = work
	got, err := t.Render(context.Background(), valuesOf(talks()[3]))
	if err == nil && len(got.S) != len(got.By) {
		err = errors.Errorf("got %d bytes by %d authors", len(got.S), len(got.By))
	}
	return err
}

// No template works without end or makes texts without end.
func TestHostileTemplates(t *testing.T) {
	for template, want := range hostile() {
		work := maxWork
		if strings.HasSuffix(want, "memory") {
			work /= 8
		}
		var err error
		fuzzed.Bounded(t, fuzzed.Linear(len(template))+work, 10*time.Second, func() { err = little(template, work) })
		if want == "" != (err == nil) || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf(
				"%.40q … %.40q: got error %v, want %q in it", template, template[max(0, len(template)-40):], err, want,
			)
		}
	}
}

// A fault of a template is an error with its line.
func TestFaults(t *testing.T) {
	for template, want := range map[string]string{
		"{% if 1 %}{% elif 1 %}": "has no endif", "{% for %}": "want a name", "{% for a in b %}": "has no endfor",
		"{% set %}":        "want a name",
		"{% macro m(1) %}": "want a name", "{{ 1": "a tag has no end", "{{ 'a }}": "a string has no end",
		"{# a": "a comment has no end", "{{ 1 $ }}": "in a tag",
		"{{ a.b }}": "a is undefined", "{{ f() }}": "cannot be called", "{{ x | nothing }}": `unknown filter "nothing"`,
		"{{ x is nothing }}": `unknown test "nothing"`,
		"{% import 'x' %}":   "unknown statement \"import\"", "{% endif %}": "unknown statement", "{{ 1 / 0 }}": "/ 0",
		"{{ 1 // 0 }}": "// 0", "{{ range }}": "cannot write",
		"{{ 'a' + 1 }}": "cannot compute a text + a number", "{{ '\\ud800' }}": "want a character",
		"{{ 9999999999999999999 }}":       "64 bits",
		"{{ [] | tojson(indent=101) }}":   "indent: got 101, want at most 100",
		"{{ [] | tojson(indent=1.5) }}":   "indent: got a number, want a whole number",
		"{{ [] | tojson(separators=1) }}": "separators: got a number, want two texts",
		"{{ [] | tojson(x=1) }}":          "tojson: got an argument x",
		"{{ raise_exception('no') }}":     "line 1: raise_exception: the template refuses this: no",
		"\n\n{{ 1 + none }}":              "line 3", "{{ 'a'[1:2:0] }}": "step 0",
		"{% set ns = namespace() %}{% set ns.l = [ns] %}{{ ns.l | tojson }}": "cannot write a namespace",
		"{{ strftime_now('%Q') }}": "unknown mark",
		"{% set a.b = 1 %}":        "a is no namespace", "{% set a, b = [1] %}": "got 1 values for 2 names",
		"{% call 1 %}{% endcall %}":                     "want a call",
		"{% for a in [1] %}{{ loop([1]) }}{% endfor %}": "in a loop that is recursive",
		"{{ '{'.format() }}":                            "stands alone", "{{ [1]|batch(0) }}": "at least 1",
		"{{ 'a'.split('') }}": "empty separator", "{{ 9223372036854775807 + 1 }}": "64 bits",
		"{{ 3 ** 99 }}": "64 bits", "{{ (-9223372036854775807 - 1) // -1 }}": "64 bits",
		"{{ '%9999d' % 1 }}": "want a width", "{{ [1, 'a'] | max }}": "has no order",
		"{{ {}|dictsort(by='x') }}": "want key or value", "{{ 1|round(999) }}": "a precision",
	} {
		if got, err := render(template, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %q and error %v, want %q in it", template, got.S, err, want)
		}
	}
}

// A panic of the interpreter is an error, as with a value that Render does not take.
func TestPanicIsAnError(t *testing.T) {
	template, err := Parse("{{ x[0] }}")
	must(t, err)
	var broken *Object
	if _, err := template.Render(t.Context(), map[string]any{"x": broken}); err == nil ||
		!strings.Contains(err.Error(), "a fault of the interpreter") {
		t.Errorf("got error %v", err)
	}
}

// A template ends soon after its context.
func TestRenderHeedsContext(t *testing.T) {
	template, err := Parse("{% for a in range(99999) %}{% for b in range(99999) %}x{% endfor %}{% endfor %}")
	must(t, err)
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("the client has left"))
	if _, err := template.Render(ctx, nil); err == nil || !strings.Contains(err.Error(), "the client has left") {
		t.Errorf("got error %v, want the context's", err)
	}
}

// FuzzRender: no template makes it fail, or takes long or much memory, whatever it contains.
func FuzzRender(f *testing.F) {
	paths, _ := filepath.Glob("testdata/*.jinja")
	for _, path := range paths {
		data, _ := os.ReadFile(path)
		f.Add(string(data))
	}
	for _, c := range rendered {
		f.Add(c.template)
	}
	for template := range hostile() {
		f.Add(template)
	}
	f.Fuzz(func(t *testing.T, template string) {
		const work = maxWork / 8
		fuzzed.Bounded(t, fuzzed.Linear(len(template))+work, 10*time.Second, func() {
			if err := little(template, work); err != nil && (strings.Contains(err.Error(), "a fault of") ||
				strings.Contains(err.Error(), "authors")) {
				t.Error(err)
			}
		})
	})
}

func TestDate(t *testing.T) {
	now := time.Date(2026, 1, 2, 15, 4, 5, 0, time.UTC)
	if got := date("%d %b %Y, %A %H:%M:%S %I%p 100%%", now); got.S != "02 Jan 2026, Friday 15:04:05 03PM 100%" {
		t.Errorf("got %q", got.S)
	}
}
