package parts

import "github.com/pedestrian-ml/pedestrian/nn"

func bigBirdAttentions() []Attention {
	random := Option{
		Name: "random_keys", Help: "bigbird: number of random keys of a query", Check: upToContext("random_keys"),
	}
	options := []Option{window(), globalTokens(), random}
	return []Attention{{Name: "bigbird", Options: options, New: bigBird, Softmax: true}}
}

// bigBird draws the same random keys for every model of the same sizes, because they belong to the network, unlike the
// seed of a run.
func bigBird(root nn.Site, s Stack) nn.Attention {
	o := s.Options
	if root.Graph().Outlined() && o.Get("global_tokens") > mostGlobal {
		return masked(root, nn.All{}) // the shape of a mask does not depend on what it hides
	}
	return masked(root, nn.BigBird{Width: bothSides(o), Global: first(o), Random: o.Get("random_keys"), Seed: 1})
}
