package variants

import "github.com/pedestrian-ml/pedestrian/verify/hand"

// hyperStreams is the number of parallel streams in models.
const hyperStreams = 4

// hyperConnections lists the parallel residual streams.
func hyperConnections[T hand.Number]() []Variant[T] {
	block := func(p Place[T]) hand.Layer[T] { return p.layer("block", p.plan.Block) }
	return []Variant[T]{
		{Name: none, Hand: block},
		{
			Name: "mhc", Type: "Block", Hand: block,
			Stream: func(Place[T]) hand.Stream[T] { return hand.HyperStream[T](hyperStreams) },
			Connections: func(p Place[T]) hand.Connections[T] {
				return func(sublayer string) hand.Connection[T] {
					return p.Site.At(sublayer + "_stream").HyperConnection(hyperStreams)
				}
			},
			ID: "I123", What: "hyper-connections of the residual stream", Source: "Xie et al. 2025 (7)–(9)",
			Settings: []Setting{
				{Name: "block with hyper-connections", Block: "pre"},
				{Name: "parallel block with hyper-connections", Block: "parallel", NoBias: true},
				{Name: "sandwich block with hyper-connections", Block: "sandwich"},
			},
		},
	}
}
