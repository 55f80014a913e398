package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/gpt/text/chat"
)

// twoTools are the tools weather and time.
const twoTools = `"tools":[{"type":"function","function":{"name":"weather","description":"The weather.",` +
	`"parameters":` +
	`{"type":"object","properties":{"city":{"enum":["Rome","Bonn"]},"days":{"type":"integer","minimum":1,` +
	`"maximum":3}},` +
	`"required":["city"],"additionalProperties":false}}},{"type":"function","function":{"name":"time"}}]`

// heard is an answer with calls.
type heard struct {
	Choices []struct {
		Message, Delta struct {
			Content *string
			Calls   []struct {
				Index    int
				ID, Type string
				Function struct{ Name, Arguments string }
			} `json:"tool_calls"`
		}
		Finish string `json:"finish_reason"`
	}
}

// A model that has to call a tool calls it with arguments of its schema, in one piece and as a stream. Its template
// writes the tools, the calls and their results.
func TestTools(t *testing.T) {
	s, url := served(t, "-template", "testdata/tools.jinja", "-tokens", "80", "-block_size", "600")
	url += "/v1/chat/completions"
	for seed := range 6 {
		for choice, want := range map[string]string{
			`"required"`: "", `{"type":"function","function":{"name":"weather"}}`: "weather",
		} {
			body := fmt.Sprintf(`{%s,%s,"tool_choice":%s,"seed":%d,"n":2`, hi, twoTools, choice, seed+1)
			status, data := ask(t, url, body+`}`)
			var got heard
			if err := json.Unmarshal([]byte(data), &got); err != nil || status != 200 {
				t.Fatalf("%s: got status %d and %s (%v)", body, status, data, err)
			}
			for i, c := range got.Choices {
				if c.Finish != "tool_calls" || len(c.Message.Calls) != 1 || c.Message.Content != nil {
					t.Fatalf("%s: got %s, want a call", body, data)
				}
				call := c.Message.Calls[0]
				var arguments struct {
					City string
					Days *int
				}
				err := json.Unmarshal([]byte(call.Function.Arguments), &arguments)
				if f := call.Function.Name; err != nil || call.ID == "" || want != "" && f != want ||
					f == "weather" && arguments.City != "Rome" && arguments.City != "Bonn" || f != "weather" &&
					f != "time" {
					t.Errorf("%s: got the call %+v (%v)", body, call, err)
				}
				_, data := ask(t, url, body+`,"stream":true}`)
				for event := range strings.SplitSeq(data, "\n\n") {
					var chunk heard
					json.Unmarshal([]byte(strings.TrimPrefix(event, "data: ")), &chunk)
					for _, d := range chunk.Choices {
						if len(d.Delta.Calls) > 0 && d.Delta.Calls[0].Function == call.Function {
							i = -1
						}
						if d.Delta.Content != nil && *d.Delta.Content != "" {
							t.Errorf("%s: a call is streamed as text: %s", body, event)
						}
					}
				}
				if i >= 0 {
					t.Errorf("%s: got the stream %s, want the call %+v in it", body, data, call)
				}
			}
		}
	}
	const round = `{"messages":[{"role":"user","content":"Hi"},{"role":"assistant","content":null,` +
		`"tool_calls":[{"id":"c1",` +
		`"type":"function","function":{"name":"time","arguments":"{\"zone\": \"UTC\"}"}}]},` +
		`{"role":"tool","tool_call_id":"c1","content":"noon"}],` + twoTools + `}`
	_, q, err := s.question(t.Context(), []byte(round), talk{})
	must(t, err)
	prompt, err := s.tok.Decode(q.prompt)
	must(t, err)
	for _, want := range []string{
		`"name": "weather"`,
		"<tool_call>\n{\"name\": \"time\", \"arguments\": {\"zone\": \"UTC\"}}\n</tool_call><|im_end|>",
		"<|im_start|>tool\nnoon<|im_end|>",
	} {
		if !strings.Contains(prompt, want) {
			t.Errorf("got the prompt %s, want %q in it", prompt, want)
		}
	}
	none := completed(t, url, `{`+hi+`,`+twoTools+`,"tool_choice":"none"}`)
	if plain := completed(t, url, `{`+hi+`}`); none.Choices[0].Message != plain.Choices[0].Message {
		t.Errorf("no tool may be called: got %+v, want %+v", none, plain)
	}
}

