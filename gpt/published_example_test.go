package gpt_test

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/checkpoint"
	"github.com/pedestrian-ml/pedestrian/gpt/safetensors"
	"github.com/pedestrian-ml/pedestrian/gpt/text"
	"github.com/pedestrian-ml/pedestrian/graph"
)

// The networks of published models, by name.
func ExampleStories15M() {
	for _, c := range []gpt.Config{gpt.DistilGPT2(), gpt.GPT2(), gpt.SmolLM2_135M(), gpt.Stories15M()} {
		total, _ := c.Count()
		family, err := c.Family()
		fmt.Println(c.NLayer, "blocks,", total, "parameters,", family, err)
	}
	// Output:
	// 6 blocks, 81912576 parameters, gpt2 <nil>
	// 12 blocks, 124439808 parameters, gpt2 <nil>
	// 30 blocks, 134515008 parameters, llama <nil>
	// 6 blocks, 15191712 parameters, llama <nil>
}

// A model that was built here is exported like a published one, and opened again.
func ExampleModel_Export() {
	c := gpt.Stories15M()
	c.NLayer, c.NHead, c.NEmbd, c.NInner, c.VocabSize, c.BlockSize = 2, 2, 16, 24, text.Bytes{}.Size(), 32
	m, err := gpt.New(graph.New(graph.Float32, 1), c, 1)
	if err != nil {
		fmt.Println(err)
		return
	}
	temp, err := os.MkdirTemp("", "")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(temp)
	dir := filepath.Join(temp, "stories")
	if err := m.Export(dir, text.Bytes{}, safetensors.BF16); err != nil {
		fmt.Println(err)
		return
	}
	cp, err := checkpoint.Load(dir)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(cp.Names(), cp.Published, cp.Close())
	again, _, err := gpt.OpenCropped(dir, 16)
	fmt.Println(again.Config.Norm, again.Config.MLP, again.Config.BlockSize, err)
	// Output:
	// [config.json generation_config.json model.safetensors vocabulary.json] true <nil>
	// rmsnorm swiglu 16 <nil>
}
