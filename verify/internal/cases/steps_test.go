package cases

import (
	"slices"
	"testing"
)

// Every type of nn with a Step has a Case that compares it with Forward, but for those with a memory, of which nn's own
// tests do: what cross-attention attends to is put into its Step beforehand.
func TestEveryStepIsCompared(t *testing.T) {
	compared := []string{"CrossAttention", "DecoderBlock", "PostNormDecoderBlock"}
	for _, c := range All() {
		if c.Layer != nil {
			compared = append(compared, c.Types...)
		}
	}
	for _, name := range withMethod(t, "Step") {
		if !slices.Contains(compared, name) {
			t.Errorf("nn.%s has a Step and no Case with Layer, which would compare it with Forward", name)
		}
	}
}
