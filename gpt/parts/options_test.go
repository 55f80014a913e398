package parts

import (
	"flag"
	"strings"
	"testing"
)

// The attention must read an option that is set, but not one that is offered. Errors name the option, and the
// attentions that read it or the nearest name.
func TestOptionsAreRead(t *testing.T) {
	own := Registry{
		Attentions: []Attention{{Name: "own", New: causal, Options: []Option{{Name: "window"}, {Name: "own_width"}}}},
	}.WithLibrary()
	for name, c := range map[string]struct {
		attention, want string
		known           Registry
		set             func(o *Options)
	}{
		"read": {"window", "", Library(), func(o *Options) { o.Set("window", 4) }},
		"unread": {
			"causal",
			"window: got 4, which attention causal does not read, want 0 or attention gqa_window, window, " +
				"alternating, alternating_proj_bias, dilated, longformer, bigbird",
			Library(), func(o *Options) { o.Set("window", 4) },
		},
		"by default": {
			"", "window: got 4, which attention causal does not read", Library(),
			func(o *Options) { o.Set("window", 4) },
		},
		"misspelt": {
			"window", "wndow: got 3: no attention has such an option; did you mean window?", Library(),
			func(o *Options) { o.Set("window", 4); o.Set("wndow", 3) },
		},
		"unheard of": {
			"causal", "zeal: got 3: no attention has such an option; the known are n_kv_head window", Library(),
			func(o *Options) { o.Set("zeal", 3) },
		},
		"first by name": {
			"causal", "dilation: got 2, which", Library(),
			func(o *Options) { o.Set("window", 4); o.Set("dilation", 2) },
		},
		"offered":         {"causal", "", Library(), func(o *Options) { o.Offer("window", 4); o.Offer("wndow", 3) }},
		"set and offered": {"causal", "", Library(), func(o *Options) { o.Set("window", 3); o.Offer("window", 4) }},
		"offered and set": {
			"causal", "window: got 4", Library(), func(o *Options) { o.Offer("window", 3); o.Set("window", 4) },
		},
		"taken back": {"causal", "", Library(), func(o *Options) { o.Set("window", 3); o.Set("window", 0) }},
		"own":        {"own", "", own, func(o *Options) { o.Set("window", 3); o.Set("own_width", 3) }},
		"own's elsewhere": {
			"causal", "own_width: got 3, which attention causal does not read, want 0 or attention own", own,
			func(o *Options) { o.Set("own_width", 3) },
		},
		"by an own one": {
			"causal", "want 0 or attention own, gqa_window, window, ", own, func(o *Options) { o.Set("window", 3) },
		},
	} {
		s := Stack{NLayer: 1, NHead: 2, NEmbd: 6, Attention: c.attention}
		c.set(&s.Options)
		err := c.known.Design(s).Validate(8)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
		if err == nil {
			if err := c.known.Design(c.known.Design(s).Stack).Validate(8); err != nil {
				t.Errorf("%s: resolved: %v", name, err)
			}
		}
	}
}

// A file has the options of all attentions, which need not be read. An option set by a flag must be read.
func TestOptionsOfFilesAndFlags(t *testing.T) {
	for attention, want := range map[string]string{"causal": "window: got 5", "window": ""} {
		s := Stack{NLayer: 1, NHead: 2, NEmbd: 6, Attention: attention}
		f, _ := s.OptionFields(Library()).Find("window")
		if err := f.Decode([]byte("4")); err != nil || s.Options.Get("window") != 4 {
			t.Fatalf("got %d, %v", s.Options.Get("window"), err)
		}
		if err := Library().Design(s).Validate(8); err != nil {
			t.Errorf("%s, from a file: %v", attention, err)
		}
		fs := flag.NewFlagSet("", flag.ContinueOnError)
		s.OptionFields(Library()).Flags(fs)
		if err := fs.Parse([]string{"-window", "5"}); err != nil {
			t.Fatal(err)
		}
		if err := Library().Design(s).Validate(8); (err == nil) != (want == "") || err != nil &&
			!strings.Contains(err.Error(), want) {
			t.Errorf("%s, from a flag: got %v, want %q", attention, err, want)
		}
	}
}
