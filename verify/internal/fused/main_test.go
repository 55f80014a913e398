package main

import (
	"slices"
	"strings"
	"testing"
)

func TestPlaces(t *testing.T) {
	const dump = `TEXT github.com/pedestrian-ml/pedestrian/nn.(*LoRA).Merge(SB) /src/nn/lora.go
  lora.go:133	0x334d	1e220800	FMULD F2, F0, F0
  lora.go:133	0x3351	1f420800	FMADDD F2, F0, F3, F0
  lora.go:138	0x3355	1f420800	FMSUBD F2, F0, F3, F0
TEXT github.com/pedestrian-ml/pedestrian/graph/internal/kernel.Add[go.shape.float32](SB) /src/graph/internal/kernel/add.go
  add.go:7	0x334d	1f020800	FMADDS F2, F0, F1, F0
TEXT github.com/pedestrian-ml/pedestrian/graph/internal/kernel/fma.Lanes(SB) /src/fused.go
  fused.go:7	0x334d	1f020800	FMADDS F2, F0, F1, F0
TEXT github.com/pedestrian-ml/pedestrian/gpt/lab.Mean(SB) /src/gpt/lab/mean.go
  mean.go:7	0x334d	1f020800	FMADDS F2, F0, F1, F0
TEXT math.Exp(SB) /go/src/math/exp.go
  exp.go:7	0x334d	1f020800	FMADDS F2, F0, F1, F0
`
	got, err := places(strings.NewReader(dump), func(path, line string) string {
		if line == "138" {
			return "x := math.FMA(y, z, w)"
		}
		return "x += y*z"
	})
	want := []place{{"nn/lora.go", "133"}, {"graph/internal/kernel/add.go", "7"}}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("got %v, %v, want %v", got, err, want)
	}
}
