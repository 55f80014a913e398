package parts

import "github.com/pedestrian-ml/pedestrian/nn"

func bigBirdAttentions() []Attention {
	random := Option{Name: "random_keys", Help: "bigbird: random keys of a query", Check: upToContext("random_keys")}
	return []Attention{{Name: "bigbird", Options: []Option{window(), globalTokens(), random}, New: bigBird}}
}

// bigBird draws its random keys the same way for every model of the same sizes: they belong to the network, and the
// seed of a run does not.
func bigBird(root nn.Site, s Stack) nn.Attention {
	if root.Graph().Outlined() {
		return masked(root, nn.BigBird{})
	}
	o := s.Options
	return masked(root, nn.BigBird{Width: bothSides(o), Global: first(o), Random: o.Get("random_keys"), Seed: 1})
}
