package verify

import "fmt"

// Entry is a layer, an algorithm or a claim of the papers. It is certified by the Cases of its ID, or, where there is no
// gradient or more than a layer, by the named tests.
type Entry struct {
	ID     string
	What   string
	Source string   // paper and equations
	Tests  []string // where no Case can certify it, or not alone
}

// Inventory lists everything that the papers describe, in the order in which a model is built, trained and used.
func Inventory() []Entry {
	return []Entry{
		{ID: "I01", What: "targets, the text shifted by one", Source: "Boué section 1, erratum B10", Tests: []string{"TestSample"}},
		{ID: "I02", What: "cross entropy from logits", Source: "Boué section 1, Diab (15)"},
		{ID: "I03", What: "softmax of rows", Source: "CS 224n (2)–(3), Conti (10)", Tests: []string{"TestBoueEq25", "TestDiabEq30"}},
		{ID: "I04", What: "token embedding", Source: "Boué (2), (3)"},
		{ID: "I05", What: "learned positions", Source: "Boué (2), (3), CS 224n (12)"},
		{ID: "I06", What: "sinusoidal positions, embeddings scaled by √d", Source: "Conti (1), erratum C4"},
		{ID: "I07", What: "ALiBi", Source: "CS 224n (13), erratum S1"},
		{ID: "I08", What: "rotary positions", Source: "Xu (47)–(56), errata X2, X3"},
		{ID: "I10", What: "affine layer", Source: "Boué (4)"},
		{ID: "I11", What: "a head of attention, and the unprojected forms", Source: "Boué (4)–(33), Xu (2)–(9)"},
		{ID: "I12", What: "masks: causal, padding, window, per head", Source: "Boué (13), Diab section 2.2, CS 224n (21)"},
		{ID: "I13", What: "BigBird and Longformer", Source: "Conti (13), section 2.1.1"},
		{ID: "I14", What: "multi-headed attention", Source: "Boué (34), (35)"},
		{ID: "I15", What: "one projection for queries, keys and values", Source: "Xu (19)–(28)", Tests: []string{"TestI15FusedEqualsSliced"}},
		{ID: "I16", What: "cross-attention", Source: "Xu section 2.2, CS 224n (33)–(36), erratum C14"},
		{ID: "I17", What: "permutations of the tokens", Source: "Boué section 3.2, CS 224n section 2.2", Tests: []string{"TestI17PermutationEquivariance"}},
		{ID: "I18", What: "two heads on top of each other", Source: "Boué (20), CS 224n (14)–(16), erratum S2", Tests: []string{"TestI18TwoStackedHeads"}},
		{ID: "I20", What: "layer normalisation, ε inside the root", Source: "Boué (36)–(42)"},
		{ID: "I21", What: "layer normalisation, ε beside σ", Source: "Conti (4), errata C2, C3"},
		{ID: "I22", What: "layer normalisation without gain and shift", Source: "CS 224n (27)–(28), erratum S7"},
		{ID: "I23", What: "feed-forward layer", Source: "Boué Table 2, Diab (9)"},
		{ID: "I24", What: "activations", Source: "Diab section 2.3"},
		{ID: "I25", What: "residual blocks, pre-norm and post-norm", Source: "CS 224n (29)–(31), Conti (3)"},
		{ID: "I26", What: "LoRA", Source: "Boué (43)–(46), errata B3, B4"},
		{ID: "I27", What: "head tied to the embedding", Source: "Boué section 7, Diab section 2.4"},
		{ID: "I28", What: "dropout", Source: "Diab section 2.5, erratum D4"},
		{ID: "I30", What: "GPT, the decoder alone", Source: "Boué Tables 2 and 3", Tests: []string{"TestRandomModels", "TestMutations"}},
		{ID: "I31", What: "encoder with a masked-token head", Source: "Conti (3), CS 224n section 3.5", Tests: []string{"TestI31Masked", "TestI31EncoderIsEquivariant"}},
		{ID: "I32", What: "encoder and decoder", Source: "Conti chapter 1, CS 224n section 3.7", Tests: []string{"TestI32EncoderDecoder", "TestI32PaddingIsInvisible", "TestI32FutureIsInvisible"}},
		{ID: "I33", What: "Elman network", Source: "CS 224n (4)–(6), (19)–(20)"},
		{ID: "I40", What: "KV cache", Source: "Boué section 3.2, Xu (33)–(36), errata B7, X9", Tests: []string{"TestI40CacheEqualsForward", "TestDecoder"}},
		{ID: "I41", What: "latent attention", Source: "Xu (37)–(46), (57), errata X6, X7"},
		{ID: "I42", What: "latent attention with decoupled rotary positions", Source: "Xu (58)–(68), erratum X5"},
		{ID: "I43", What: "online softmax", Source: "Xu (69)–(78)", Tests: []string{"TestI43OnlineSoftmax", "TestI43MergeIsAssociative"}},
		{ID: "I44", What: "attention in tiles", Source: "Xu (79)–(84), errata X1, X14"},
		{ID: "I45", What: "linear attention", Source: "Conti (15)–(17)"},
		{ID: "I46", What: "first-order Taylor attention", Source: "Conti section 2.1.2, erratum C5"},
		{ID: "I47", What: "Linformer", Source: "Conti (19)"},
		{ID: "I48", What: "structured approximation of attention", Source: "Conti (20)–(23), errata C9–C12", Tests: []string{"TestI48Projection", "TestI48Dimension", "TestI48Baselines"}},
		{ID: "I50", What: "SGD and AdamW", Source: "Diab section 2.5, erratum D10", Tests: []string{"TestI50SGDTrajectory", "TestI50FirstStep", "TestI50LibraryFollows"}},
		{ID: "I51", What: "temperature", Source: "Diab (13)", Tests: []string{"TestI51Temperature", "TestI51LastPosition"}},
		{ID: "I52", What: "nucleus sampling", Source: "Diab (14)", Tests: []string{"TestI52TopP"}},
		{ID: "I53", What: "greedy decoding and beam search", Source: "Conti section 1.1", Tests: []string{"TestI53BeamFindsWhatGreedyMisses"}},
		{ID: "I54", What: "thought tokens without a loss", Source: "Diab section 2.6", Tests: []string{"TestI54ThoughtsAreNotGraded"}},
		{ID: "I55", What: "REINFORCE", Source: "Diab section 2.6"},
		{ID: "I56", What: "PPO with a clipped ratio", Source: "Schulman et al. 2017; Diab section 2.6 names it"},
	}
}

// Cases returns those of the entry.
func (e Entry) Cases() (list []Case) {
	for _, c := range Cases() {
		if c.ID == e.ID {
			list = append(list, c)
		}
	}
	return list
}

// String is one line.
func (e Entry) String() string { return fmt.Sprintf("%s %s: %s", e.ID, e.What, e.Source) }
