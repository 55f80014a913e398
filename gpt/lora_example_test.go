package gpt_test

import (
	"bytes"
	"fmt"
	"os"

	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/graph"
)

// The result of fine-tuning is a separate file, much smaller than the model's.
func ExampleModel_ReadAdapters() {
	c := gpt.Shakespeare()
	c.VocabSize, c.LoraR = 65, 4
	tuned, err := gpt.New(graph.New(graph.Float32, 1), c, 1)
	if err != nil {
		fmt.Println(err)
		return
	}
	up, _ := tuned.Graph.Leaf("h.0.mlp.c_fc.lora_u")
	up.Tensor().Set(0, 0.5) // as if it had been trained
	var whole, adapters bytes.Buffer
	fmt.Println(tuned.WriteWeights(&whole), tuned.WriteAdapters(&adapters))
	fmt.Printf("%.1f %% of the bytes\n", 100*float64(adapters.Len())/float64(whole.Len()))

	other, err := gpt.New(graph.New(graph.Float32, 1), c, 1) // the same base
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(other.ReadAdapters(adapters.Bytes()))
	up, _ = other.Graph.Leaf("h.0.mlp.c_fc.lora_u")
	fmt.Println(up.Tensor().At(0))
	// Output:
	// <nil> <nil>
	// 4.5 % of the bytes
	// <nil>
	// 0.5
}

// Programs exchange adapters as folders of PEFT. A base can use many of them, one at a time.
func ExampleModel_Use() {
	c := gpt.Shakespeare()
	c.VocabSize, c.NLayer = 65, 1
	base, err := gpt.New(graph.New(graph.Float32, 1), c, 1)
	check(err)
	dir, err := os.MkdirTemp("", "adapter")
	check(err)
	defer os.RemoveAll(dir)

	c.LoraR, c.LoraAlpha, c.LoraTargets = 4, 8, []string{"c_attn"}
	tuned, err := gpt.New(graph.New(graph.Float32, 1), c, 1) // by FineTune, and trained
	check(err)
	check(tuned.SaveAdapter(dir+"/of-mine", "my/base"))

	a, err := gpt.OpenAdapter(dir + "/of-mine")
	check(err)
	model, err := base.Adapted(1, a)
	check(err)
	check(model.Use(a))
	fmt.Println(a.Base, model.Config.LoraTargets)
	check(model.Use(nil)) // the base again
	// Output: my/base [attn.c_attn]
}
