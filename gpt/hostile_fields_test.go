package gpt

import (
	"encoding/json"
	"testing"

	"github.com/pedestrian-ml/pedestrian/gpt/internal/fuzzed"
	"github.com/pedestrian-ml/pedestrian/graph"
)

// Every field is set to nonsensical values: a configuration that passes can be built.
func TestHostileFields(t *testing.T) {
	names := hostileValues().fields().Names()
	fuzzed.Fields(t, names, hostileValues, func(c *Config) error { return use(*c) })
}

// use calls everything that reads a configuration alone, and builds a model if it passes.
func use(c Config) error {
	err := c.Validate()
	c.Count()
	c.Memory()
	FLOPsPerToken(c)
	if _, err := json.Marshal(c); err == nil {
		c.HuggingFace()
	}
	c.ResumeDiff(tiny())
	g := graph.New(graph.Float32, 1)
	c.Configure(g)
	if _, failed := New(g, c, c.BatchSize); err == nil {
		err = failed
	}
	return err
}

// hostileValues returns a configuration in which every part reads its options.
func hostileValues() *Config {
	c := tiny()
	c.VocabSize, c.MemoryLimit = 41, 0.004
	return &c
}
