package hostile

import (
	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/checkpoint"
	"github.com/pedestrian-ml/pedestrian/gpt/parts"
	"github.com/pedestrian-ml/pedestrian/gpt/seq2seq"
	"github.com/pedestrian-ml/pedestrian/gpt/text"
	"github.com/pedestrian-ml/pedestrian/gpt/train"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/nn"
)

// types are those that no function leads to.
var types = []any{
	graph.Tensor{}, seq2seq.Pair{}, nn.GELU{}, nn.GELUTanh{}, nn.ReLU{}, nn.BigBird{}, nn.Causal{}, nn.Window{}, nn.Padding{}, nn.All{}, gpt.Evaluation{},
	nn.Sigmoid{}, nn.SiLU{}, nn.Softplus{},
	parts.Body{}, checkpoint.File{}, text.Bytes{}, text.Tokens{}, text.Words{}, train.Progress{}, text.Dataset{},
}
