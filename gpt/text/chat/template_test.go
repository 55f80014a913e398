package chat

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/pedestrian-ml/pedestrian/gpt/text"
	"github.com/pedestrian-ml/pedestrian/gpt/text/bpe"
)

// Published templates.
const (
	smol = `{% for message in messages %}{% if loop.first and messages[0]['role'] != 'system' %}{{ '<|im_start|>system\nYou help.<|im_end|>\n' }}{% endif %}` +
		"{{'<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n'}}{% endfor %}{% if " +
		"add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
	hermes = `{%- if not add_generation_prompt is defined -%}{%- set add_generation_prompt = false -%}{%- endif -%}
{%- for message in messages -%}
    {{- "<|im_start|>" + message.role + "\n" + message.content + "<|im_end|>\n" -}}
{%- endfor -%}
{%- if add_generation_prompt -%}
    {{- "<|im_start|>assistant\n" -}}
{%- endif -%}`
	zephyrJinja = "{% for message in messages %}\n{% if message['role'] == 'user' %}\n{{ '<|user|>\\n' + " +
		"message['content'] + eos_token }}\n{% elif message['role'] == 'system' %}\n{{ '<|system|>\\n' + " +
		"message['content'] + eos_token }}\n{% elif message['role'] == 'assistant' %}\n{{ '<|assistant|>\\n'  + " +
		"message['content'] + eos_token }}\n{% endif %}\n{% if loop.last and add_generation_prompt %}\n{{ " +
		"'<|assistant|>' }}\n{% endif %}\n{% endfor %}"
	llama3Jinja = `{% set loop_messages = messages %}{% for message in loop_messages %}{% set content = '<|start_header_id|>' + message['role'] + '<|end_header_id|>` + "\n\n" +
		`'+ message['content'] | trim + '<|eot_id|>' %}{% if loop.index0 == 0 %}{% set content = bos_token + content %}{% endif %}{{ content }}{% endfor %}` +
		`{% if add_generation_prompt %}{{ '<|start_header_id|>assistant<|end_header_id|>\n\n' }}{% endif %}`
)

func conversation(t Template, tok text.Tokenizer, messages ...Message) (ids []int, answer []bool, err error) {
	c, err := NewWriter(t, tok)
	if err != nil {
		return nil, nil, err
	}
	return c.Tokens(context.Background(), messages...)
}

func TestConversation(t *testing.T) {
	tok := chatty(t)
	for name, tc := range map[string]struct{ chat, want string }{
		"ChatML": {
			ChatML,
			"<|im_start|>user\n Hi <|im_end|>\n<|im_start|>assistant\n[ " +
				"Yes.<|im_end|>]\n<|im_start|>user\nBye<|im_end|>\n<|im_start|>assistant\n",
		},
		"ChatML, in lines": {
			hermes,
			"<|im_start|>user\n Hi <|im_end|>\n<|im_start|>assistant\n[ " +
				"Yes.<|im_end|>]\n<|im_start|>user\nBye<|im_end|>\n<|im_start|>assistant\n",
		},
		"with a default": {
			smol,
			"<|im_start|>system\nYou help.<|im_end|>\n<|im_start|>user\n Hi <|im_end|>\n<|im_start|>assistant\n[ " +
				"Yes.<|im_end|>]\n<|im_start|>user\nBye<|im_end|>\n<|im_start|>assistant\n",
		},
		"Zephyr": {zephyrJinja, "<|user|>\n Hi </s>\n<|assistant|>\n[ Yes.</s>]\n<|user|>\nBye</s>\n<|assistant|>\n"},
		"Llama 3": {llama3Jinja, "<s><|start_header_id|>user<|end_header_id|>\n\nHi<|eot_id|>" +
			"<|start_header_id|>assistant<|end_header_id|>\n\n[Yes.<|eot_id|>]" +
			"<|start_header_id|>user<|end_header_id|>\n\nBye<|eot_id|>" +
			"<|start_header_id|>assistant<|end_header_id|>\n\n"},
	} {
		template := Template{Begin: "<s>", End: "</s>", Chat: tc.chat}
		messages := []Message{{Role: "user", Content: " Hi "}, {Role: "assistant", Content: " Yes."}, {Role: "user",
			Content: "Bye"}}
		ids, answer, err := conversation(template, tok, messages...)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var got strings.Builder
		for i, id := range ids {
			if answer[i] != (i > 0 && answer[i-1]) {
				got.WriteString(map[bool]string{true: "[", false: "]"}[answer[i]])
			}
			token, _ := tok.Decode([]int{id})
			got.WriteString(token)
		}
		if diff := cmp.Diff(tc.want, got.String()); diff != "" {
			t.Errorf("%s: -want +got:\n%s", name, diff)
		}
		want, err := tok.EncodeSpecial(strings.NewReplacer("[", "", "]", "").Replace(tc.want))
		if diff := cmp.Diff(want, ids); err != nil || diff != "" {
			t.Errorf("%s: %v, -want +got:\n%s", name, err, diff)
		}
	}
}

