package main

// figures holds the pictures and tables of the chapters by name. Each computes its numbers when the book is written.
var figures = map[string]func() (string, error){
	"embedding":          figureEmbedding,
	"embedding-gradient": figureEmbeddingGradient,
	"linear":             figureLinear,
	"softmax":            figureSoftmax,
	"uniform":            figureUniform,
	"cross-entropy":      figureCrossEntropy,
	"layer-norm":         figureLayerNorm,
	"attention":          figureAttention,
	"activations":        figureActivations,
	"depth":              figureDepth,
	"table-down":         figureTableDown,
	"table-up":           figureTableUp,
	"table-check":        figureTableCheck,
	"adam":               figureAdam,
	"schedule":           figureSchedule,
	"training":           figureTraining,
	"sampling":           figureSampling,
	"cache":              figureCache,

	"sinusoids":  figureSinusoids,
	"low-rank":   figureLowRank,
	"recall":     figureRecall,
	"router":     figureRouter,
	"balance":    figureBalance,
	"induction":  figureInduction,
	"many-arms":  figureManyArms,
	"many-looks": figureManyLooks,
	"reverser":   figureReverser,
	"baseline":   figureBaseline,
	"stuck":      figureStuck,
	"orders":     figureOrders,
	"variance":   figureVariance,
}

// numbers holds the numbers in the text by name.
var numbers = map[string]func() (string, error){
	"uniform":         numberUniform,
	"tiny-parameters": numberTinyParameters,
	"tiny-uniform":    numberTinyUniform,
	"gpt2-block":      numberGPT2Block,
	"gpt2-parameters": numberGPT2Parameters,
	"gpt2-tied":       numberGPT2Tied,

	"characters":         numberCharacters,
	"characters-uniform": numberCharactersUniform,
	"training-last":      numberTrainingLast,
	"cache-token":        numberCacheToken,
}
