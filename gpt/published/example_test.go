package published_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/published"
	"github.com/pedestrian-ml/pedestrian/gpt/safetensors"
	"github.com/pedestrian-ml/pedestrian/gpt/text"
	"github.com/pedestrian-ml/pedestrian/gpt/text/chat"
	"github.com/pedestrian-ml/pedestrian/graph"
)

// A model that was built here is exported like a published one, and opened again.
func ExampleExport() {
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
	err = published.Export(context.Background(), dir, m, text.Bytes{}, safetensors.BF16, chat.Template{})
	if err != nil {
		fmt.Println(err)
		return
	}
	cp, err := published.Load(dir)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(cp.Names(), cp.Published, cp.Close())
	again, _, err := published.OpenCropped(dir, 16)
	fmt.Println(again.Config.Norm, again.Config.MLP, again.Config.BlockSize, err)
	// Output:
	// [config.json generation_config.json model.safetensors vocabulary.json] true <nil>
	// rmsnorm swiglu 16 <nil>
}

// A LLaMA with biases is exported with the keys attention_bias and mlp_bias.
func ExampleModelType() {
	c := gpt.LLaMA()
	c.VocabSize, c.Sublayers.AttentionBias, c.Sublayers.MLPBias = 65, true, true
	family, err := published.ModelType(c)
	fmt.Println(family, err)
	// Output: llama <nil>
}

// A folder of one of these families opens, whatever program has written it.
func ExampleFamilies() {
	fmt.Println(slices.Contains(published.Families(), "qwen3"))
	// Output: true
}