// Marks of templates are the tokenizer's special tokens of any form, and a prompt begins with the token of the
// template.
func TestMarks(t *testing.T) {
	tok, err := bpe.Train("[INST] the other [/INST]", 300, "<s>", "</s>", "[INST]", "[/INST]")
	if err != nil {
		t.Fatal(err)
	}
	mistral := Template{Begin: "<s>", End: "</s>", Chat: "{{ bos_token }}{% for m in messages %}{% if m.role == " +
		"'user' %}[INST] {{ m.content }}[/INST]{% else %} {{ m.content }}[INST]{% endif %}{% endfor %}"}
	got, answer, err := conversation(mistral, tok, Message{Role: "user", Content: "the [INST]"},
		Message{Role: "assistant", Content: "other"})
	inst, _ := tok.Special("[INST]")
	plain, _ := tok.Encode("[INST]")
	prompt, wrong := tok.EncodeSpecial("<s>[INST] the ?[/INST] ")
	said, _ := tok.Encode("other")
	mark, _ := tok.Encode("?")
	at := slices.Index(prompt, mark[0])
	want := slices.Concat(prompt[:at], plain, prompt[at+1:], said, []int{inst})
	if err != nil || wrong != nil || !slices.Equal(got, want) || got[len(got)-1] != inst || !answer[len(got)-1] {
		t.Errorf("got %v, %v (%v), want %v", got, answer, err, want)
	}
	for begin, want := range map[string]string{"<s>": "<s>the", "": "the", "<t>": "the"} {
		got, err := Template{Begin: begin}.Prompt(tok, "the")
		if want, _ := tok.EncodeSpecial(want); err != nil || !slices.Equal(got, want) {
			t.Errorf("%q: got %v, error %v, want %v", begin, got, err, want)
		}
	}
	if got, err := (Template{Begin: "<s>"}).Prompt(text.Bytes{}, "a"); err != nil || len(got) != 1 {
		t.Errorf("bytes: got %v, error %v, want one byte", got, err)
	}
	if _, err := (Template{}).Prompt(nil, "a"); err == nil || err.Error() != "prompt: the tokenizer is nil" {
		t.Errorf("got error %v", err)
	}
}

// A special token in a user's text is ordinary text, and a default is not written if there is a system message.
func TestConversationOfUsers(t *testing.T) {
	tok := chatty(t)
	ids, _, err := conversation(Template{Chat: smol}, tok, Message{Role: "system", Content: "Be."},
		Message{Role: "user", Content: "<|im_end|>"})
	if err != nil {
		t.Fatal(err)
	}
	roomy := append(make([]Message, 0, 9), Message{Role: "user", Content: "a"}, Message{Role: "assistant",
		Content: "b"})
	if _, _, err := conversation(Template{Chat: smol}, tok, roomy...); err != nil || roomy[0].Role != "user" {
		t.Errorf("the caller's messages begin with %v (%v)", roomy[0], err)
	}
	end, _ := tok.Special("<|im_end|>")
	n := 0
	for _, id := range ids {
		if id == end {
			n++
		}
	}
	if s, _ := tok.Decode(ids); n != 2 || strings.Contains(s, "You help") {
		t.Errorf("got %d marks in %q, want 2, and no default", n, s)
	}
	for _, tc := range []struct {
		template Template
		messages []Message
		words    string
	}{
		{Template{Chat: ChatML}, nil, "messages: got none"},
		{Template{Chat: ChatML}, []Message{{Role: "tool", Content: "x"}},
			`role: got "tool", want system, user or assistant`},
		{
			Template{Chat: ChatML}, []Message{{Role: "user", Content: "x"}, {Role: "system", Content: "y"}},
			"messages: 1: role: got system, want it first",
		},
		{Template{Chat: "{% for"}, []Message{{Role: "user", Content: "x"}},
			"chat_template: line 1: a tag has no end"},
		{
			Template{Chat: "{{ raise_exception('No ' + messages[0].role) }}"}, []Message{{Role: "user",
				Content: "x"}},
			"the template refuses this: No user",
		},
		{Template{Chat: zephyrJinja}, []Message{{Role: "user", Content: "x"}}, "eos_token, which is undefined"},
		{Template{}, []Message{{Role: "user", Content: "x"}}, "there is no chat_template"},
	} {
		_, _, err := conversation(tc.template, text.Bytes{}, tc.messages...)
		wantError(t, err, tc.words)
	}
	_, _, err = conversation(Template{Chat: ChatML}, nil, Message{Role: "user", Content: "x"})
	wantError(t, err, "the tokenizer is nil")
}

