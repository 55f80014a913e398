package gpt_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/checkpoint"
	"github.com/pedestrian-ml/pedestrian/gpt/safetensors"
	"github.com/pedestrian-ml/pedestrian/gpt/search"
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

// A model of bytes generates text, streamed up to a stop string. It is greedy, with a repetition penalty.
func ExampleModel_Generate() {
	var c gpt.Config
	c.BlockSize, c.VocabSize, c.NLayer, c.NHead, c.NEmbd = 8, 256, 1, 2, 8
	m, err := gpt.New(graph.New(graph.Float32, 1), c, 1)
	if err != nil {
		panic(err)
	}
	s := search.NewSampler(1)
	s.Temperature, s.RepetitionPenalty = 0, 1.2
	written := ""
	for piece, err := range m.Generate(context.Background(), text.Bytes{}, "ROMEO:", 50, s, "\n\n", "JULIET:") {
		if err != nil {
			panic(err)
		}
		written += piece // or print it
	}
	fmt.Println(len(written) > 0, strings.Contains(written, "\n\n"))
	// Output: true false
}
