package cases

import (
	"slices"
	"testing"
)

// Every type of nn with a Step has a Case that compares it with Forward, except types with a memory, which nn's own
// tests compare: the memory of cross-attention is put into its Step in advance.
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
