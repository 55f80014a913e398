package gpt

import (
	"slices"
	"testing"

	"github.com/pedestrian-ml/pedestrian/gpt/safetensors"
	"github.com/pedestrian-ml/pedestrian/gpt/train"
)

// A tied model's file may contain the head in addition to the embedding, with the same numbers to the bit.
func TestTiedHead(t *testing.T) {
	m, _, files := publishedGPT2(t)
	for name, test := range map[string]struct {
		change func(head safetensors.Tensor) safetensors.Tensor
		want   string
	}{
		"the same":    {func(head safetensors.Tensor) safetensors.Tensor { return head }, ""},
		"another bit": {func(head safetensors.Tensor) safetensors.Tensor { head.F32[4001] += 1e-6; return head }, "lm_head.weight: entry 4001 is"},
		"other rows": {func(head safetensors.Tensor) safetensors.Tensor {
			head.Shape, head.F32 = []int{270, 16}, head.F32[:270*16]
			return head
		}, "lm_head.weight has shape [270 16], the tokens of a tied model [271 16]"},
	} {
		list := decoded(t, m)
		i := slices.IndexFunc(list, func(x safetensors.Tensor) bool { return x.Name == "wte.weight" || x.Name == "transformer.wte.weight" })
		head := test.change(safetensors.Tensor{Name: "lm_head.weight", Shape: slices.Clone(list[i].Shape), F32: slices.Clone(list[i].F32)})
		files[train.WeightsFile] = encoded(t, append(list, head))
		_, _, err := Open(folder(t, files))
		if test.want == "" {
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		mustContain(t, err, test.want)
	}
}
