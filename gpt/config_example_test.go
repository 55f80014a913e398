package gpt_test

import (
	"flag"
	"fmt"
	"strings"

	"github.com/pedestrian-ml/pedestrian/gpt"
)

// A program's configuration is a preset, then a file, then flags.
func ExampleConfig() {
	c := gpt.Shakespeare()
	flags := flag.NewFlagSet("train", flag.ContinueOnError)
	c.Flags(flags)
	args := []string{"-n_layer", "2", "-vocab_size", "65"}
	if err := flags.Parse(args); err != nil {
		fmt.Println(err)
	}
	c, err := gpt.ReadConfig(strings.NewReader(`{"n_layer": 8, "n_head": 5}`), c)
	if err != nil {
		fmt.Println(err)
	}
	if err := flags.Parse(args); err != nil { // again: flags win over the file
		fmt.Println(err)
	}
	fmt.Println(c.Validate())

	c.NHead = 4
	total, _ := c.Count()
	fmt.Println(c.NLayer, "blocks,", total, "parameters,", c.Validate())
	// Output:
	// n_head: 5 heads do not divide n_embd 128; set both qk_size and v_size to do without
	// 2 blocks, 410368 parameters, <nil>
}

// The paper's network, and the number of trained parameters with adapters on its head.
func ExampleConfig_Count() {
	c := gpt.Paper()
	total, _ := c.Count()
	c.LoraR, c.LoraTargets = 16, []string{"lm_head"}
	_, trainable := c.Count()
	fmt.Println(total, trainable)
	// Output: 85120849 816400
}

func ExampleReadConfig() {
	_, err := gpt.ReadConfig(strings.NewReader(`{"n_heads": 4}`), gpt.Shakespeare())
	fmt.Println(err)
	// Output: n_heads: unknown field; did you mean n_head?
}
