package published

import (
	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/parts"
	"github.com/pedestrian-ml/pedestrian/gpt/train"
	"github.com/pedestrian-ml/pedestrian/graph"
)

// ReadUnchecked is ReadConfig of a network that may be larger than memory.
func ReadUnchecked(data []byte) (gpt.Config, error) {
	c, _, err := read(data, parts.Registry{})
	return c, err
}

// GroupsOf returns the number of heads of keys and values of a network.
func GroupsOf(c gpt.Config) int { return LayoutOf(c).heads.Groups }

// Exported returns the tensors that Export writes of a network with these parameters.
func Exported(c gpt.Config, params []graph.Expr) []train.Named { return LayoutOf(c).export(params) }
