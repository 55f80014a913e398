package gpt

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/pedestrian-ml/pedestrian/gpt/internal/field"
	"github.com/pedestrian-ml/pedestrian/gpt/parts"
	"github.com/pedestrian-ml/pedestrian/gpt/published"
	"github.com/pkg/errors"
)

// FromHuggingFace reads a config.json in Hugging Face's names, of one of published.Families, or as written by
// [Config.HuggingFace]. Absent keys have Hugging Face's defaults. Settings that a Config cannot express are errors. So
// are unknown keys with a value, such as quantization_config, except those that change no logits, such as
// transformers_version. The experts of gpt-oss may be in blocks of MXFP4. The training half stays zero. own holds the
// user-defined variants of the program that wrote the file, if any.
//
// A value is taken as it is: null, false, 0 and empty texts, lists and objects count as absent only where the family's
// programs say so. Rates of dropout are read where the network has one rate for all places, as in GPT-2; other files
// describe a training that has ended, so a further training has the dropout that its Config asks for.
func FromHuggingFace(data []byte, own ...parts.Registry) (Config, error) {
	s, err := readSource(data, parts.Join(own...))
	if err != nil {
		return Config{}, err
	}
	return s.Config, s.validate()
}

// HuggingFace returns the network's part of c as the config.json of Hugging Face's GPT-2, indented. If the network
// computes something else than GPT-2 (a post-norm block, heads of another size, adapters, a bias in the head),
// model_type is "pedestrian", so that no other program takes the weights for a GPT-2's, and the differing fields are
// written under their names in Config.
func (c Config) HuggingFace() ([]byte, error) {
	p, o, err := c.validated()
	if err != nil {
		return nil, err
	}
	c = p.Config
	t, err := c.translated(published.GPT2())
	if err != nil {
		return nil, err
	}
	if len(t.differ.Without("bias")) > 0 || c.Bias && o.ownHead {
		if t, err = c.translated(published.Own()); err != nil {
			return nil, err
		}
	}
	data, err := append(t.file, t.differ...).MarshalJSON()
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if err := json.Indent(&b, data, "", "  "); err != nil {
		return nil, errors.Wrap(err, "config")
	}
	b.WriteByte('\n')
	return b.Bytes(), nil
}

// translation is a network in the form of a family.
type translation struct {
	file         field.List // its config.json
	differ, want field.List // fields that differ from the network's if the file is read, and all fields as read
}

// translated returns c, which must be resolved, in the form of a family. It reads the written file to find the fields
// that the family cannot express.
func (c Config) translated(f published.Family) (t translation, err error) {
	c.With.Set("initialization", parts.Names(parts.Initializations())[0]) // of no effect on weights that are there
	got, activations := c.networkFields(), c.known().Activations
	if t.file, err = f.Write(got, activations); err != nil {
		return t, err
	}
	data, err := t.file.MarshalJSON()
	if err != nil {
		return t, err
	}
	var read Config
	read.Parts = c.Parts
	t.want = read.networkFields() // point into read, which is resolved below
	if err := f.Read(data, t.want, activations); err != nil {
		return t, err
	}
	read = read.Resolved()
	for _, field := range got.Without("dropout") {
		if want, _ := t.want.Find(field.Name); field.String() != want.String() {
			t.differ = append(t.differ, field)
		}
	}
	return t, nil
}

// Family returns the model_type, such as gpt2 or llama, under which Export writes a network like c. If there is none,
// the error names the family that differs in the fewest fields, and these fields.
func (c Config) Family() (modelType string, err error) {
	if err := c.ValidateModel(); err != nil {
		return "", err
	}
	f, _, err := c.Resolved().family()
	return f.ModelType, err
}

// family returns the family of c, which must be resolved, and its config.json.
func (c Config) family() (published.Family, field.List, error) {
	var nearest misfit
	biased := c.biasedHead()
	for _, f := range published.Families() {
		file, differ, err := c.in(f, biased)
		switch {
		case err != nil: // a setting that it needs is missing
			continue
		case len(differ) == 0:
			return f, file, nil
		case nearest.differ == nil || len(differ) < len(nearest.differ):
			nearest = misfit{"the network is of no published family; the nearest is " + f.ModelType + ":", differ}
		}
	}
	return published.Family{}, nil, nearest
}

// biasedHead reports whether the head has a bias.
func (c Config) biasedHead() bool {
	o, _ := c.planned().outline()
	return slices.Contains(o.names, "lm_head.bias")
}

// in returns c's config.json in a family, and the fields that the family cannot express. biased is c.biasedHead().
func (c Config) in(f published.Family, biased bool) (file field.List, differ []difference, err error) {
	t, err := c.translated(f)
	if err != nil {
		return nil, nil, err
	}
	isOPT := c.Activation == "relu" // of a GPT-2's form with a head without a bias
	for _, got := range t.differ {
		want, _ := t.want.Find(got.Name)
		switch {
		case got.Name == "bias" && f.Biases: // those that the network lacks are 0
		case !isOPT && got.Name == "head" && got.String() == unbiasedHead && want.String() == "linear": // the same
		default:
			differ = append(differ, difference{got.Name, got.String(), want.String()})
		}
	}
	if biased && !f.HeadBias {
		differ = append(differ, difference{"head", c.Head, unbiasedHead})
	}
	return t.file, differ, nil
}

// unbiasedHead is the head of the families whose files have no bias of the head, if it is not tied.
const unbiasedHead = "linear_no_bias"

// difference is a field in which a network differs from those of a family or of a kind of files.
type difference struct{ name, got, want string }

// misfit is the error of a network that a family, or a kind of files, cannot express.
type misfit struct {
	what   string
	differ []difference
}

// Error returns a line for each field, and the flags with which a network fits.
func (m misfit) Error() string {
	var b strings.Builder
	b.WriteString(m.what)
	var flags string
	for _, d := range m.differ {
		fmt.Fprintf(&b, "\n  %s: got %s, want %s", d.name, field.Clip(d.got), d.want)
		flags += " -" + d.name + " " + cmp.Or(d.want, `""`)
	}
	return b.String() + "\na model that is trained with" + flags + " can be exported"
}
