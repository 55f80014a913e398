package parts

import "github.com/pedestrian-ml/pedestrian/nn"

// Activation is the activation of an MLP.
type Activation struct {
	Name  string
	Layer nn.Layer
	HF    []string // Hugging Face's names of it, first the one to write
}

// PartName is a's name.
func (a Activation) PartName() string { return a.Name }

// Activations lists the library's, the default first.
func Activations() []Activation {
	return []Activation{
		{Name: "gelu", Layer: nn.GELU{}, HF: []string{"gelu"}},
		{Name: "gelu_tanh", Layer: nn.GELUTanh{}, HF: []string{"gelu_new", "gelu_pytorch_tanh", "gelu_fast"}},
		{Name: "relu", Layer: nn.ReLU{}, HF: []string{"relu"}},
	}
}
