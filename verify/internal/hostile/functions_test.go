package hostile

import (
	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/checkpoint"
	"github.com/pedestrian-ml/pedestrian/gpt/dist"
	"github.com/pedestrian-ml/pedestrian/gpt/inspect"
	"github.com/pedestrian-ml/pedestrian/gpt/parts"
	"github.com/pedestrian-ml/pedestrian/gpt/published"
	"github.com/pedestrian-ml/pedestrian/gpt/safetensors"
	"github.com/pedestrian-ml/pedestrian/gpt/search"
	"github.com/pedestrian-ml/pedestrian/gpt/seq2seq"
	"github.com/pedestrian-ml/pedestrian/gpt/structured"
	"github.com/pedestrian-ml/pedestrian/gpt/text"
	"github.com/pedestrian-ml/pedestrian/gpt/text/bpe"
	"github.com/pedestrian-ml/pedestrian/gpt/train"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/graph/optim"
	"github.com/pedestrian-ml/pedestrian/nn"
	"github.com/pedestrian-ml/pedestrian/nn/causal"
	"github.com/pedestrian-ml/pedestrian/verify"
	"github.com/pedestrian-ml/pedestrian/verify/hand"
	"github.com/pedestrian-ml/pedestrian/verify/inventory"
)

// functions are the exported functions to call.
var functions = []any{
	graph.AddPositions, graph.Attention, graph.Build, graph.CachedAttention, graph.CachedElman,
	graph.CachedLatentAttention, graph.CachedLinearAttention, graph.CachedPairAttention, graph.Compile, graph.CompileWith, graph.Const, graph.CrossAttention,
	graph.CrossEntropy, graph.Elman, graph.EluPlusOne, graph.GELU, graph.GELUTanh, graph.Gather, graph.GatherCols,
	graph.Instructions, graph.LayerNorm, graph.LayerNormSigma, graph.Linear, graph.LinearAttention, graph.LinearT,
	graph.MachineMemory, graph.MixTokens, graph.New, graph.NewElmanCache, graph.NewKVCache, graph.NewLatentCache, graph.NewPairCache, graph.Precisions,
	graph.NewLinearCache, graph.Normal, graph.Outline, graph.PPOClip, graph.Panicked, graph.PlanBytes, graph.ReLU, graph.Reinforce,
	graph.Rotate, graph.Scale, graph.SquaredError, graph.Taylor,
	graph.BinaryCrossEntropy, graph.GatherTokens, graph.MeanTokens, graph.RMSNorm, graph.SiLU, graph.Sigmoid, graph.Softplus,
	graph.SwiGLU,
	optim.NewAdamW, optim.NewGradients, optim.NewSGD, optim.Sums,
	nn.HeadIn, nn.In, nn.Make, nn.NewALiBi, nn.NewAdapted, nn.NewBiasedMask, nn.NewBlock, nn.NewCrossAttention, nn.NewCrossEntropy,
	nn.NewDecoderBlock, nn.NewDropout, nn.NewElman, nn.NewEmbedding, nn.NewGroupedAttention, nn.NewLayerNorm, nn.NewLayerNormPlain,
	nn.NewLayerNormSigma, nn.NewLearnedPositions, nn.NewLinear, nn.NewLinearAttention, nn.NewLinformer, nn.NewLoRA,
	nn.NewLongformer, nn.NewLongformerMask, nn.NewMLA, nn.NewMLALatentRoPE, nn.NewMLARoPE, nn.NewMLP, nn.NewMask,
	nn.NewMemory, nn.NewPPOClip, nn.NewPostNormBlock, nn.NewPostNormDecoderBlock, nn.NewReinforce, nn.NewRoPE,
	nn.NewRollout, nn.NewSelfAttention, nn.NewSinusoidal, nn.NewTaylorAttention, nn.NewTied, nn.NewUnprojected,
	nn.NewUnprojectedCross, nn.NewValueHead, nn.NewValueLoss,
	nn.NewBinaryCrossEntropy, nn.NewGatherTokens, nn.NewMeanTokens, nn.NewRMSNorm, nn.NewSquaredError, nn.NewSwiGLU,
	causal.Check, causal.Perturb,
	dist.Alone, dist.CheckSize, dist.Open, dist.Over, dist.Run,
	gpt.Baby, gpt.FLOPsPerToken, gpt.FineTune, gpt.Fits, gpt.FromHuggingFace, gpt.FullTuning, gpt.GPT2,
	gpt.LoRATuning, gpt.LoadEnds, gpt.LoadModel, gpt.LoadTokenizer, gpt.New, gpt.NewBatchDecoder, gpt.NewDecoder,
	gpt.NewTrainer, gpt.Open, gpt.OpenAdapter, gpt.Paper, gpt.OpenCropped, gpt.DistilGPT2, gpt.SmolLM2_135M,
	gpt.Stories15M,
	gpt.ReadConfig, gpt.Resume, gpt.Shakespeare, gpt.WriteConfig,
	inspect.Ablate, inspect.All, inspect.Attribute, inspect.EffectiveRank, inspect.HeadScores, inspect.IntegratedGradients,
	inspect.LogitLens, inspect.Mean, inspect.Patch, inspect.PatchGradient, inspect.Replace, inspect.Tap, inspect.Zero,
	parts.Activations, parts.Attentions, parts.Blocks, parts.Heads, parts.Join, parts.Library, parts.MLPs, parts.NameField,
	parts.Norms, parts.Optimizers, parts.Places, parts.Positions,
	published.Ends, published.Families, published.FamilyOf, published.GPT2, published.Own, published.ReadEnds,
	checkpoint.Load, checkpoint.Open, checkpoint.WriteFolder,
	safetensors.Open, safetensors.Read, safetensors.Write, safetensors.WriteEach,
	search.Beam, search.Greedy, search.LengthPenalty, search.NewSampler,
	seq2seq.Fits, seq2seq.LoadModel, seq2seq.New,
	seq2seq.NewMasked, seq2seq.NewTrainer, seq2seq.NewTranslator, seq2seq.NewVocabulary, seq2seq.ReadState,
	seq2seq.Resume,
	structured.Add, structured.Band, structured.Bound, structured.Columns, structured.Compare, structured.Dimension,
	structured.Distance, structured.Groups, structured.Identity, structured.Noise, structured.OffBand, structured.Project,
	bpe.Read, bpe.ReadGPT2, bpe.Train,
	text.All, text.Blocks, text.KindIn, text.KindNames, text.KindOf, text.Kinds, text.Load, text.LoadAnswers,
	text.Match, text.NewCharacters, text.NewCorpus, text.NewWords, text.Open, text.OpenShards, text.ReadCorpus,
	text.ReadTemplate, text.Sample, text.Stream, text.Until, text.WriteShards, train.AdamW, train.BuildOf,
	train.Configure, train.Fields, train.Fit, train.Kept, train.Need, train.New, train.OpenTensors, train.Parameters,
	train.PeekJSON, train.ReadJSON, train.Restore, train.SGD, train.ThisBuild, train.WriteBytes, train.WriteJSON, train.Fill,
	train.Match, train.OpenWeights,
	train.WriteTensors,
	verify.Check, verify.CheckContext, verify.Compare, verify.ComplexStep, verify.ComplexStepAlong, verify.ComplexStepAt,
	verify.DefaultDims, verify.Distance, verify.FromTensor, verify.Largest, verify.NewModel, verify.NewPairs,
	verify.ParametersOf, verify.StructuralZero, verify.Worst,
	inventory.Cases, inventory.Entries,
	hand.ALiBiMask, hand.BigBirdMask, hand.CausalMask, hand.DilatedMask, hand.Either, hand.Except, hand.GlobalMask,
	hand.PaddingMask, hand.Positions, hand.Sinusoids, hand.SourceMask, hand.WindowMask,
}

