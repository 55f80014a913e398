package hostile

import (
	"reflect"
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/decode"
	"github.com/pedestrian-ml/pedestrian/gpt/seq2seq"
	"github.com/pedestrian-ml/pedestrian/gpt/train"
)

// holders are the types whose fields a caller can reach after a constructor has set them.
var holders = []reflect.Type{
	reflect.TypeFor[*gpt.Trainer](), reflect.TypeFor[*gpt.Model](), reflect.TypeFor[*decode.Session](),
	reflect.TypeFor[*decode.Session](),
	reflect.TypeFor[*seq2seq.Trainer](), reflect.TypeFor[*seq2seq.Model](), reflect.TypeFor[*seq2seq.Masked](),
	reflect.TypeFor[*seq2seq.Translator](), reflect.TypeFor[*train.Core](),
}

// meanings give the reason why a replaced field is not an error, by the name of the call and the replaced field.
var meanings = []struct{ pattern, why string }{
	{`(Model|Masked)\.Config\.(Training|Run|Parts|Hooks)\b|(Model|Masked)\.Config.*\.Dropout=`,
		"of a training: weights and what decodes are of the same network"},
	{`^(gpt|seq2seq)\.Trainer\.\w+ Trainer\.Model\.Config\b`, "a Trainer has a copy of its Config"},
	{`^seq2seq\.Model\.Fill Model\.Config\b`, "a Model fills batches by a copy of its Config"},
	{`^gpt\.Trainer\.(Step|Evaluate|EvaluateAll) Trainer\.Tokenizer=`, "Save and Files write it"},
	{`Core\.Done=(0|another)`, "the step to go on with"},
	{`Core\.Best=(0|-1|\+Inf|another)`, "the loss to compare with"},
}

// TestReplacedFields replaces every exported field of trainers, models and decoders by nil, by zero, and by the field
// of another value, and uses the value then. Nothing panics, and a use that can return an error does.
func TestReplacedFields(t *testing.T) {
	s := newSource()
	s.dir = checkpoints(t, s)
	t.Chdir(s.dir)
	uses, required, meant := 0, 0, map[string]bool{}
	for _, holder := range holders {
		for _, c := range s.calls {
			i := takes(c, holder)
			steps := strings.HasSuffix(c.name, "Trainer.Run") || c.name == "train.Core.Run" // until none is left
			if i < 0 || uncalled[c.name] != "" || steps {
				continue
			}
			w := s.world()
			args, err := w.tryArgs(c)
			if err != nil {
				t.Errorf("%s: no well-made arguments: %v", c.name, err)
				continue
			}
			out := attempt(t, w, c, c.name, args)
			works := out.failed == nil && out.can
			for _, field := range w.fields(args[i].Elem(), s.world().good(holder).Elem(), "") {
				before := reflect.New(field.at.Type()).Elem()
				before.Set(field.at)
				field.at.Set(field.v)
				name := c.name + " " + holder.Elem().Name() + field.how
				out := attempt(t, w, c, name, args)
				field.at.Set(before)
				uses++
				if meaning := match(meanings, name); !works || meaning != "" {
					meant[meaning] = true
					continue
				}
				if required++; out.failed == nil {
					t.Errorf("%s: no error", name)
				}
			}
		}
	}
	for _, m := range meanings {
		if !meant[m.why] {
			t.Errorf("nothing means that %s: %s", m.why, m.pattern)
		}
	}
	if uses < 1500 || required < 600 {
		t.Errorf("%d uses, an error required of %d: fewer than there were", uses, required)
	}
	t.Logf("%d uses, an error required of %d", uses, required)
}

// takes returns the index of the argument of that type in a call, or -1.
func takes(c call, of reflect.Type) int {
	for i := range c.f.Type().NumIn() {
		if c.f.Type().In(i) == of {
			return i
		}
	}
	return -1
}

// replaced is a field and its new value.
type replaced struct {
	wrong
	at reflect.Value
}

// fields returns every way to replace an exported field of a struct, or of a struct that a field points to. Each field
// of a configuration is replaced once.
func (w *world) fields(of, other reflect.Value, path string) (list []replaced) {
	for i := range of.NumField() {
		f := of.Type().Field(i)
		if !f.IsExported() {
			continue
		}
		at, name := of.Field(i), path+"."+f.Name
		seen := map[string]bool{}
		for _, x := range w.wrongs(at) {
			place, _, _ := strings.Cut(x.how, "=")
			if part := strings.Split(place, "."); len(part) > 1 && part[1] != "Network" && part[1] != "Stack" {
				place = part[1] // a field of each is enough
			}
			if f.Name == "Config" && (seen[place] || strings.Contains(place, "[")) {
				continue
			}
			seen[place] = true
			list = append(list, replaced{wrong{name + x.how, x.v}, at})
		}
		if !reflect.DeepEqual(at.Interface(), other.Field(i).Interface()) {
			list = append(list, replaced{wrong{name + "=another", other.Field(i)}, at})
		}
		if f.Type.Kind() == reflect.Pointer && f.Type.Elem().Kind() == reflect.Struct && path == "" &&
			f.Name != "Graph" {
			list = append(list, w.fields(at.Elem(), other.Field(i).Elem(), name)...)
		}
	}
	return list
}
