package corpus

import "github.com/pedestrian-ml/pedestrian/gpt/text"

// Beginning is a split with the first tokens of another.
type Beginning struct {
	text.Split
	Tokens int
}

// Len returns the number of tokens with the target of the last one.
func (b Beginning) Len() int { return min(b.Tokens+1, b.Split.Len()) }
