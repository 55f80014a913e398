package parts_test

import (
	_ "embed"
	"fmt"
	"os"
	"path/filepath"

	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/certificate"
	"github.com/pedestrian-ml/pedestrian/gpt/parts"
	"github.com/pedestrian-ml/pedestrian/nn"
)

//go:embed own_attention_example_test.go
var gatedSource string

// The certificate of a run names the code that is not the library's, with the hash of its source if it is given.
func ExampleRegistry_source() {
	c := small()
	c.Attention, c.Parts.Attentions = "gated", []parts.Attention{{
		Name: "gated", New: func(nn.Site, parts.Stack) nn.Attention { return newGated },
	}}
	c.Hooks.Rate = func(int) float64 { return 1e-3 }
	data, tok := corpus(c)
	for _, source := range []string{"", gatedSource} {
		c.Parts.Source, c.Hooks.Source = source, source
		trainer, err := gpt.NewTrainer(c, data, tok)
		check(err)
		_, err = trainer.Step()
		check(err)
		dir, err := os.MkdirTemp("", "certified")
		check(err)
		check(trainer.Save(dir))
		made, err := certificate.Open(filepath.Join(dir, certificate.File))
		check(err)
		check(os.RemoveAll(dir))
		for _, code := range made.Code {
			fmt.Println(code.Name, "is covered:", code.Covered())
		}
	}
	// Output:
	// attention gated is covered: false
	// hook rate is covered: false
	// attention gated is covered: true
	// hook rate is covered: true
}
