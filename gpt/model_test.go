package gpt

import (
	"testing"

	"github.com/pedestrian-ml/pedestrian/graph"
)

func TestModelCounts(t *testing.T) {
	shakespeare := Shakespeare()
	shakespeare.VocabSize = 65
	tied := GPT2()
	tied.Tie = true
	lora := GPT2()
	lora.LoraR = 16
	head := Paper()
	head.LoraR, head.LoraTargets = 16, []string{"lm_head"}
	for name, tc := range map[string]struct {
		config           Config
		total, trainable int
	}{
		"shakespeare":         {shakespeare, 804_096, 804_096},
		"paper":               {Paper(), 85_120_849, 85_120_849},
		"paper, head adapted": {head, 85_120_849 + 816_400, 816_400},
		"gpt2":                {GPT2(), 163_087_441, 163_087_441},
		"gpt2, tied":          {tied, 124_439_808, 124_439_808},
		"gpt2, all adapted":   {lora, 163_087_441 + 3_470_608, 3_470_608},
	} {
		t.Run(name, func(t *testing.T) {
			if testing.Short() && tc.total > 1e6 {
				t.Skip("builds a model of up to 163 million parameters")
			}
			m, err := New(graph.New(graph.Float32, 1), tc.config, 1)
			if err != nil {
				t.Fatal(err)
			}
			count := func(list []graph.Expr) (n int) {
				for _, p := range list {
					n += p.Tensor().Len()
				}
				return n
			}
			total, trainable := tc.config.Count()
			if got := count(m.Params()); got != tc.total || int64(got) != total {
				t.Errorf("parameters: built %d, formula %d, want %d", got, total, tc.total)
			}
			if got := count(m.Trainable()); got != tc.trainable || int64(got) != trainable {
				t.Errorf("trainable: built %d, formula %d, want %d", got, trainable, tc.trainable)
			}
		})
	}
}
