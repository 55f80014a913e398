package parts

import (
	"slices"
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/nn"
)

// A copy of options does not change with the original, and 0 means not set.
func TestOptions(t *testing.T) {
	var a Options
	a.Set("window", 3)
	b := a
	b.Set("window", 4)
	b.Set("dilation", 2)
	if a.Get("window") != 3 || a.Get("dilation") != 0 || b.Get("window") != 4 {
		t.Errorf("got %v and %v", a, b)
	}
	b.Set("dilation", 0)
	b.Set("window", 3)
	if !a.Equal(b) || a.Equal(Options{}) {
		t.Errorf("%v and %v: want equal, and not nothing", a, b)
	}
}

// Attentions that share an option declare it alike, and an option is resolved only for an attention that reads it.
func TestSharedOptions(t *testing.T) {
	helps := map[string]string{}
	var s Stack
	for _, a := range Attentions() {
		for _, o := range a.Options {
			if help, ok := helps[o.Name]; ok && help != o.Help {
				t.Errorf("%s: %q and %q", o.Name, help, o.Help)
			}
			helps[o.Name] = o.Help
			s.Options.Set(o.Name, 6)
		}
	}
	if got := s.OptionFields(Library()).Names(); len(got) != len(helps) {
		t.Errorf("got fields %v for %d options", got, len(helps))
	}
	s.NHead, s.NEmbd = 2, 8
	for _, a := range Attentions() {
		s.Attention = a.String()
		got := Library().Design(s).Stack.Options
		for name := range helps {
			reads := slices.ContainsFunc(a.Options, func(o Option) bool { return o.Name == name })
			if want := map[bool]int{true: 6}[reads]; got.Get(name) != want {
				t.Errorf("%s of %s: got %d, want %d", name, a.Name, got.Get(name), want)
			}
		}
	}
}

// A user-defined attention has its own option: default, check and flag.
func TestOwnOption(t *testing.T) {
	var r Registry
	r.Attentions = []Attention{{Name: "mine", New: causal, Options: []Option{{
		Name: "depth", Help: "how deep", Default: func(s Stack) int { return s.NEmbd / 2 }, Check: upToContext("depth"),
	}}}}
	known := r.WithLibrary()
	s := Stack{NLayer: 1, NHead: 2, NEmbd: 8, Attention: "mine"}
	if got := known.Design(s).Stack.Options.Get("depth"); got != 4 {
		t.Errorf("default: got %d, want 4", got)
	}
	if err := known.Design(s).Validate(4); err != nil {
		t.Error(err)
	}
	s.Options.Set("depth", 5)
	if err := known.Design(s).Validate(4); err == nil || err.Error() != "depth: got 5, want at most block_size 4" {
		t.Errorf("got %v", err)
	}
	f, ok := s.OptionFields(known).Find("depth")
	if !ok || f.String() != "5" || f.Help != "how deep" {
		t.Errorf("got %v %q, want 5", f, f.Help)
	}
	s.Attention = "causal"
	if got := known.Design(s).Stack.Options; !got.Equal(Options{}) {
		t.Errorf("causal: got %v, want nothing", got)
	}
}

// By default every head has its own keys and values. A number that does not divide the heads is refused.
func TestGroups(t *testing.T) {
	for _, c := range []struct {
		set, got int
		want     string
	}{
		{0, 6, ""}, {1, 1, ""}, {3, 3, ""}, {6, 6, ""},
		{4, 4, "n_kv_head: got 4, want a divisor of n_head 6"},
		{12, 12, "n_kv_head: got 12, want a divisor of n_head 6"},
	} {
		for _, name := range []string{"gqa", "gqa_bias"} {
			s := Stack{NLayer: 1, NHead: 6, NEmbd: 12, Attention: name}
			s.Options.Set("n_kv_head", c.set)
			err := Library().Design(s).Validate(4)
			if got := Library().Design(s).Stack.Options.Get("n_kv_head"); got != c.got ||
				(err == nil) != (c.want == "") || err != nil && err.Error() != c.want {
				t.Errorf("%s, %d: got %d and %v, want %d and %q", name, c.set, got, err, c.got, c.want)
			}
		}
	}
	for got := range 2 {
		if err := checkKVHeads(got-1, nn.Dims{Heads: 6}); err == nil {
			t.Errorf("%d: no error", got-1)
		}
	}
}

// The number of groups, which older files do not have, is left out of the JSON while it is 0.
func TestGroupsInJSON(t *testing.T) {
	var s Stack
	for groups, want := range map[int]string{0: "", 3: `"n_kv_head":3`} {
		s.Options.Set("n_kv_head", groups)
		data, err := s.OptionFields(Library()).MarshalJSON()
		if got := strings.Contains(string(data), "n_kv_head"); err != nil || got != (groups > 0) ||
			!strings.Contains(string(data), want) ||
			!strings.Contains(string(data), `"window":0`) {
			t.Errorf("%d: got %s, %v", groups, data, err)
		}
	}
}

// A variant with the name of one of the library replaces it, and each name is listed once.
func TestRegistry(t *testing.T) {
	own := Norm{Name: "layernorm", New: func(at nn.Site) nn.Layer { return nil }}
	known := Registry{Norms: []Norm{{Name: "mine"}, own}}.WithLibrary()
	if got, want := Names(known.Norms), append([]string{"mine"}, Names(Norms())...); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if Find(known.Norms, "layernorm").New(nn.Site{}) != nil {
		t.Error("the library's layernorm, want one's own")
	}
	if Find(known.Norms, "none").Name != "" || len(known.MLPs) != len(MLPs()) ||
		len(known.Optimizers) != len(Optimizers()) {
		t.Errorf("got %d MLPs and %d optimizers, want %d and %d, and no norm \"none\"",
			len(known.MLPs), len(known.Optimizers), len(MLPs()), len(Optimizers()))
	}
}

// If the check of a block accepts its parts, the check of the MLP still applies.
func TestBlockAndMLPAreChecked(t *testing.T) {
	known := Registry{
		Blocks: []Block{{Name: "mine", New: Blocks()[0].New, Check: func(Stack) error { return nil }}},
	}.WithLibrary()
	s := Stack{NLayer: 1, NHead: 2, NEmbd: 8, Block: "mine", MLP: "swiglu"}
	if err := known.Design(s).Validate(4); err != nil {
		t.Error(err)
	}
	s.Activation = "relu"
	if err := known.Design(s).Validate(4); err == nil ||
		!strings.HasPrefix(err.Error(), "activation: got relu, want the default, gelu, with mlp swiglu") {
		t.Errorf("got error %v", err)
	}
}

// TestJoin checks that all registries count, and that the first of several variants of one name does. One registry that
// permits models to look ahead is enough.
func TestJoin(t *testing.T) {
	block := func(name Name, final bool) Block { return Block{Name: name, Final: final} }
	all := Join(Registry{Blocks: []Block{block("a", true)}}, Registry{},
		Registry{Blocks: []Block{block("b", true), block("a", false)}, Bidirectional: true})
	if got := Names(all.Blocks); !slices.Equal(got, []string{"a", "b"}) || !Find(all.Blocks, "a").Final {
		t.Errorf("got blocks %v, the first of them final %t, want a, b and true", got, Find(all.Blocks, "a").Final)
	}
	if !all.Bidirectional || Join(Registry{}).Bidirectional {
		t.Error("Bidirectional: want true if it is true of one registry")
	}
}
