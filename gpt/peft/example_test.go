package peft_test

import (
	"fmt"
	"os"

	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/peft"
	"github.com/pedestrian-ml/pedestrian/graph"
)

// Programs exchange adapters as folders of PEFT. A base can use many of them, one at a time.
func Example() {
	c := gpt.Shakespeare()
	c.VocabSize, c.NLayer = 65, 1
	base, err := gpt.New(graph.New(graph.Float32, 1), c, 1)
	check(err)
	dir, err := os.MkdirTemp("", "adapter")
	check(err)
	defer os.RemoveAll(dir)

	c.LoraR, c.LoraAlpha, c.LoraTargets, c.LoraFused = 4, 8, []string{"c_attn"}, true
	tuned, err := gpt.New(graph.New(graph.Float32, 1), c, 1) // by FineTune, and trained
	check(err)
	check(peft.Save(dir+"/of-mine", tuned, "my/base"))

	a, err := peft.Open(dir + "/of-mine")
	check(err)
	model, err := peft.Adapted(base, 1, a)
	check(err)
	check(model.Use(a))
	fmt.Println(a.Base, model.Config.LoraTargets)
	check(model.Use(nil)) // the base again
	// Output: my/base [attn.c_attn]
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
