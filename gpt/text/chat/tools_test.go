package chat

import (
	"encoding/json"
	"strings"
	"testing"
)

// calling writes tools and calls as Qwen's templates do.
const calling = `{%- if tools %}{{- '<|im_start|>system\n<tools>' }}` +
	`{%- for tool in tools %}{{- "\n" }}{{- tool | tojson }}{%- endfor %}{{- '\n</tools><|im_end|>\n' }}{%- endif %}` +
	`{%- for m in messages %}{{- '<|im_start|>' + m.role + '\n' + m.content }}` +
	`{%- for call in m.tool_calls %}{%- set f = call.function %}` +
	`{{- '<tool_call>\n{"name": "' + f.name + '",` +
	` "arguments": ' }}{{- f.arguments | tojson }}{{- '}\n</tool_call>' }}` +
	`{%- endfor %}{{- '<|im_end|>\n' }}{%- endfor %}` +
	`{%- if add_generation_prompt %}{{- '<|im_start|>assistant\n' }}{%- endif %}`

// Tools, calls and results are written by the template, in the order of their keys. Special tokens in them are ordinary
// text.
func TestTokensWithTools(t *testing.T) {
	tok := chatty(t)
	w, err := NewWriter(Template{Chat: calling}, tok)
	if err != nil {
		t.Fatal(err)
	}
	tool := json.RawMessage(`{"type":"function","function":{"name":"f","parameters":{"z":[1,2.5,null,true,` +
		`"<|im_end|>"],"a":{}}}}`)
	messages := []Message{
		{Role: "user", Content: "Hi"},
		{Role: "assistant", Calls: []Call{{ID: "c1", Name: "f", Arguments: json.RawMessage(`{"x":"é","a":-1e3}`)}}},
		{Role: "tool", Content: "<|im_end|>", Answers: "c1"},
	}
	ids, answer, err := w.TokensWithTools(t.Context(), []json.RawMessage{tool}, messages...)
	if err != nil {
		t.Fatal(err)
	}
	got, err := tok.Decode(ids)
	if err != nil {
		t.Fatal(err)
	}
	const want = "<|im_start|>system\n<tools>\n" + `{"type": "function", "function": {"name": "f",` +
		` "parameters": {"z": ` +
		`[1, 2.5, null, true, "<|im_end|>"], "a": {}}}}` + "\n</tools><|im_end|>\n<|im_start|>user\nHi<|im_end|>\n" +
		"<|im_start|>assistant\n<tool_call>\n" + `{"name": "f", "arguments": {"x": "é", "a": -1000.0}}` +
		"\n</tool_call><|im_end|>\n<|im_start|>tool\n<|im_end|><|im_end|>\n<|im_start|>assistant\n"
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	end, _ := tok.Special("<|im_end|>")
	n := 0
	for _, id := range ids {
		if id == end {
			n++
		}
	}
	if n != 4 {
		t.Errorf("%d marks end messages, want 4: those in the content are text", n)
	}
	learnt := ""
	for i, id := range ids {
		if answer[i] {
			s, _ := tok.Decode([]int{id})
			learnt += s
		}
	}
	if !strings.Contains(learnt, `{"x": "é"`) || strings.Contains(learnt, "Hi") {
		t.Errorf("learnt: got %q", learnt)
	}
}

// Wrong tools and calls are refused by name, and Tokens refuses all of them.
func TestToolsRefused(t *testing.T) {
	w, err := NewWriter(Template{Chat: calling}, chatty(t))
	if err != nil {
		t.Fatal(err)
	}
	hi, call := Message{Role: "user", Content: "Hi"}, func(arguments string) Message {
		return Message{Role: "assistant", Calls: []Call{{Name: "f", Arguments: json.RawMessage(arguments)}}}
	}
	for _, c := range []struct {
		tool    string
		message Message
		want    string
	}{
		{`[]`, hi, "tools: 0: want an object"}, {`{`, hi, "tools: 0: unexpected EOF"}, {`{}{}`, hi,
			"more than one value"},
		{strings.Repeat(`[`, 99), hi, "more than 64 objects"}, {``, hi, "tools: 0: unexpected EOF"},
		{`{}`, call(`3`), "messages: 0: calls: 0: arguments: want an object"}, {`{}`, call(``), "unexpected EOF"},
		{`{}`, Message{Role: "robot"}, `role: got "robot"`}, {`{"a":1e999}`, hi, "tools: 0"},
	} {
		_, _, err := w.TokensWithTools(t.Context(), []json.RawMessage{json.RawMessage(c.tool)}, c.message)
		wantError(t, err, c.want)
	}
	_, _, err = w.Tokens(t.Context(), call(`{}`))
	wantError(t, err, "messages: 0: has calls of tools, want TokensWithTools")
	_, _, err = w.Tokens(t.Context(), Message{Role: "user", Answers: "c1"})
	wantError(t, err, "want TokensWithTools")
	_, _, err = (*Writer)(nil).TokensWithTools(t.Context(), nil, hi)
	wantError(t, err, "the writer or the context is nil")
}
