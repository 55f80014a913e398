package folder

import (
	"flag"

	"github.com/pedestrian-ml/pedestrian/examples/internal/base"
	"github.com/pedestrian-ml/pedestrian/gpt/checkpoint"
	"github.com/pedestrian-ml/pedestrian/gpt/published"
	"github.com/pedestrian-ml/pedestrian/gpt/text"
	"github.com/pedestrian-ml/pedestrian/gpt/text/chat"
	"github.com/pedestrian-ml/pedestrian/internal/file"
	"github.com/pkg/errors"
)

// mostTemplate is the largest number of bytes of a template.
const mostTemplate = 1 << 20

// TemplateFlag adds -template to the flags of a program.
func TemplateFlag(fs *flag.FlagSet, name *string) {
	fs.StringVar(name, "template", *name,
		"how conversations are written: chatml, or a FILE with a template in Jinja; by default as the model says")
}

// Template returns the template of conversations of a model, or the one that -template names.
func Template(cp *checkpoint.Checkpoint, name string) (chat.Template, error) {
	t, err := published.LoadTemplate(cp)
	switch {
	case err != nil || name == "":
		return t, err
	case name == "chatml":
		t.Chat = chat.ChatML
		return t, nil
	}
	data, err := file.ReadText(name, mostTemplate)
	if err != nil {
		return t, errors.WithMessage(err, "-template: want chatml or a file")
	}
	t.Chat = string(data)
	return t, nil
}

// Prompt returns the tokens of the text of -prompt as a template begins it, at least one.
func Prompt(tok text.Tokenizer, t chat.Template, prompt string) ([]int, error) {
	ids, err := t.Prompt(tok, prompt)
	return base.CheckPrompt(ids, err)
}
