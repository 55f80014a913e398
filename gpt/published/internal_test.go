package published

import (
	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/parts"
)

// ReadUnchecked is ReadConfig of a network that may be larger than memory.
func ReadUnchecked(data []byte) (gpt.Config, error) {
	c, _, err := read(data, parts.Registry{})
	return c, err
}
