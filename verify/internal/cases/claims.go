package cases

import "github.com/pedestrian-ml/pedestrian/verify"

// claims returns the entries that no Case can certify, because they have no gradient or span more than one layer.
func claims() []verify.Entry {
	return []verify.Entry{
		{
			ID: "I01", What: "targets, the text shifted by one", Source: "Boué section 1, erratum B10",
			Tests: []string{"TestSample"},
		},
		{
			ID: "I03", What: "softmax of rows", Source: "CS 224n (2)–(3), Conti (10)",
			Tests: []string{"TestBoueEq25", "TestDiabEq30"},
		},
		{
			ID: "I15", What: "one projection for queries, keys and values", Source: "Xu (19)–(28)",
			Tests: []string{"TestI15FusedEqualsSliced"},
		},
		{
			ID: "I17", What: "permutations of the tokens", Source: "Boué section 3.2, CS 224n section 2.2",
			Tests: []string{"TestI17PermutationEquivariance"},
		},
		{
			ID: "I18", What: "two heads on top of each other", Source: "Boué (20), CS 224n (14)–(16), erratum S2",
			Tests: []string{"TestI18TwoStackedHeads"},
		},
		{
			ID: "I30", What: "GPT, the decoder alone", Source: "Boué Tables 2 and 3",
			Tests: []string{"TestRandomModels", "TestMutations"},
		},
		{
			ID: "I40", What: "KV cache", Source: "Boué section 3.2, Xu (33)–(36), errata B7, X9",
			Tests: []string{"TestI40CacheEqualsForward", "TestDecoder"},
		},
		{
			ID: "I43", What: "online softmax", Source: "Xu (69)–(78)",
			Tests: []string{"TestI43OnlineSoftmax", "TestI43MergeIsAssociative"},
		},
		{
			ID: "I48", What: "structured approximation of attention", Source: "Conti (20)–(23), errata C9–C12",
			Tests: []string{"TestI48Projection", "TestI48Dimension", "TestI48Baselines"},
		},
		{
			ID: "I50", What: "SGD and AdamW", Source: "Diab section 2.5, erratum D10",
			Tests: []string{"TestI50SGDTrajectory", "TestI50FirstStep", "TestOptimizersByHand"},
		},
		{
			ID: "I51", What: "temperature", Source: "Diab (13)",
			Tests: []string{"TestI51Temperature", "TestI51LastPosition"},
		},
		{ID: "I52", What: "nucleus sampling", Source: "Diab (14)", Tests: []string{"TestI52TopP"}},
		{
			ID: "I53", What: "greedy decoding and beam search", Source: "Conti section 1.1",
			Tests: []string{"TestI53BeamFindsWhatGreedyMisses"},
		},
		{
			ID: "I54", What: "thought tokens without a loss", Source: "Diab section 2.6",
			Tests: []string{"TestI54ThoughtsAreNotGraded"},
		},
	}
}
