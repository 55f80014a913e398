package verify

import "slices"

// Cases are the layers of nn, each exported type in one at least.
func Cases() []Case {
	return slices.Concat(
		linearCases(),
		activationCases(),
		normCases(),
		attentionCases(),
		crossCases(),
		ropeCases(),
		mlaCases(),
		flashCases(),
		loraCases(),
		blockCases(),
		lossCases(),
		policyCases(),
		elmanCases(),
		linearAttentionCases(),
		maskCases(),
		unprojectedCases(),
		positionCases(),
	)
}
