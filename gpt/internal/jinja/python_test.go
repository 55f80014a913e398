package jinja

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

// rendered holds templates and the texts that Jinja2 3.1.6 makes of them, with the values of renderedValues; an empty
// text stands for an error.
var rendered = []struct{ template, want string }{
	{"{{ 1 + 2 * 3 }} {{ 7 / 2 }} {{ 6 / 2 }} {{ 7 // 2 }} {{ -7 % 3 }} {{ -7 // 3 }} {{ -n }}", "7 3.5 3.0 3 2 -3 -3"},
	{
		"{{ n > 2 > 1 }} {{ 1 == 1.0 }} {{ not n }} {{ n in [3] }} {{ 'x' not in s }} {{ 1 < 2 > 3 }} {{ 'a' < 'b' }}",
		"True True False True True False True",
	},
	{"{{ 'a' ~ 1 + 2 if n else 0 }}", ""}, // a text and a number
	{
		"{{ l[-1] }} {{ l[::-1] | join }} {{ s[1:] }} {{ s[5] }}{{ l[9] }}|{{ 'héé'[::-1] }}{{ 'héé'[-2:] }}{{ " +
			"l[5:1:-2] }}",
		"q qp Xb |ééhéé[]",
	},
	{"{{ o.k }} {{ o['k'] }} {{ o.get('z', 'd') }} {{ o.z }}{{ o.items() | list | length }}", "v v d 1"},
	{"{% for x in l %}{{ loop.index }}{{ x }}{% if not loop.last %},{% endif %}{% endfor %}", "1p,2q"},
	{"{% for x in [] %}a{% else %}b{% endfor %}", "b"},
	{
		"{% for x in range(9) if x % 2 %}{% if x > 5 %}{% break %}{% endif %}{% if x == 3 %}{% continue %}{% endif " +
			"%}{{ x }}{% endfor %}",
		"15",
	},
	{"{% set x = 1 %}{% for i in l %}{% set x = 2 %}{% endfor %}{{ x }}", "1"},
	{"{% set ns = namespace(x=1) %}{% for i in l %}{% set ns.x = ns.x + 1 %}{% endfor %}{{ ns.x }}", "3"},
	{"{% if false %}a{% elif true %}b{% else %}c{% endif %}", "b"},
	{"{% macro m(a, b='x') %}{{ a }}{{ b }}{% endmacro %}{{ m(1) }}{{ m(2, b=3) }}", "1x23"},
	{"{% macro m(a) %}{{ a }}{% endmacro %}{{ m(1, 2) }}", ""},
	{"{% set t %}a{{ n }}{% endset %}{{ t | upper }}", "A3"},
	{"a\n  {% if true %}\n  b\n  {% endif %}\nc\n", "a\n  b\nc"},
	{"a  {%- if true -%}  b  {%- endif +%}\n  c", "ab\n  c"},
	{"{# x #}\na{#- y -#} b", "ab"},
	{`{{ "\n\t\\\x41é\q" }}`, "\n\t\\Aé\\q"},
	{"{{ s | replace('X', '--') }} {{ ' a b '.strip() }} {{ 'xxaxx'.strip('x') }} {{ s.find('b') }}", "a--b a b a 2"},
	{
		"{{ 'a-b-c'.split('-', 1) | join('+') }} {{ ' a  b '.split() | join('+') }} {{ 'é'|upper }} {{ ' a b c " +
			"'.split(none, 1) }}",
		"a+b-c a+b É ['a', 'b c ']",
	},
	{"{{ o | tojson }} {{ [1, none, true, 's<'] | tojson }}", `{"k": "v"} [1, null, true, "s<"]`},
	{
		"{{ x is defined }} {{ n is defined and n is not none }} {{ x is undefined }} {{ s is string }} {{ o is " +
			"mapping }}",
		"False True True True True",
	},
	{
		"{{ none is none }} {{ x | default('d') }} {{ '' | default('d', true) }} {{ l | first }}{{ l | last }}",
		"True d d pq",
	},
	{
		"{{ [o, o] | map(attribute='k') | join(',') }} {{ [o] | selectattr('k', 'equalto', 'v') | list | length }}",
		"v,v 1",
	},
	{"{{ {'a': {'b': 1}}.a.b }}{{ }}", ""},
	{"{{ 'x' if false }}|{{ 3 | string ~ '4' | int }}", "|34"},
	{"{%- generation -%} a {%- endgeneration -%}", "a"},

	// Objects keep their order.
	{"{{ {'b': 1, 'a': 2}|tojson }}", `{"b": 1, "a": 2}`},
	{"{% for k, v in {'b': 1, 'a': 2}|items %}{{ k }}{{ v }} {% endfor %}", "b1 a2 "},
	{"{% for k, v in {'b': 1, 'a': 2}.items() %}{{ k }}{{ v }} {% endfor %}", "b1 a2 "},
	{
		"{% for k in {'b': 1, 'a': 2, 'b': 3} %}{{ k }}{% endfor %}{{ {'b': 1, 'a': 2}.values()|list }}{{ {'b': 1, " +
			"'a': 2}|list }}",
		"ba[1, 2]['b', 'a']",
	},
	{
		"{{ {'b': 1, 'a': 2, 1: none, 2.5: x, 'c': (1,), 'd': ()} }}",
		"{'b': 1, 'a': 2, 1: None, 2.5: Undefined, 'c': (1,), 'd': ()}",
	},
	{
		"{{ {1: 'a', 1.0: 'b', true: 'c'} }} {{ {0: 'a'}[false] }} {{ {'items': 1}.items() | list }} {{ {'items': " +
			"1}['items'] }}",
		"{1: 'c'} a [('items', 1)] 1",
	},
	{"{{ {[1]: 2} }}", ""},
	{
		"{{ {'b': {'y': 1, 'x': 2}, 'a': 2, 1: 3}|tojson }} {{ {'b': 1, 'a': 2}|tojson(sort_keys=true) }}",
		`{"b": {"y": 1, "x": 2}, "a": 2, "1": 3} {"a": 2, "b": 1}`,
	},
	{
		"{{ {'b': 1, 'a': [1, 2]}|tojson(separators=(',', ':')) }} {{ 'é🙂\x7f'|tojson(ensure_ascii=true) }} {{ " +
			"[1]|tojson(none, 1) }}",
		`{"b":1,"a":[1,2]} "\u00e9\ud83d\ude42\u007f" [` + "\n 1\n]",
	},
	{"{{ ['it\\'s', 'a\"b', \"a\\\"b'\", 'é\\n\\x01\\u200b'] }}", `["it's", 'a"b', 'a"b\'', 'é\n\x01\u200b']`},

	// Constructs.
	{"{{ 2 ** 3 }} {{ 2 ** -1 }} {{ -2 ** 2 }} {{ 2 ** 3 ** 2 }} {{ 2.0 ** 2 }}", "8 0.5 4 64 4.0"},
	{"{{ 1e20 }} {{ 1e-5 }} {{ 1_000 }} {{ 1.5e3 }} {{ 2E+2 }} {{ 12.e }}", "1e+20 1e-05 1000 1500.0 200.0 "},
	{"{% set a, b = 1, 2 %}{{ a }}{{ b }}{% set c = 1, %}{{ c }}{% set d = (1, [2]) %}{{ d }}", "12(1,)(1, [2])"},
	{"{% macro m(x) %}<{{ caller(x, 2) }}>{% endmacro %}{% call(a, b) m(1) %}{{ a }}{{ b }}{% endcall %}", "<12>"},
	{"{% macro m() %}<{{ caller() }}>{% endmacro %}{% call m() %}a{{ n }}{% endcall %}", "<a3>"},
	{
		"{% filter upper %}a{{ s }}{% endfilter %}{% filter replace('a', 'b') | upper %}ab{% endfilter %}{% set t | " +
			"trim %} a {% endset %}[{{ t }}]",
		"AAXBBB[a]",
	},
	{
		"{% for i in [1, [2, [3]], 4] recursive %}{{ loop.depth }}{% if i is iterable %}({{ loop(i) }}){% else %}{{ " +
			"i }}{% endif %}{% endfor %}",
		"111(222(33))14",
	},
	{"{{ dict(a=1, b=2) }} {{ dict({'x': 1}, y=2) }}", "{'a': 1, 'b': 2} {'x': 1, 'y': 2}"},
	{
		"{{ [1, 2, 3, 4, 5]|batch(2)|list }} {{ [1, 2, 3]|batch(2, '-')|list }}",
		"[[1, 2], [3, 4], [5]] [[1, 2], [3, '-']]",
	},
	{
		"{% for k, v in {'b': 1, 'A': 3, 'c': 2}|dictsort %}{{ k }}{{ v }} {% endfor %}{{ {'b': 1, 'A': " +
			"3}|dictsort(true) }}{{ {'b': 1, 'A': 3}|dictsort(by='value', reverse=true) }}",
		"A3 b1 c2 [('A', 3), ('b', 1)][('A', 3), ('b', 1)]",
	},
	{"{% for k, v in {1024: 256, 0: 0, 512: 128}|dictsort %}{{ k }}:{{ v }} {% endfor %}", "0:0 512:128 1024:256 "},
	{
		"{{ '<a href=\"x\">&\\'</a>'|e }} {{ ('<'|safe) + '<' }} {{ '<' ~ ('<'|e) }} {{ '<'|escape|e }} {{ '<'|safe }}",
		"&lt;a href=&#34;x&#34;&gt;&amp;&#39;&lt;/a&gt; <&lt; <&lt; &lt; <",
	},
	{"{{ '%s-%d-%05.1f-%x-%%-%-4s|%4s|%+d'|format('a', 3, 2.25, 255, 'b', 'c', 4) }}", "a-3-002.2-ff-%-b   |   c|+4"},
	{
		"{{ '%s' % 'a' }} {{ '%s %s' % (1, [2]) }} {{ '%.2s|%e|%g|%G' % ('abc', 1234.5, 1e6, 0.5) }}",
		"a 1 [2] ab|1.234500e+03|1e+06|0.5",
	},
	{"{{ '%s'|format }}", ""}, {"{{ '%s'|format(1, 2) }}", ""}, {"{{ '%y'|format(1) }}", ""},
	{
		"{{ 42.55|round }} {{ 42.55|round(1) }} {{ 42.55|round(1, 'floor') }} {{ 42.1|round(method='ceil') }} {{ " +
			"2.5|round }} {{ 42|round }} {{ 1234.5|round(-2) }}",
		"43.0 42.5 42.5 43.0 2.0 42 1200.0",
	},
	{
		"{{ [3, 1, 2]|sort }} {{ ['b', 'A', 'c']|sort }} {{ ['b', 'A', 'c']|sort(case_sensitive=true, reverse=true) " +
			"}} {{ [{'x': {'y': 2}}, {'x': {'y': 1}}]|sort(attribute='x.y') }}",
		"[1, 2, 3] ['A', 'b', 'c'] ['c', 'b', 'A'] [{'x': {'y': 1}}, {'x': {'y': 2}}]",
	},
	{"{{ [1, 'a']|sort }}", ""},
	{
		"{{ ['a', 'A', 'b', 1, 1.0]|unique|list }} {{ ['a', 'A']|unique(true)|list }} {{ [{'k': 1}, {'k': " +
			"1}]|unique(attribute='k')|list }}",
		"['a', 'b', 1] ['a', 'A'] [{'k': 1}]",
	},
	{
		"{{ 'a-b-c'.rsplit('-', 1) }} {{ ' a b  c '.rsplit(none, 1) }} {{ 'a--b'.rsplit('-') }} {{ ' a b '.rsplit() }}",
		"['a-b', 'c'] [' a b', 'c'] ['a', '', 'b'] ['a', 'b']",
	},
	{"{{ '{} {0} {}'.format(1) }}", ""}, {
		"{{ '{} {} {n:>4}|{m:<4}|{x:^5}|{p:.2f}|{{}}'.format(1, 'a', n=2, m='b', x='c', p=3.14159) }}",
		"1 a    2|b   |  c  |3.14|{}",
	},
	{"{{ '{1}{0}'.format('a', 'b') }} {{ '{:05d} {:+d} {:.1s} {:x}'.format(42, 1, 'ab', 255) }}", "ba 00042 +1 a ff"},
	{
		"{{ 'aaa'.replace('a', 'b', 2) }} {{ 'ab'.replace('', '-') }} {{ 'ab'.replace('', '-', 2) }} {{ " +
			"'aaa'|replace('a', 'b', 1) }}|{{ 'a'.replace('a', '', 0) }}",
		"bba -a-b- -a-b baa|a",
	},
	{
		"{{ [1, 2] + [3] }} {{ (1,) + (2,) }} {{ 'ab' * 2 }} {{ [0] * 3 }} {{ 'a' * -1 }}|",
		"[1, 2, 3] (1, 2) abab [0, 0, 0] |",
	},
	{"{{ [1] + (2,) }}", ""}, {"{{ -'a' }}", ""}, {"{{ 1 < 'a' }}", ""}, {"{{ x.y }}", ""}, {"{{ x + 'a' }}", ""},
	{"{{ none.y }}|", "|"},
	{
		"{{ [1, 2] == [1, 2.0] }} {{ [1] == (1,) }} {{ [1, 2] < [1, 3] }} {{ {'a': 1, 'b': 2} == {'b': 2, 'a': 1} " +
			"}} {{ none == x }} {{ true == 1 }}",
		"True False True True False True",
	},
	{
		"{{ -3|abs }} {{ 3|float }} {{ '3.7'|int }} {{ 'z'|int(7) }} {{ 'ff'|int(0, 16) }} {{ ' 12 '|int }} {{ " +
			"'z'|float }} {{ '1e3'|float }}",
		"3 3.0 3 7 255 12 0.0 1000.0",
	},
	{
		"{{ [1, 2, 3]|sum }} {{ [{'a': 1}, {'a': 2}]|sum('a', 10) }} {{ [3, 1]|min }} {{ ['a', 'B']|max }} {{ " +
			"[]|max is defined }}",
		"6 13 1 B False",
	},
	{
		"{{ ['a', 'b']|map('upper')|join }} {{ [{'a': 1}, {}]|map(attribute='a', default=0)|list }} {{ [1, 2, " +
			"3]|select('odd')|list }} {{ [1, 2]|reject('eq', 1)|list }} {{ [0, 1]|select|list }}",
		"AB [1, 0] [1, 3] [2] [1]",
	},
	{
		"{{ ['a b', 'c']|map('replace', 'a', 'x')|list }} {{ [{'a': 1}, {'a': 2}]|rejectattr('a', 'gt', 1)|list }} " +
			"{{ [{'a': 0}, {'a': 2}]|selectattr('a')|list }}",
		"['x b', 'c'] [{'a': 1}] [{'a': 2}]",
	},
	{
		"{{ 4 is divisibleby 2 }} {{ 4 is divisibleby(3) }} {{ 3 is odd }} {{ 3 is even }} {{ 1 is in [1] }} {{ 1 " +
			"is eq 1 }} {{ false is sameas false }} {{ 0 is sameas false }} {{ 'a' is lower }} {{ 'A' is upper }}",
		"True False True False True True True False True True",
	},
	{
		"{{ n is integer }} {{ 1.0 is float }} {{ true is boolean }} {{ true is integer }} {{ true is number }} {{ " +
			"range is callable }} {{ x is iterable }} {{ o is sequence }} {{ n is not defined or n is none }}",
		"True True True False True True True True False",
	},
	{
		"{{ \"they're bill's friends-from {the} UK\"|title }} {{ \"they're\".title() }} {{ 'aBC d'|capitalize }}",
		"They're Bill's Friends-From {The} Uk They'Re Abc d",
	},
	{
		"{{ 'a\\nb\\r\\nc'.splitlines() }} {{ 'a\\nb\\n'.splitlines(true) }} {{ 'abcb'.rfind('b') }} {{ " +
			"'aab'.count('a') }} {{ 'xab'.removeprefix('x') }}{{ 'abx'.removesuffix('x') }}",
		`['a', 'b', 'c'] ['a\n', 'b\n'] 3 2 abab`,
	},
	{
		"{{ 'a\\n\\nb'|indent(2) }}|{{ 'a\\nb'|indent(2, true) }}|{{ 'a\\n\\nb'|indent('> ', blank=true) }}",
		"a\n\n  b|  a\n  b|a\n> \n> b",
	},
	{
		"{{ 'a'.startswith(('b', 'a')) }} {{ 'ab'.endswith('b') }} {{ ', '.join(['a', 'b']) }} {{ [1, 2]|join(', ') " +
			"}} {{ [{'a': 1}]|join(attribute='a') }}",
		"True True a, b 1, 2 1",
	},
	{"{{ ', '.join([1]) }}", ""}, {"{{ l|nothing }}", ""},
	{"{% if false %}{{ l|nothing }}{{ l is nothing }}{% endif %}a", "a"},
	{
		"{{ l|join(', ')|upper|length }} {{ [[1, 2], [3]]|map('length')|list }} {{ 'abc'|list }} {{ 'abc'|reverse " +
			"}} {{ [1, 2]|reverse|list }}",
		"4 [2, 1] ['a', 'b', 'c'] cba [2, 1]",
	},
	{"{{ l.append(1) }}", ""},
	{"{{ range(3)|list }} {{ range(5, 1, -2)|list }} {{ range(0)|list }}", "[0, 1, 2] [5, 3] []"},
	{"{{ range(100001)|list }}", ""},
	{"{{ 1 if x else 2 if n else 3 }} {{ (n, 1)[0] }} {{ [n][0] }} {{ 'a' 'b' }} {{ 1, 2 }}", "2 3 3 ab (1, 2)"},
	{
		"{{ 7 % 3 }} {{ 7.5 % 2 }} {{ -7.5 // 2 }} {{ 2 * 0.5 }} {{ 9007199254740993 + 2 }} {{ true + 1 }}",
		"1 1.5 -4.0 1.0 9007199254740995 2",
	},
	{"{{ (-3)|abs }} {{ -3|string }} {{ -n|abs }}", "3 -3 3"},
	{"{% for (a, b) in [(1, 2)] %}{{ a }}{{ b }}{% endfor %}{% for x in 1, 2 %}{{ x }}{% endfor %}", "1212"},
	{
		"{% for x in l %}{{ loop.previtem is defined }}{{ loop.nextitem }}{{ loop.revindex }}{{ loop.cycle('a', " +
			"'b') }}{% endfor %}",
		"Falseq2aTrue1b",
	},
	{
		"{{ [1,2][1::9223372036854775807] }}{{ [1,2][1::-9223372036854775807] }}{{ [1,2][-9223372036854775807:] }}",
		"[2][2][1, 2]",
	},
}

