package published

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/internal/field"
	"github.com/pedestrian-ml/pedestrian/gpt/parts"
)

// ReadConfig reads a config.json in Hugging Face's names, of one of Families, or as gpt.Config.HuggingFace writes it.
// Absent keys have Hugging Face's defaults. Settings that a Config cannot express are errors. So are unknown keys with
// a value, such as quantization_config, except those that change no logits, such as transformers_version. The experts
// of gpt-oss may be in blocks of MXFP4. The training half stays zero. own holds the user-defined variants of the
// program that wrote the file, if any.
//
// A value is taken as it is: null, false, 0 and empty texts, lists and objects count as absent only where the family's
// programs say so. Rates of dropout are read where the network has one rate for all places, as in GPT-2; other files
// describe a training that has ended, so a further training has the dropout that its Config asks for.
func ReadConfig(data []byte, own ...parts.Registry) (gpt.Config, error) {
	c, _, err := read(data, parts.Join(own...))
	if err != nil {
		return gpt.Config{}, err
	}
	validated := c
	validated.Kernels = true // whether it computes with kernels is up to the graph on which it is built
	return c, validated.ValidateModel()
}

// read returns the network of a config.json, without validating it, and its family, which is empty for a network of
// this library that is no GPT-2.
func read(data []byte, own parts.Registry) (c gpt.Config, f family, err error) {
	c, ours := gpt.FromHuggingFace(data, own)
	if modelType, _, _ := modelTypeOf(data); modelType == ownType {
		return c, f, ours
	} else if ours == nil {
		return c, gpt2(), nil
	}
	if f, err = familyIn(data); err != nil {
		return c, f, err
	}
	c = gpt.Config{Parts: own}
	if err := f.Read(data, c.NetworkFields(), own.WithLibrary().Activations); err != nil {
		return gpt.Config{}, f, err
	}
	if c.Head == "linear" && c.Bias && !f.headBias {
		c.Head = unbiasedHead
	}
	return c, f, nil
}

// translation is a network in the form of a family.
type translation struct {
	file         field.List // its config.json
	differ, want field.List // fields that differ from the network's if the file is read, and all fields as read
}

// translated returns c, which must be resolved, in the form of a family. It reads the written file to find the fields
// that the family cannot express.
func translated(c gpt.Config, f family) (t translation, err error) {
	c.With.Set("initialization", parts.Names(parts.Initializations())[0]) // of no effect on weights that are there
	got, activations := c.NetworkFields(), c.Parts.WithLibrary().Activations
	if t.file, err = f.Write(got, activations); err != nil {
		return t, err
	}
	data, err := t.file.MarshalJSON()
	if err != nil {
		return t, err
	}
	var read gpt.Config
	read.Parts = c.Parts
	t.want = read.NetworkFields() // point into read, which is resolved below
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

// ModelType returns the model_type, such as gpt2 or llama, under which Export writes a network like c. If there is
// none, the error names the family that differs in the fewest fields, and these fields.
func ModelType(c gpt.Config) (string, error) {
	if err := c.ValidateModel(); err != nil {
		return "", err
	}
	f, _, err := familyOf(c.Resolved())
	return f.modelType, err
}

// familyOf returns the family of c, which must be resolved, and its config.json.
func familyOf(c gpt.Config) (family, field.List, error) {
	var nearest misfit
	biased := slices.Contains(c.Trained(), "lm_head.bias")
	for _, f := range families() {
		file, differ, err := in(c, f, biased)
		switch {
		case err != nil: // a setting that it needs is missing
			continue
		case len(differ) == 0:
			return f, file, nil
		case nearest.differ == nil || len(differ) < len(nearest.differ):
			nearest = misfit{"the network is of no published family; the nearest is " + f.modelType + ":", differ}
		}
	}
	return family{}, nil, nearest
}

// in returns c's config.json in a family, and the fields that the family cannot express. biased reports whether the
// head has a bias.
func in(c gpt.Config, f family, biased bool) (file field.List, differ []difference, err error) {
	t, err := translated(c, f)
	if err != nil {
		return nil, nil, err
	}
	isOPT := c.Activation == "relu" // of a GPT-2's form with a head without a bias
	for _, got := range t.differ {
		want, _ := t.want.Find(got.Name)
		switch {
		case got.Name == "bias" && f.biases: // those that the network lacks are 0
		case !isOPT && got.Name == "head" && got.String() == unbiasedHead && want.String() == "linear": // the same
		default:
			differ = append(differ, difference{got.Name, got.String(), want.String()})
		}
	}
	if biased && !f.headBias {
		differ = append(differ, difference{"head", c.Head, unbiasedHead})
	}
	return t.file, differ, nil
}

// unbiasedHead is the head of the families whose files have no bias of the head, if it is not tied.
const unbiasedHead = "linear_no_bias"

// difference is a field in which a network differs from the networks of a family or of a kind of files.
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
