package text

import (
	"regexp"

	"github.com/pedestrian-ml/pedestrian/gpt/internal/field"
	"github.com/pkg/errors"
)

// ChatML is the template of many published models, for a Template of one's own.
const ChatML = `{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n' }}` +
	`{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}`

// form is what a template writes: for every message head, its role, neck, its content, end and tail, of which a model
// learns the end.
type form struct {
	head, neck, end, tail string
	system                string // what a conversation without a system message begins with
	begins, trims         bool   // with Template.Begin; white space around a content
}

// published are the forms that are known, as plain writes them; a group of system's is its default.
var published = []struct {
	source *regexp.Regexp
	form   form
}{
	{regexp.MustCompile(`^` + loop + `(?:{%ifloop\.firstandmessages\[0\]\['role'\]!='system'%}{{'<\|im_start\|>system\n([^']*)<\|im_end\|>\n'}}{%endif%})?` +
		`{{'<\|im_start\|>'\+message\['role'\]\+'\n'\+message\['content'\]\+'<\|im_end\|>\n'}}{%endfor%}` +
		asked(`<\|im_start\|>assistant\n`) + `$`),
		form{head: "<|im_start|>", neck: "\n", end: "<|im_end|>", tail: "\n"}},
	{regexp.MustCompile(`^` + loop + `{%ifmessage\['role'\]=='user'%}{{'<\|user\|>\n'\+message\['content'\]\+eos_token\+'\n'}}` +
		`{%elifmessage\['role'\]=='system'%}{{'<\|system\|>\n'\+message\['content'\]\+eos_token\+'\n'}}` +
		`{%elifmessage\['role'\]=='assistant'%}{{'<\|assistant\|>\n'\+message\['content'\]\+eos_token\+'\n'}}{%endif%}` +
		`{%ifloop\.lastandadd_generation_prompt%}{{'<\|assistant\|>\n'}}{%endif%}{%endfor%}$`), // Zephyr, TinyLlama
		form{head: "<|", neck: "|>\n", end: endToken, tail: "\n"}},
	{regexp.MustCompile(`^{%setloop_messages=messages%}{%formessageinloop_messages%}{%setcontent='<\|start_header_id\|>'\+message\['role'\]\+` +
		`'<\|end_header_id\|>\n\n'\+message\['content'\]\|trim\+'<\|eot_id\|>'%}{%ifloop\.index0==0%}{%setcontent=bos_token\+content%}{%endif%}` +
		`{{content}}{%endfor%}` + asked(`<\|start_header_id\|>assistant<\|end_header_id\|>\n\n`) + `$`), // Llama 3
		form{head: "<|start_header_id|>", neck: "<|end_header_id|>\n\n", end: "<|eot_id|>", begins: true, trims: true}},
}

const loop = `(?:{%ifnotadd_generation_promptisdefined%}{%setadd_generation_prompt=false%}{%endif%})?{%formessageinmessages%}`

// endToken stands for Template.End.
const endToken = "\x00"

// asked is what a template writes where an answer is to follow.
func asked(text string) string {
	text = `{{'` + text + `'}}`
	return `(?:{%ifadd_generation_prompt%}` + text + `{%endif%}|` + text + `)?`
}

// form is what t.Chat writes.
func (t Template) form() (form, error) {
	if t.Chat == "" {
		return form{}, errors.New("messages: there is no chat_template to write them by, want one, or prompt and completion")
	}
	source := plain(t.Chat)
	for _, p := range published {
		if m := p.source.FindStringSubmatch(source); m != nil {
			f := p.form
			if len(m) > 1 {
				f.system = m[1]
			}
			if f.end == endToken {
				f.end = t.End
			}
			if f.end == "" {
				return f, errors.New("chat_template: it ends what is said by eos_token, which is not given")
			}
			return f, nil
		}
	}
	return form{}, errors.Errorf("chat_template: got %s, want the plain form of ChatML, Zephyr or Llama 3", field.Clip(t.Chat))
}
