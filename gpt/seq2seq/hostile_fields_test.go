package seq2seq

import (
	"encoding/json"
	"testing"

	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/internal/fuzzed"
)

// Every field is set to hostile values; a Config that passes can be built.
func TestHostileFields(t *testing.T) {
	fuzzed.Fields(t, hostile().fields().Names(), hostile, func(c *Config) error { return use(*c) })
}

// use calls everything that reads a configuration alone, and builds it if it is valid.
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
