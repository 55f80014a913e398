package parts

import (
	"slices"
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/nn"
)

// A list of attentions repeats over the blocks, and is a configuration's value only if all of its names are known.
func TestListsOfAttentions(t *testing.T) {
	for list, want := range map[string]string{
		"causal":              "causal causal causal causal causal",
		"gla,causal":          "gla causal gla causal gla",
		"gla*3,causal":        "gla gla gla causal gla",
		"retnet*2,window,gla": "retnet retnet window gla retnet",
		"gla*2":               "gla gla gla gla gla",
		"gla*99":              "gla gla gla gla gla",
	} {
		s := Stack{Attention: list}
		var got []string
		for block := range 5 {
			got = append(got, s.AttentionOf(block))
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: got %s, want %s", list, got, want)
		}
		if err := s.PartFields(Library())[1].Check(); err != nil {
			t.Errorf("%s: %v", list, err)
		}
	}
	for list, want := range map[string]int{"causal": 1, "gla,causal": 2, "retnet*2,window,gla": 4, "gla,": 1} {
		if got := (Stack{Attention: list}).Period(); got != want {
			t.Errorf("%s: got a period of %d, want %d", list, got, want)
		}
	}
	for _, list := range []string{
		"gla,", ",gla", "gla*0", "gla*", "gla*-1", "gla*02", "gla*129", "gla*100,causal*29", "gla*1e2",
		"gla*9999999999999999999",
		"gla causal", "gla, causal", "gla*2*2", "sparse,causal", "causal*x",
	} {
		s := Stack{Attention: list}
		err := s.PartFields(Library())[1].Check()
		if want := "attention: got " + list + ", want one of causal, "; err == nil ||
			!strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", list, err, want)
		}
	}
}

// Options belong to any attention of the list. A setting that one of its attentions does not read is refused by its
// name, as is a list that is longer than the stack.
func TestListsAreRefused(t *testing.T) {
	for _, c := range []struct {
		list string
		set  func(*Stack)
		want string
	}{
		{"gla,window", func(s *Stack) { s.Options.Set("window", 2) }, ""},
		{"causal,gqa", func(s *Stack) { s.Options.Set("n_kv_head", 1) }, ""},
		{"gla,window", func(*Stack) {}, "window: got 0, want 1 to block_size 6"},
		{
			"gla,causal", func(s *Stack) { s.Options.Set("window", 2) },
			"window: got 2, which attention gla,causal does not read",
		},
		{"gla*4,causal", func(*Stack) {}, "attention: got gla*4,causal, a list for 5 blocks, want at most n_layer 4"},
		{"causal,gla", func(s *Stack) { s.Position = "rope" }, "position: got rope, want another with attention gla: "},
		{"causal,mla", func(s *Stack) { s.Position = "rope" }, "position: got rope, want another with attention mla: "},
		{
			"causal,deltanet", func(s *Stack) { s.Position = "alibi" },
			"position: got alibi, want another with attention deltanet,",
		},
		{
			"causal,retnet", func(s *Stack) { s.With.Set("attn_gate", "headwise") },
			"attn_gate: got headwise, want none with attention retnet,",
		},
		{
			"causal,linear", func(s *Stack) { s.With.Set("attn_sinks", "learned") },
			"attn_sinks: got learned, want none with attention linear,",
		},
		{
			"causal,gla", func(s *Stack) { s.Sublayers.AttnLogitSoftcapping = 2 },
			"attn_logit_softcapping: got 2, want 0 with attention gla,",
		},
		{"causal,linformer", func(*Stack) {}, "attention: got linformer, want a causal one"},
		{"gqa_window,gla", func(s *Stack) {
			s.Position = "rope"
			s.Rope.LocalBaseFreq = 9
		}, "rope_local_base_freq: got 9, want 0 with position rope and attention gqa_window,gla"},
	} {
		s := Stack{NLayer: 4, NHead: 2, NEmbd: 8, Attention: c.list}
		c.set(&s)
		err := Library().Design(s).Validate(6)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.HasPrefix(err.Error(), c.want)) {
			t.Errorf("%s: got %v, want %q", c.list, err, c.want)
		}
	}
}

// Every attention of a list must use what the model offers: one that does not is refused though another does.
func TestListsUseTheirSites(t *testing.T) {
	for _, c := range []struct {
		list string
		set  func(*Stack)
		want string
	}{
		{
			"causal,gla", func(s *Stack) { s.With.Set("qk_norm", "head") },
			"h.1.attn: a recurrence with qk_norm: the layer has no such link",
		},
		{
			"gla,causal", func(s *Stack) { s.With.Set("value_residual", "learned") },
			"h.0.attn: a recurrence with value_residual: the layer has no such link",
		},
		{"gqa,causal", func(s *Stack) { s.With.Set("value_residual", "learned"); s.Options.Set("n_kv_head", 1) },
			"h.1.attn: 8 features of values to mix with 4 of the first block, want the same number"},
		{
			"causal,retnet", func(s *Stack) { s.With.Set("short_conv", "qkv") },
			"short_conv: got qkv, and no layer of attention retnet,",
		},
		{"causal,deltanet", func(s *Stack) { s.Position = "rope" }, ""},
	} {
		s := Stack{NLayer: 2, NHead: 2, NEmbd: 8, QKSize: 4, Attention: c.list}
		c.set(&s)
		d := Library().Design(s)
		err := d.Validate(6)
		if err == nil {
			b, g := body(d)
			b.Forward(g.Root().Ints("tokens", 6, 11, graph.NoneIgnored))
			if err = g.Err(); err == nil {
				err = b.CheckUsed()
			}
		}
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.HasPrefix(err.Error(), c.want)) {
			t.Errorf("%s: got %v, want %q", c.list, err, c.want)
		}
	}
}

// Each attention of a list has a mask of its own.
func TestListsHaveTheirMasks(t *testing.T) {
	s := Stack{NLayer: 2, NHead: 2, NEmbd: 8, Attention: "window,dilated"}
	for name, n := range map[string]int{"window": 2, "dilation": 2} {
		s.Options.Set(name, n)
	}
	var names []string
	_, g := body(Library().Design(s))
	for _, x := range g.Leaves() {
		if strings.HasSuffix(x.Name(), "mask") {
			names = append(names, x.Name())
		}
	}
	if want := []string{"window.visible.mask", "dilated.visible.mask"}; !slices.Equal(names, want) {
		t.Errorf("got %s, want %s", names, want)
	}
}

// body builds the layers of d on a graph without values.
func body(d Design) (*Body, *graph.Graph) {
	g := graph.Outline(graph.Float64)
	at := d.Site(1, 6)
	at.Scope, at.Positions = g.Root(), Places(g.Root(), 1, 6)
	return d.Body(at, 11, func(root nn.Site) (*nn.Mask, func(nn.Site) nn.Layer) {
		root.Mask = nn.NewBiasedMask(root.Scope, root.Dims, nn.Causal{}, root.Scores)
		attention := d.Attention.Make(root, d.Stack)
		return root.Mask, func(at nn.Site) nn.Layer { return d.Block.New(at, attention) }
	}), g
}
