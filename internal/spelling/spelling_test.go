package spelling

import (
	"slices"
	"testing"
)

// The distance of two names is the number of bytes to insert, delete or replace.
func TestDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{
		{"", "", 0}, {"", "abc", 3}, {"abc", "", 3}, {"abc", "abc", 0}, {"abc", "abd", 1}, {"abc", "xyz", 3},
		{"ab", "cab", 1}, {"ab", "acb", 1}, {"ab", "abcd", 2}, {"abcd", "bd", 2}, {"attn", "mlp", 4},
		{"h.0", "h.10", 1},
		{"kitten", "sitting", 3}, {"flaw", "lawn", 2}, {"abcxy", "abc", 2}, {"abxyc", "abc", 2}, {"é", "e", 2},
	} {
		if got := Distance(c.a, c.b); got != c.want {
			t.Errorf("%q to %q: got %d, want %d", c.a, c.b, got, c.want)
		}
		if got := Distance(c.b, c.a); got != c.want {
			t.Errorf("%q to %q: got %d, want %d", c.b, c.a, got, c.want)
		}
	}
}

// The nearest names come first, and names at the same distance keep their order. The given list stays unchanged.
func TestNearest(t *testing.T) {
	names := []string{"n_head", "n_embd", "n_layer", "bias"}
	for _, c := range []struct {
		n    int
		want []string
	}{{0, []string{}}, {2, []string{"n_layer", "n_head"}}, {9, []string{"n_layer", "n_head", "n_embd", "bias"}}} {
		if got := Nearest("n_layers", names, c.n); !slices.Equal(got, c.want) {
			t.Errorf("%d: got %q, want %q", c.n, got, c.want)
		}
	}
	if want := []string{"n_head", "n_embd", "n_layer", "bias"}; !slices.Equal(names, want) {
		t.Errorf("the names are now %q, want %q", names, want)
	}
	for word, want := range map[string]string{
		"n_layers": "n_layer", "n_lay": "n_layer", "n_la": "n_layer", "layer": "n_layer", "ay": "", "window": "",
		"": "",
	} {
		if got := Meant(word, names); got != want {
			t.Errorf("%q: got %q, want %q", word, got, want)
		}
	}
	if got := Meant("a", nil); got != "" {
		t.Errorf("of no names: got %q, want none", got)
	}
}