// A template's panic, endless work and the end of a context are errors.
func TestConversationOfHostileTemplates(t *testing.T) {
	for chat, want := range map[string]string{
		"{{ [1,2][1::9223372036854775807] }}":                                             "",
		"{% for a in range(99999) %}{% for b in range(99999) %}x{% endfor %}{% endfor %}": "work and memory",
	} {
		_, _, err := conversation(Template{Chat: chat}, text.Bytes{}, Message{Role: "user", Content: "x"})
		if want == "" && err == nil {
			continue
		}
		wantError(t, err, want)
	}
	c, err := NewWriter(Template{Chat: ChatML}, text.Bytes{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	many := slices.Repeat([]Message{{Role: "user", Content: "x"}, {Role: "assistant", Content: "y"}}, 9999)
	_, _, err = c.Tokens(ctx, many...)
	wantError(t, err, context.Canceled.Error())
	_, _, err = (*Writer)(nil).Tokens(ctx, many...)
	wantError(t, err, "the writer or the context is nil")
}

func TestReadTemplate(t *testing.T) {
	quoted, _ := json.Marshal(ChatML)
	for data, want := range map[string]Template{
		`{"model_max_length": 1024}`:                                       {},
		`{"eos_token": "</s>", "bos_token": "<s>", "chat_template": null}`: {End: "</s>"},
		`{"eos_token": {"content": "</s>", "lstrip": false}, "bos_token": {"content": "<s>"},` +
			` "add_bos_token": true}`: {Begin: "<s>", End: "</s>"},
		`{"bos_token": "<s>",` +
			` "chat_template": "{{ bos_token }}"}`: {Begin: "<s>", Chat: "{{ bos_token }}"},
		`{"chat_template": ` + string(quoted) +
			`}`: {Chat: ChatML},
		`{"chat_template": [{"name": "rag", "template": "x"}, {"name": "default", "template": "y"},` +
			` {"name": "tool_use", "template": "z"}]}`: {Chat: "y"},
	} {
		got, err := ReadTemplate([]byte(data))
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%s: %v, -want +got:\n%s", data, err, diff)
		}
	}
	for data, want := range map[string]string{
		``:                                  "unexpected end of JSON input",
		`[]`:                                "line 1, column 1: got a list, want an object",
		`{"add_bos_token": 3}`:              "line 1, column 19: add_bos_token: got a number, want true or false",
		`{"bos_token": []}`:                 "bos_token: got a list, want a string",
		`{"eos_token": 3}`:                  "eos_token: got a number, want a string",
		`{"chat_template": {}}`:             "chat_template: got an object, want a string",
		`{"chat_template": [3]}`:            "chat_template: got a number, want an object",
		`{"eos_token": {"content": 3}}`:     "eos_token: content: got a number, want a string",
		`{"chat_template": [{"name": []}]}`: "chat_template: name: got a list, want a string",
	} {
		if _, err := ReadTemplate([]byte(data)); err == nil || err.Error() != want {
			t.Errorf("%s: got %v, want %s", data, err, want)
		}
	}
}

// spaced is a tokenizer whose tokens are pairs of letters, with a space in front of each text, as in LLaMA's.
type spaced struct{ text.Bytes }

func (spaced) Encode(s string) (ids []int, err error) {
	if strings.Contains(s, "!") {
		return []int{1}, errors.New("no !")
	}
	for s = " " + s; s != ""; s = s[min(len(s), 2):] {
		ids = append(ids, int(s[0])<<8+int(s[min(1, len(s)-1)]))
	}
	return ids, nil
}

// The tokens of an answer are those that follow the prompt's in the tokens of both, if these begin with the prompt's.
func TestWriterBorders(t *testing.T) {
	spell := func(tok text.Tokenizer, prompt, answer string) (n int, ids []int, err error) {
		w := encoder{tok: tok}
		w.text(prompt)
		w.turn(true)
		w.text(answer)
		ids, learnt, err := w.done()
		return slices.Index(append(learnt, true), true), ids, err
	}
	pair := func(s string) int { return int(s[0])<<8 + int(s[1]) }
	for _, tc := range []struct {
		prompt, answer string
		n              int
		want           []int
	}{
		{"abc", "de", 2, []int{pair(" a"), pair("bc"), pair("de")}},
		{"ab", "cde", 2, []int{pair(" a"), pair("bb"), pair(" c"), pair("de")}}, // bc would cross the border
		{"", "ab", 0, []int{pair(" a"), pair("bb")}},
		{"abc", "", 2, []int{pair(" a"), pair("bc")}},
	} {
		n, ids, err := spell(spaced{}, tc.prompt, tc.answer)
		if diff := cmp.Diff(tc.want, ids); err != nil || n != tc.n || diff != "" {
			t.Errorf("%q, %q: got %d tokens of the prompt (%v), -want +got:\n%s", tc.prompt, tc.answer, n, err, diff)
		}
	}
	w := encoder{tok: spaced{}}
	for _, s := range []string{"!", "b", "c"} {
		w.text(s)
		w.turn(false)
	}
	if _, _, err := w.done(); err == nil {
		t.Error("an error before other texts was lost")
	}
	for _, tc := range [][2]string{{"a!", "b"}, {"a", "b!"}, {"!", ""}} {
		if _, _, err := spell(spaced{}, tc[0], tc[1]); err == nil || err.Error() != "no !" {
			t.Errorf("%q: got error %v, want no !", tc, err)
		}
	}
}
