package hand

import "fmt"

// Parameters holds matrices by GPT-2's names, such as h.0.mlp.c_fc.weight (d, f) and h.0.mlp.c_fc.bias (1, f). A linear
// layer may have an adapter named after it: h.0.mlp.c_fc.lora_d (d, r) and .lora_u (r, f). c_attn may have one for each
// of its three blocks of columns, h.0.attn.c_attn.q.lora_d, .k., .v., or one for all of them.
type Parameters[T Number] map[string]Matrix[T]

// Check returns an error unless every parameter is a valid matrix.
func (p Parameters[T]) Check() error {
	for name, m := range p {
		if err := m.sound().Err; err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// Site is the place of a layer in a model: the parameters, the path of the layer's own, and the settings that all
// layers share.
type Site[T Number] struct {
	Parameters Parameters[T]
	Path       string
	Eps        float64         // ε of the norms
	LoRAScale  float64         // α/r, or α
	Queries    float64         // factor on the queries of self-attention; 0 means none
	Values     *FirstValues[T] // of a model with a value residual; otherwise nil
	Balance    *Balances[T]    // of a model with a loss that balances experts; otherwise nil
	// Links returns the links after the heads of self-attention, before their gate; nil means that there are none.
	// value is the name of the values of the groups of heads.
	Links func(at Site[T], heads Heads[T], value string) Chain[T]
	// Conv returns the short convolution by a parameter; nil means that there is none.
	Conv func(weight Matrix[T]) Layer[T]
	// Dropout returns the mask (0 or 1/(1−p)) of a path, or the zero Matrix. If it is nil there is no dropout.
	Dropout func(path string) Matrix[float64]
}

// At returns the place inside at with the given name: "h.0" → "h.0.attn". The empty name is at.
func (at Site[T]) At(name string) Site[T] {
	at.Path = at.name(name)
	return at
}

func (at Site[T]) name(name string) string {
	if at.Path == "" || name == "" {
		return at.Path + name
	}
	return at.Path + "." + name
}

// Param returns the parameter of that name, or an error if it is missing.
func (at Site[T]) Param(name string) Matrix[T] {
	if m, ok := at.Parameters[at.name(name)]; ok {
		return m
	}
	return Matrix[T]{Err: fmt.Errorf("hand: no parameter %s", at.name(name))}
}

// Optional returns the parameter of that name, or the zero Matrix if it is missing.
func (at Site[T]) Optional(name string) Matrix[T] { return at.Parameters[at.name(name)] }

// Drop returns the dropout at the place of that name.
func (at Site[T]) Drop(name string) Dropout[T] {
	if at.Dropout == nil {
		return Dropout[T]{}
	}
	return Dropout[T]{at.Dropout(at.name(name))}
}