// generic are generic functions, each with one type.
var generic = map[string]any{
	"train.StateOf":    train.StateOf[gpt.Config],
	"hand.AdamWUpdate": hand.AdamWUpdate[float64], "hand.JoinColumns": hand.JoinColumns[float64],
	"hand.JoinTokens": hand.JoinTokens[float64], "hand.Lift": hand.Lift[complex128], "hand.NewMatrix": hand.NewMatrix[float64],
	"hand.NewPartial": hand.NewPartial[float64], "hand.SGDUpdate": hand.SGDUpdate[float64], "hand.Zeros": hand.Zeros[float64],
	"parts.Find": parts.Find[parts.Norm], "parts.Names": parts.Names[parts.Norm],
}

// uncalled gives the reason why an exported name is not called.
var uncalled = map[string]string{
	"graph.UseBLAS": "changes the entire process",
	"graph.Peak":    "takes its time, and nothing but a number of threads",

	"parts.Stack.Body":         "builds what models have validated, however many blocks",
	"parts.Stack.Check":        "of a Stack whose fields Validate has checked one by one",
	"parts.Stack.OptionFields": "used by Config.Flags", "parts.Stack.PartFields": "used by Config.Flags",
	"parts.Stack.SizeFields":    "used by Config.Flags",
	"parts.Body.Forward":        "of a Body that Stack.Body makes",
	"parts.Body.Step":           "of a Body that Stack.Body makes",
	"parts.Body.Normed":         "of a Body that Stack.Body makes",
	"parts.Body.CheckPositions": "of a Body that Stack.Body makes",
	"parts.Stack.Inside":        "of a Stack whose fields Validate has checked one by one",
}