// Calls are found in answers of every style, whatever their parts are, and other texts stay texts.
func TestCallsAreHeard(t *testing.T) {
	call := func(name, arguments string) chat.Call {
		return chat.Call{Name: name,
			Arguments: json.RawMessage(arguments)}
	}
	for _, c := range []struct {
		style  style
		answer string
		text   string
		calls  []chat.Call
	}{
		{tagged{}, "Yes.<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": [1]}}\n</tool_call>", "Yes.",
			[]chat.Call{call("f", `{"a": [1]}`)}},
		{tagged{}, `<tool_call>{"name":"f","arguments":{}}</tool_call> <tool_call>{"name":"g"}`, "",
			[]chat.Call{call("f", "{}"), call("g", "{}")}},
		{tagged{}, "a < b <tool_cal", "a < b <tool_cal", nil}, {tagged{}, "<tool_call>{", "<tool_call>{", nil},
		{tagged{}, `<tool_call>{"name":"f","arguments":3}`, `<tool_call>{"name":"f","arguments":3}`, nil},
		{tagged{}, `<tool_call>{"name":"f"}</tool_call>and`, `<tool_call>{"name":"f"}</tool_call>and`, nil},
		{listed{}, `[TOOL_CALLS] [{"name": "f", "arguments": {"a": 1}}, {"name": "g", "arguments": {}}]`, "",
			[]chat.Call{call("f", `{"a": 1}`), call("g", "{}")}},
		{listed{}, `[TOOL_CALLS] []`, `[TOOL_CALLS] []`, nil}, {listed{}, `[TOOL] [`, `[TOOL] [`, nil},
		{bare{}, ` {"name": "f", "parameters": {"a": null}}`, "", []chat.Call{call("f", `{"a": null}`)}},
		{bare{}, `{"name": "f"} and`, `{"name": "f"} and`, nil}, {bare{}, `Yes {"name": "f"}`, `Yes {"name": "f"}`,
			nil},
		{bare{}, `{"name": "no name", "parameters": {}}`, `{"name": "no name", "parameters": {}}`, nil},
		{nil, `<tool_call>{"name":"f"}`, `<tool_call>{"name":"f"}`, nil},
	} {
		for size := range len(c.answer) {
			e, got := ear{style: c.style}, part{}
			for rest := c.answer; rest != ""; {
				n := min(size+1, len(rest))
				got.text += e.hear(part{text: rest[:n]}).text
				rest = rest[n:]
			}
			last := e.end()
			got.text += last.text
			if got.text != c.text || fmt.Sprintf("%s", last.calls) != fmt.Sprintf("%s", c.calls) {
				t.Errorf("%T: %q in parts of %d: got %q and %s, want %q and %s", c.style, c.answer, size+1, got.text,
					last.calls, c.text, c.calls)
			}
		}
	}
}

// The style is the template's, and a template without tools is refused.
func TestStyles(t *testing.T) {
	e := engineOf(t, "100")
	for marks, want := range map[string]string{
		"<tool_call>": "main.tagged", "[TOOL_CALLS]": "main.listed", `"parameters"`: "main.bare",
		"<tool_call><function=": "<nil>",
		"":                      "<nil>",
	} {
		template := chat.Template{Chat: "{{ tools | length if tools }}{# " + marks + " #}" + chat.ChatML}
		w, err := chat.NewWriter(template, e.tok)
		must(t, err)
		s, err := styleOf(w, template)
		if got := fmt.Sprintf("%T", s); got != want || (err != nil) != (want == "<nil>") {
			t.Errorf("%s: got the style %s and %v, want %s", marks, got, err, want)
		}
	}
	g, err := schemed("tools", json.RawMessage(`{"type":"object","properties":{}}`))
	must(t, err)
	for _, s := range []style{tagged{}, listed{}, bare{}} { // what the grammar of a style writes, the style reads
		own, err := s.grammar("f", g)
		must(t, err)
		m, err := own.Matcher(e.texts(s), 100)
		must(t, err)
		text := ""
		for !m.Complete() {
			logits := make([]float64, e.tok.Size())
			must(t, m.Apply(logits))
			id := slices.Index(logits, 0)
			must(t, m.Drawn(id))
			piece, _ := e.tok.Decode([]int{id})
			text += piece
		}
		if calls, ok := s.read(text); !ok || len(calls) != 1 || calls[0].Name != "f" {
			t.Errorf("%T: got %q, which it does not read", s, text)
		}
	}
}

// Wrong tools, choices and calls are refused by name.
func TestToolsRefuse(t *testing.T) {
	_, url := served(t, "-template", "testdata/tools.jinja")
	for body, want := range map[string]string{
		`"tools":[{"type":"web_search"}]`:                                               "tools[0].type: got",
		`"tools":[{"type":"function","function":{"name":"a b"}}]`:                       "tools[0].function.name",
		twoTools + `,"tool_choice":{"type":"function","function":{"name":"x"}}`:         "none of the tools",
		twoTools + `,"tool_choice":"required","response_format":{"type":"json_object"}`: "beside a format",
		`"tools":[{"type":"function","function":{"name":"f","parameters":{"oneOf":[]}}}],` +
			`"tool_choice":"required"`: "oneOf: got [], want a list",
		`"tools":[` + strings.Repeat(`{},`, mostTools) + `{}]`: "at most 128",
	} {
		if status, got := ask(t, url+"/v1/chat/completions", `{`+hi+`,`+body+`}`); status != 400 ||
			!strings.Contains(got, want) {
			t.Errorf("%.200s: got status %d and %s, want %q", body, status, got, want)
		}
	}
	_, plain := served(t)
	if status, got := ask(t, plain+"/v1/chat/completions", `{"messages":[{"role":"tool",`+
		`"content":"x"}]}`); status != 400 ||
		!strings.Contains(got, "writes no tools") {
		t.Errorf("a result without a template for it: got status %d and %s", status, got)
	}
}