var renderedValues = map[string]any{
	"n": 3, "s": "aXb", "l": []any{"p", "q"}, "o": map[string]any{"k": "v"}, "none_": nil,
}

func TestRender(t *testing.T) {
	for _, c := range rendered {
		got, err := render(c.template, renderedValues)
		if c.want == "" {
			if err == nil {
				t.Errorf("%q: got %q, want an error", c.template, got.S)
			}
			continue
		}
		if err != nil || got.S != c.want || len(got.By) != len(c.want) {
			t.Errorf("%q:\ngot  %q (%v)\nwant %q", c.template, got.S, err, c.want)
		}
	}
}

// TestPythonJinja compares the texts of TestRender, and of templates of the forms of published ones, with Jinja2's.
// PEDESTRIAN_JINJA2 is a Python that has it, and PEDESTRIAN_VOCABULARIES a folder with published files, whose templates
// are compared too.
func TestPythonJinja(t *testing.T) {
	python := os.Getenv("PEDESTRIAN_JINJA2")
	if python == "" {
		t.Skip("set PEDESTRIAN_JINJA2 to a Python with the package jinja2")
	}
	var tasks []task
	for _, c := range rendered {
		tasks = append(tasks, task{c.template, renderedValues})
	}
	for i, want := range ask(t, tasks, python, "testdata/oracle.py") {
		if want == "refused" {
			want = ""
		}
		if rendered[i].want != want {
			t.Errorf("%q:\ngot  %q\nwant %q of Jinja2", rendered[i].template, rendered[i].want, want)
		}
	}
	var templates []string
	paths, err := filepath.Glob("testdata/*.jinja")
	must(t, err)
	for _, path := range paths {
		data, err := os.ReadFile(path)
		must(t, err)
		templates = append(templates, string(data))
	}
	filepath.WalkDir(os.Getenv("PEDESTRIAN_VOCABULARIES"), func(path string, _ os.DirEntry, err error) error {
		var c struct {
			Template string `json:"chat_template"`
		}
		if data, wrong := os.ReadFile(path); err == nil && wrong == nil &&
			filepath.Base(path) == "tokenizer_config.json" {
			if json.Unmarshal(data, &c) == nil && c.Template != "" {
				templates = append(templates, c.Template)
			}
		}
		return nil
	})
	tasks = nil
	for _, template := range templates {
		for _, values := range talks() {
			tasks = append(tasks, task{template, values})
		}
	}
	refused := 0
	for i, want := range ask(t, tasks, python, "testdata/oracle.py") {
		got, err := render(tasks[i].Template, tasks[i].Values)
		if err != nil && want == "refused" {
			refused++
		} else if err != nil || got.S != want {
			t.Errorf(
				"%.60q, conversation %d: got %q (%v), want %q", tasks[i].Template, i%len(talks()), got.S, err, want,
			)
		}
	}
	if t.Logf(
		"%d templates, %d texts, %d refused by both", len(templates), len(tasks), refused,
	); refused > len(tasks)/2 {
		t.Error("want fewer refused")
	}
}
