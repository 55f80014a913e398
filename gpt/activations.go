package gpt

import "github.com/pedestrian-ml/pedestrian/nn"

// Activations lists the library's, the usual one first.
func Activations() []Activation {
	return []Activation{
		{Name: "gelu", Layer: nn.GELU{}, HF: []string{"gelu"}},
		{Name: "gelu_tanh", Layer: nn.GELUTanh{}, HF: []string{"gelu_new", "gelu_pytorch_tanh", "gelu_fast"}},
		{Name: "relu", Layer: nn.ReLU{}, HF: []string{"relu"}},
	}
}
