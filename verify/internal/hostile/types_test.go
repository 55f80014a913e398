package hostile

import (
	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/checkpoint"
	"github.com/pedestrian-ml/pedestrian/gpt/inspect"
	"github.com/pedestrian-ml/pedestrian/gpt/parts"
	"github.com/pedestrian-ml/pedestrian/gpt/published"
	"github.com/pedestrian-ml/pedestrian/gpt/seq2seq"
	"github.com/pedestrian-ml/pedestrian/gpt/text"
	"github.com/pedestrian-ml/pedestrian/gpt/train"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/nn"
	"github.com/pedestrian-ml/pedestrian/nn/causal"
	"github.com/pedestrian-ml/pedestrian/verify"
	"github.com/pedestrian-ml/pedestrian/verify/hand"
)

// types are the types that no function leads to.
var types = []any{
	graph.Tensor{}, graph.Reading{}, seq2seq.Pair{}, nn.GELU{}, nn.GELUTanh{}, nn.ReLU{}, nn.Sigmoid{}, nn.SiLU{}, nn.Softplus{},
	nn.BigBird{}, nn.Causal{}, nn.Window{}, nn.Padding{}, nn.All{}, gpt.Evaluation{}, gpt.Token{}, inspect.Activations{},
	inspect.Lens{}, inspect.LayerNorms{}, &inspect.Watch{}, graph.Packing(""),
	parts.Body{}, published.Layout{}, published.Module{}, checkpoint.File{}, text.Bytes{}, text.Message{}, text.Tokens{}, text.Words{}, train.Progress{}, text.Dataset{},
	causal.Leak{}, verify.Case{}, verify.Entry{}, verify.Row{}, verify.Gap(0),
	hand.AdamW{}, hand.SGD{}, hand.Linear[float64]{}, hand.LoRA[float64]{}, hand.Reduction(0), hand.Rollout{}, hand.Text{}, hand.LongformerMask{},
	hand.Attention[float64]{}, hand.Flash[float64]{}, hand.LinearAttention[float64]{}, hand.LinearScan[float64]{},
	hand.Block[float64]{}, hand.PostNormBlock[float64]{}, hand.DecoderBlock[float64]{}, hand.PostNormDecoderBlock[float64]{},
	hand.SelfAttention[float64]{}, hand.CrossAttention[float64]{}, hand.Unprojected[float64]{}, hand.Linformer[float64]{},
	hand.Longformer[float64]{}, hand.MLA[float64]{}, hand.MLAAbsorbed[float64]{}, hand.MLARoPE[float64]{},
	hand.Cache[float64]{}, hand.Partial[float64]{}, hand.Site[float64]{}, hand.Model[float64]{},
	hand.CrossEntropy[float64]{}, hand.Reinforce[float64]{}, hand.PPO[float64]{}, hand.ValueLoss[float64]{},
	hand.Dropout[float64]{}, hand.Elman[float64]{}, hand.MLP[float64]{}, hand.SwiGLU[float64]{}, hand.Tied[float64]{},
	hand.BinaryCrossEntropy[float64]{}, hand.SquaredError[float64]{}, hand.MeanTokens[float64]{}, hand.GatherTokens[float64]{},
	hand.Sigmoid[float64]{}, hand.SiLU[float64]{}, hand.Softplus[float64]{},
	hand.GELU[float64]{}, hand.GELUTanh[float64]{}, hand.ReLU[float64]{}, hand.EluPlusOne[float64]{}, hand.TaylorFeatures[float64]{},
	hand.LayerNorm[float64]{}, hand.LayerNormPlain[float64]{}, hand.LayerNormSigma[float64]{}, hand.RMSNorm[float64]{},
	hand.LearnedPositions[float64]{}, hand.Sinusoidal[float64]{}, hand.RoPE[float64]{},
}
