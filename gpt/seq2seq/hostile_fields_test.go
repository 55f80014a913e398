package seq2seq

import (
	"encoding/json"
	"testing"

	"github.com/pedestrian-ml/pedestrian/gpt/internal/fuzzed"
	"github.com/pedestrian-ml/pedestrian/graph"
)

// Every field with values that nobody means: what passes can be built.
func TestHostileFields(t *testing.T) {
	fuzzed.Fields(t, hostile().fields().Names(), hostile, func(c *Config) error { return use(*c) })
}

// use does all that reads a configuration alone, and builds what passes.
func use(c Config) error {
	err := c.Validate()
	c.Memory()
	json.Marshal(c)
	c.ResumeDiff(small())
	g := graph.New(graph.Float32, 1)
	g.SetMemoryLimit(c.Limit())
	if _, failed := New(g, c, c.BatchSize); err == nil {
		err = failed
	}
	return err
}

func hostile() *Config {
	c := small()
	c.MemoryLimit = 0.004
	return &c
}
