package text

import (
	"strings"

	"github.com/pedestrian-ml/pedestrian/gpt/internal/field"
	"github.com/pkg/errors"
)

// ChatML is the template of many published models, for use in your own Template.
const ChatML = `{% for message in messages %}` +
	`{{ '<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n' }}` +
	`{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}`

// form describes the output of a template: for every message head, its role, neck, its content, end and tail. A model
// learns the end.
type form struct {
	head, neck, end, tail string
	system                string // the message that is added to a conversation without a system message
	begins, trims         bool   // write Template.Begin; trim white space around contents
}

// form returns the form of t.Chat, or an error if it is not a known one.
func (t Template) form() (form, error) {
	if t.Chat == "" {
		return form{}, errors.New("messages: there is no chat_template to write them by, " +
			"want one, or prompt and completion")
	}
	source := strings.TrimPrefix(plain(t.Chat),
		`{%ifnotadd_generation_promptisdefined%}{%setadd_generation_prompt=false%}{%endif%}`)
	source, system := cutSystem(source)
	for of, f := range map[string]form{
		chatML: {head: "<|im_start|>", neck: "\n", end: "<|im_end|>", tail: "\n", system: system},
		zephyr: {head: "<|", neck: "|>\n", end: t.End, tail: "\n"},
		llama3: {
			head: "<|start_header_id|>", neck: "<|end_header_id|>\n\n", end: "<|eot_id|>", begins: true, trims: true,
		},
	} {
		prompt := "{{'" + f.head + "assistant" + f.neck + "'}}"
		for _, after := range []string{"", prompt, "{%ifadd_generation_prompt%}" + prompt + "{%endif%}"} {
			if source != of+after || system != f.system {
				continue
			}
			if f.end == "" {
				return f, errors.New("chat_template: it ends messages with eos_token, which is not given")
			}
			return f, nil
		}
	}
	return form{}, errors.Errorf("chat_template: got %s, want the plain form of ChatML, Zephyr or Llama 3",
		field.Clip(t.Chat))
}

// The known forms as plain writes them, without the text after the last message.
const (
	loop   = `{%formessageinmessages%}`
	chatML = loop +
		`{{'<|im_start|>'+message['role']+'` + "\n" + `'+message['content']+'<|im_end|>` + "\n" + `'}}{%endfor%}`
	zephyr = loop + `{%ifmessage['role']=='user'%}{{'<|user|>` + said +
		`{%elifmessage['role']=='system'%}{{'<|system|>` + said +
		`{%elifmessage['role']=='assistant'%}{{'<|assistant|>` + said + `{%endif%}` +
		`{%ifloop.lastandadd_generation_prompt%}{{'<|assistant|>` + "\n" + `'}}{%endif%}{%endfor%}` // and TinyLlama
	said   = "\n" + `'+message['content']+eos_token+'` + "\n" + `'}}`
	llama3 = `{%setloop_messages=messages%}{%formessageinloop_messages%}` +
		`{%setcontent='<|start_header_id|>'+message['role']+'<|end_header_id|>` + "\n\n" +
		`'+message['content']|trim+'<|eot_id|>'%}` +
		`{%ifloop.index0==0%}{%setcontent=bos_token+content%}{%endif%}{{content}}{%endfor%}`
)

// cutSystem removes from a ChatML template the part that writes the default system message, and returns that message.
func cutSystem(source string) (rest, system string) {
	after, ok := strings.CutPrefix(source,
		loop+`{%ifloop.firstandmessages[0]['role']!='system'%}{{'<|im_start|>system`+"\n")
	if !ok {
		return source, ""
	}
	system, after, _ = strings.Cut(after, "<|im_end|>\n'}}{%endif%}")
	return loop + after, system
}
