package variants

import (
	"slices"

	"github.com/pedestrian-ml/pedestrian/verify/hand"
)

// Variant is a part of a model that a configuration names, such as norm rmsnorm. The library's constructor is the one
// that gpt/parts lists under the same kind and name.
type Variant[T hand.Number] struct {
	Kind, Name string                         // in a configuration; of sets Kind
	Type       string                         // the type of nn
	Hand       func(p Place[T]) hand.Layer[T] // the layer by hand
	Final      bool                           // a stack of these blocks ends with a norm

	// After returns the links of an attention by hand after its heads; optional.
	After func(at hand.Site[T], heads hand.Heads[T], value string) hand.Chain[T]
	// Embed returns the part between ids and residual stream by hand; optional. A Case of it has no ids.
	Embed func(p Place[T]) hand.Embedder[T]

	Stream      func(p Place[T]) hand.Stream[T]      // the residual stream of a model; optional
	Connections func(p Place[T]) hand.Connections[T] // of the sublayers of the block at p; optional

	ID, What, Source string    // its entry of the inventory; variants after the first of an entry may omit What
	Settings         []Setting // one Case for each; without any, the entry's other Cases certify it
	By               []string  // further entries whose Cases certify it
}

// Setting describes a Case of a variant. Its fields are those that differ from the usual Case: causal attention without
// dropout, with biases and with the sizes of the fixture.
type Setting struct {
	Name, Source string // Source is by default the entry's

	NoBias     bool
	Dropout    float64
	Sight      Sight
	MLP        string // of a block
	Block      string // whose sublayers join a stream
	Position   string // rope or alibi
	Attention  string // that a part of attentions, such as a norm of queries and keys, is in
	Activation string // of an MLP
	Heads, QK  int
	Embd       int            // of an embedding
	Cap        float64        // of the scores
	Options    map[string]int // of an attention, such as window
	Experts    Experts        // of mlp moe
	Carry      bool           // states come from the window before
}

// Sight describes the keys that the queries of a Case attend to.
type Sight int

// The zero Sight hides later tokens. The others hide nothing, padding, or both later tokens and padding.
const (
	Causal Sight = iota
	All
	Padded
	CausalPadded
)

// Place is the place of a layer in a model by hand.
type Place[T hand.Number] struct {
	Site   hand.Site[T] // its parameters
	plan   Plan
	lists  map[string][]Variant[T] // by kind, where many models are built; otherwise nil
	side   side
	block  int
	memory hand.Matrix[T] // the encoder's output, in a decoder that attends to it
}

// At returns the place inside p with the given name, such as ln_1.
func (p Place[T]) At(name string) Place[T] {
	p.Site = p.Site.At(name)
	return p
}

// Alone returns the place of a layer that is not part of a model, in block 0 of a decoder by the plan.
func Alone[T hand.Number](at hand.Site[T], c Plan) Place[T] {
	p := Place[T]{Site: at, plan: c, side: c.decoderSide()}
	return p.shared()
}

// shared returns p with what the attentions of a model have in common.
func (p Place[T]) shared() Place[T] {
	p.Site.Conv, p.Site.Values, p.Site.Links = p.convolution(), p.firstValues(), p.links
	return p
}

// links returns the links after the heads that the plan has.
func (p Place[T]) links(at hand.Site[T], heads hand.Heads[T], value string) (c hand.Chain[T]) {
	for _, kind := range kinds() {
		if v := p.variant(kind, p.plan.With[kind]); v.After != nil {
			c = append(c, v.After(at, heads, value)...)
		}
	}
	return c
}

// stream returns the residual stream of the plan.
func (p Place[T]) stream() (s hand.Stream[T]) {
	for _, kind := range kinds() {
		if v := p.variant(kind, p.plan.With[kind]); v.Stream != nil {
			s = v.Stream(p)
		}
	}
	return s
}

// connections returns how the sublayers of the block at p join the stream.
func (p Place[T]) connections() (c hand.Connections[T]) {
	for _, kind := range kinds() {
		if v := p.variant(kind, p.plan.With[kind]); v.Connections != nil {
			c = v.Connections(p)
		}
	}
	return c
}

