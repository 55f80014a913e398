package gpt_test

import (
	"bytes"
	"fmt"

	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/graph"
)

// What fine-tuning has learned is a file of its own, a small part of the model's.
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
