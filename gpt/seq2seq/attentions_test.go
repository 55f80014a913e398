package seq2seq

import (
	"strings"
	"testing"
)

// A window is equally wide on either side and excludes padding; padding itself sees the last token.
func TestWindow(t *testing.T) {
	v := near{2, []int{4, 2}}
	for b, want := range []string{"11000 11100 01110 00110 00010", "11000 11000 01000 01000 01000"} {
		var got strings.Builder
		for i := range 5 {
			if i > 0 {
				got.WriteByte(' ')
			}
			for j := range 5 {
				got.WriteString(map[bool]string{true: "1", false: "0"}[v.Visible(b, i, j)])
			}
		}
		if got.String() != want {
			t.Errorf("sequence %d: got %s, want %s", b, got.String(), want)
		}
	}
	if v := (near{1, []int{3}}); !v.Visible(0, 3, 2) || v.Visible(0, 3, 3) {
		t.Error("the first token of the padding sees itself instead of the last token")
	}
	c := small()
	c.Options.Set("window", 3)
	if sees := nearby(c.Stack, []int{5}); !sees.Visible(0, 0, 2) || sees.Visible(0, 0, 3) {
		t.Errorf("window 3: got %+v, want 2 on either side", sees)
	}
}

// Mixtures of keys require sources without padding.
func TestLinformerRefusesPadding(t *testing.T) {
	c := small()
	c.Attention = "linformer"
	pairs := list{{[]int{4, 5, 6, 7, 8}, []int{5}}, {[]int{4, 5}, []int{6}}}
	mustSay(t, second(NewTrainer(c, pairs)), "pair 1: the source has 2 tokens, source_size is 5: "+
		"with attention linformer all have this length, without padding")
	losses := steps(t, trainerOn(t, c, pairs[:1]), 30)
	if !(losses[29] < 0.8*losses[0]) {
		t.Errorf("the loss goes from %v to %v", losses[0], losses[29])
	}
}