// embeddings returns the way from the ids to the blocks that the plan has.
func (p Place[T]) embeddings() hand.Embeddings[T] {
	list := hand.Embeddings[T]{hand.Tokens[T]{Weight: p.Site.At("wte").Param("weight"), Scale: p.plan.Embeddings}}
	for _, kind := range slices.Backward(kinds()) {
		if v := p.variant(kind, p.plan.With[kind]); v.Embed != nil {
			list = append(list, v.Embed(p))
		}
	}
	if l := p.layer("position", p.plan.Position); l != nil {
		list = append(list, hand.Embedded[T]{Name: "wpe", Index: "_pos", Layer: l})
	}
	return append(list, hand.Embedded[T]{Name: "drop", Layer: p.Site.Drop("drop")})
}

// Embedded is an embedding without ids as a layer.
type Embedded[T hand.Number] struct{ hand.Embedder[T] }

// Forward returns new embedded tokens in place of x.
func (l Embedded[T]) Forward(x hand.Matrix[T]) hand.Matrix[T] { return l.Embedder.Forward(nil, x) }

// Backward returns Δ at x and the gradients.
func (l Embedded[T]) Backward(x, delta hand.Matrix[T]) (dx hand.Matrix[T], g hand.Gradients[T]) {
	return l.Embedder.Backward(nil, x, delta)
}

// layer returns the layer of the named variant at this place.
func (p Place[T]) layer(kind, name string) hand.Layer[T] { return p.variant(kind, name).Hand(p) }

// variant returns the variant of that name.
func (p Place[T]) variant(kind, name string) (v Variant[T]) {
	list, ok := p.lists[kind]
	if !ok {
		list = of[T](kind)
	}
	if i := slices.IndexFunc(list, func(v Variant[T]) bool { return v.Name == name }); i >= 0 {
		return list[i]
	}
	return v
}

// List returns all variants, kind by kind.
func List[T hand.Number]() (list []Variant[T]) {
	for _, kind := range kinds() {
		list = append(list, of[T](kind)...)
	}
	return list
}

// kinds lists the kinds by their configuration keys.
func kinds() (list []string) {
	for _, k := range lists[float64]() {
		list = append(list, k.kind)
	}
	return list
}

// kind is a kind with its variants.
type kind[T hand.Number] struct {
	kind string
	list func() []Variant[T]
}

// lists returns all kinds.
func lists[T hand.Number]() []kind[T] {
	return []kind[T]{
		{"position", positions[T]}, {"norm", norms[T]}, {"block", blocks[T]}, {"activation", activations[T]},
		{"mlp", mlps[T]}, {"head", heads[T]}, {"attention", attentions[T]}, {"qk_norm", qkNorms[T]},
		{"attn_gate", attnGates[T]}, {"attn_sinks", attnSinks[T]}, {"short_conv", shortConvs[T]},
		{"value_residual", valueResiduals[T]}, {"skips", skips[T]}, {"xsa", xsas[T]},
		{"hyper_connections", hyperConnections[T]}, {"smear", smears[T]},
	}
}

// of returns the variants of a kind.
func of[T hand.Number](kind string) (list []Variant[T]) {
	for _, k := range lists[T]() {
		if k.kind == kind {
			list = k.list()
		}
	}
	for i := range list {
		list[i].Kind = kind
	}
	return list
}

// none is the name of an optional part that is absent.
const none = "none"

// at returns the Hand of a layer that needs only its parameters.
func at[T hand.Number](layer func(hand.Site[T]) hand.Layer[T]) func(Place[T]) hand.Layer[T] {
	return func(p Place[T]) hand.Layer[T] { return layer(p.Site) }
}

// fixed returns the Hand of a layer without parameters.
func fixed[T hand.Number](layer hand.Layer[T]) func(Place[T]) hand.Layer[T] {
	return func(Place[T]) hand.Layer[T] { return layer }
}
