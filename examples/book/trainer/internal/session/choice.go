package session

import (
	"strings"

	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/parts"
)

// Choice describes the model and the task of a run. Default replaces a name that is empty.
type Choice struct {
	Task      string `json:"task"` // sum, sort or text
	Text      string `json:"text"` // of task text
	Seed      uint64 `json:"seed"`
	Position  string `json:"position"`
	Norm      string `json:"norm"`
	Attention string `json:"attention"` // or a recurrence, or one of each: "causal,gated_deltanet"
}

// Default returns the model that the page shows first.
func Default() Choice {
	return Choice{Task: "sum", Seed: 1, Position: "learned", Norm: "layernorm", Attention: "causal"}
}

// Choices lists the names that a Choice may have.
type Choices struct {
	Tasks      []Named  `json:"tasks"`
	Positions  []string `json:"positions"`
	Norms      []string `json:"norms"`
	Attentions []string `json:"attentions"`
	Default    Choice   `json:"default"`
	Verses     string   `json:"verses"` // a text to begin with
}

// Named is a task with a sentence about it.
type Named struct {
	Name  string `json:"name"`
	About string `json:"about"`
}

// choices offers every part of the library that a small decoder can have without further settings.
func choices() Choices {
	c := Choices{Default: Default(), Verses: verses}
	for _, t := range tasks() {
		c.Tasks = append(c.Tasks, Named{t.name, t.about})
	}
	for _, name := range parts.Names(parts.Positions()) {
		if fits(func(c *Choice) { c.Position = name }) {
			c.Positions = append(c.Positions, name)
		}
	}
	for _, name := range parts.Names(parts.Norms()) {
		if fits(func(c *Choice) { c.Norm = name }) {
			c.Norms = append(c.Norms, name)
		}
	}
	for _, name := range parts.Names(parts.Attentions()) {
		if fits(func(c *Choice) { c.Attention = name }) {
			c.Attentions = append(c.Attentions, name)
		}
	}
	for _, a := range strings.Fields("causal,gated_deltanet gated_deltanet,causal") {
		if fits(func(c *Choice) { c.Attention = a }) {
			c.Attentions = append(c.Attentions, a)
		}
	}
	return c
}

// fits reports whether the default model with a change can be built.
func fits(change func(c *Choice)) bool {
	c := Default()
	change(&c)
	config := c.config()
	config.VocabSize, config.BlockSize = 12, 8
	return config.ValidateModel() == nil
}

// scheduled is the number of steps after which the learning rate has become small.
const scheduled = 3000

// config returns the model of about 20,000 parameters and its training. The sizes of the vocabulary and of the text
// come from the task.
func (c Choice) config() gpt.Config {
	g := gpt.Shakespeare()
	g.NLayer, g.NHead, g.NEmbd, g.NInner, g.Head = 2, 4, 32, 80, "linear"
	g.Position, g.Norm, g.Attention = c.Position, c.Norm, c.Attention
	g.Options.Offer("window", 4)
	g.BatchSize, g.LearningRate, g.MinLR, g.WarmupIters = 8, 5e-3, 5e-4, 50
	g.MaxIters, g.LRDecayIters, g.Seed, g.Threads = scheduled, scheduled, c.Seed, 1
	return g
}
