package parts

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/pedestrian-ml/pedestrian/gpt/internal/field"
	"github.com/pedestrian-ml/pedestrian/graph/fused"
	"github.com/pedestrian-ml/pedestrian/nn"
	"github.com/pkg/errors"
)

// Kind is a kind of optional part, of which a model has one by name: a row of Kinds. Flags, JSON, help, the arms of
// studies, the models that verify draws, and the errors of layers without such a part read the rows. A user adds a kind
// in a Registry.
type Kind struct {
	Key      string           // in configurations, such as qk_norm
	Help     string           // of the flag
	Topic    string           // of a program's help, beside "attention" and others; by default "network"
	Variants func() []Variant // the default first, which need not be a part
}

// Variant is a part of a Kind: a link before the heads of attention, one after them, a part between the ids and the
// residual stream, the stream itself, or none of these. Its function is called once for a model: the result builds the
// link of every attention, or the embedding.
type Variant struct {
	Name
	Before, After func() NewLink          // optional
	Embed         func() NewEmbed         // optional
	Stream        func(s Stack) nn.Stream // optional; of a model with this Stack
}

// NewLink builds the link of an attention, whose heads have the given sizes.
type NewLink func(at nn.Site, heads fused.AttentionShape) nn.Link

// Apart returns a function for a Variant whose links share nothing between attentions.
func Apart(build NewLink) func() NewLink { return func() NewLink { return build } }

// Kinds lists the library's kinds.
func Kinds() []Kind {
	return []Kind{
		{"qk_norm", "norm of queries and keys, over a head or over all heads", "attention", qkNorms},
		{"attn_gate", "gate of the heads of an attention", "attention", attnGates},
		{"attn_sinks", "sink of each head beside the keys of an attention", "attention", named(AttnSinks)},
		{
			"value_residual", "mixing of the values of an attention with the first block's",
			"attention", valueResiduals,
		},
		{
			"skips",
			"mixing of earlier results into the inputs of blocks: the embeddings, or block i into block n_layer-1-i",
			"residual", skips,
		},
		{
			"initialization", "initial values of c_proj in attention and MLP: GPT-2's, which fall with the depth, or 0",
			"network", named(Initializations),
		},
		{
			"short_conv",
			"convolutions over 4 tokens: before attention (a), of q, k and v (b), before (c) and in the MLP (d)",
			"network", named(ShortConvs),
		},
		{
			"xsa", "leave the direction of a token's value out of the results of heads: all of it, or a learned share",
			"attention", xsas,
		},
		{
			"hyper_connections", "4 parallel residual streams, which every attention and MLP mixes",
			"residual", hyperConnections,
		},
		{
			"smear", "mixing of a token with the one before it, ahead of the first block: by a learned share",
			"network",
			smears,
		},
	}
}

// named returns variants, by their names, that are not links.
func named[P fmt.Stringer](list func() []P) func() []Variant {
	return func() (variants []Variant) {
		for _, name := range Names(list()) {
			variants = append(variants, Variant{Name: Name(name)})
		}
		return variants
	}
}

// Get returns the name of the part that s has.
func (k Kind) Get(s Stack) string { return cmp.Or(s.With.Get(k.Key), k.fallback()) }

// fallback returns the name of the default.
func (k Kind) fallback() string {
	for _, v := range k.variants() {
		return v.String()
	}
	return ""
}

// variants returns the result of Variants, if there is such a function.
func (k Kind) variants() []Variant {
	if k.Variants == nil {
		return nil
	}
	return k.Variants()
}

// isDefault reports whether s has the default.
func (k Kind) isDefault(s Stack) bool { return k.Get(s) == k.fallback() }

// Computes reports whether the kind changes the function of a network. Initializations change only its first weights.
func (k Kind) Computes() bool { return k.Key != "initialization" }

// variant returns the part of s.
func (k Kind) variant(s Stack) Variant { return Find(k.variants(), k.Get(s)) }

// isLink reports whether the part is a link of attention.
func (v Variant) isLink() bool { return v.Before != nil || v.After != nil }

// field returns the field of the kind.
func (k Kind) field(s *Stack) field.Field {
	return nameField(k.Key, chosen{&s.With, k.Key}, Names(k.variants()), k.Help).Optional(k.fallback())
}

// With holds the names of parts by the keys of their kinds. A copy does not change with the original.
type With struct{ names map[string]string }

// Choose returns a With of one part, for literals: Stack{With: Choose("qk_norm", "head")}. Set adds others.
func Choose(key, name string) (w With) {
	w.Set(key, name)
	return w
}

// Get returns the name of the part, which is empty for the default.
func (w With) Get(key string) string { return w.names[key] }

// optional returns the name of a part of s, which is empty for none.
func (s Stack) optional(key string) string {
	if name := s.With.Get(key); name != noPart {
		return name
	}
	return ""
}

// Set changes the part of a kind. The empty name is the default.
func (w *With) Set(key, name string) {
	if w == nil {
		return
	}
	next := maps.Clone(w.names)
	if next == nil {
		next = map[string]string{}
	}
	if next[key] = name; name == "" {
		delete(next, key)
	}
	w.names = next
}

// Equal reports whether the same parts are set.
func (w With) Equal(v With) bool { return maps.Equal(w.names, v.names) }

// withDefaults returns w with the defaults of the kinds.
func (w With) withDefaults(kinds []Kind) With {
	names := map[string]string{}
	for _, k := range kinds {
		if name := k.fallback(); name != "" {
			names[k.Key] = name
		}
	}
	maps.Copy(names, w.names)
	return With{names}
}

// chosen makes an entry of a With a field of a configuration.
type chosen struct {
	with *With
	key  string
}

// Get returns the name of the part, which is empty for the default.
func (c chosen) Get() string { return c.with.Get(c.key) }

// Set changes the part.
func (c chosen) Set(name string) { c.with.Set(c.key, name) }

// Computed returns the name of each part of s that is not the default of its kind and changes the function of the
// network, by the key of the kind.
func (s Stack) Computed(kinds []Kind) map[string]string {
	names := map[string]string{}
	for _, k := range kinds {
		if k.Computes() && !k.isDefault(s) {
			names[k.Key] = k.Get(s)
		}
	}
	return names
}

// Links returns the links that s has, the last kinds first: parameters keep the order that they have in checkpoints.
func (s Stack) Links(kinds []Kind) (l nn.Links) {
	for _, k := range slices.Backward(kinds) {
		v := k.variant(s)
		if v.Before != nil {
			l.Before = append(l.Before, nn.NamedLink{Name: k.Key, New: v.Before()})
		}
		if v.After != nil {
			l.After = append(l.After, nn.NamedLink{Name: k.Key, New: v.After()})
		}
	}
	return l
}

// Stream returns the residual stream that s has. Without a Stream among its parts it is the plain one.
func (s Stack) Stream(kinds []Kind) (stream nn.NamedStream) {
	for _, k := range kinds {
		if v := k.variant(s); v.Stream != nil {
			stream = nn.NamedStream{Name: k.Key, Stream: v.Stream(s)}
		}
	}
	return stream
}

// checkStream returns an error if more than one part is a residual stream.
func (s Stack) checkStream(kinds []Kind) error {
	first := ""
	for _, k := range kinds {
		switch v := k.variant(s); {
		case v.Stream == nil:
		case first != "":
			return errors.Errorf("%s: got %s, want %s with %s: a model has one residual stream",
				k.Key, v.Name, k.fallback(), first)
		default:
			first = k.Key + " " + v.String()
		}
	}
	return nil
}

// check returns an error for a part that none of the kinds has.
func (w With) check(kinds []Kind) error {
	for _, key := range slices.Sorted(maps.Keys(w.names)) {
		i := slices.IndexFunc(kinds, func(k Kind) bool { return k.Key == key })
		switch {
		case i < 0:
			return errors.Errorf("%s: got %s: the registry has no such kind of part in With",
				field.Clip(key), field.Clip(w.names[key]))
		case !slices.Contains(Names(kinds[i].variants()), w.names[key]):
			return errors.Errorf("%s: got %s, want one of %s",
				key, field.Clip(w.names[key]), strings.Join(Names(kinds[i].variants()), ", "))
		}
	}
	return nil
}

func qkNorms() []Variant {
	return []Variant{
		{Name: noPart},
		{Name: "head", Before: Apart(func(at nn.Site, heads fused.AttentionShape) nn.Link {
			return nn.Packed(nn.NewHeadNorm(at, heads))
		})},
		{Name: "width", Before: Apart(func(at nn.Site, heads fused.AttentionShape) nn.Link {
			return nn.Packed(nn.NewWidthNorm(at, heads))
		})},
	}
}

func attnGates() []Variant {
	return []Variant{
		{Name: noPart},
		{Name: "elementwise", After: Apart(func(at nn.Site, _ fused.AttentionShape) nn.Link {
			return nn.NewElementGate(at)
		})},
		{Name: "headwise", After: Apart(func(at nn.Site, _ fused.AttentionShape) nn.Link {
			return nn.NewHeadGate(at)
		})},
	}
}

func skips() []Variant {
	return []Variant{
		{Name: noPart},
		{Name: "embedding", Stream: func(Stack) nn.Stream { return nn.NewEmbeddingSkips() }},
		{Name: "unet", Stream: func(s Stack) nn.Stream { return nn.NewUNetSkips(s.NLayer) }},
	}
}

func valueResiduals() []Variant {
	return []Variant{{Name: noPart}, {Name: "learned", Before: func() NewLink { return nn.NewValueResidual().New }}}
}

// xsas lists exclusive self-attention: the plain one, and one with a learned share for each head.
func xsas() []Variant {
	return []Variant{
		{Name: noPart},
		{Name: "plain", After: Apart(func(at nn.Site, _ fused.AttentionShape) nn.Link { return nn.NewXSA(at) })},
		{Name: "learned", After: Apart(func(at nn.Site, heads fused.AttentionShape) nn.Link {
			return nn.NewLearnedXSA(at, heads)
		})},
	}
}

func hyperConnections() []Variant {
	return []Variant{
		{Name: noPart},
		{Name: "mhc", Stream: func(Stack) nn.Stream { return nn.NewHyperConnections(4) }},
	}
}

// smears lists ways to mix a token with the token before it.
func smears() []Variant {
	return []Variant{
		{Name: noPart},
		{Name: "learned", Embed: func() NewEmbed {
			return func(at nn.Site, _ int) nn.Embedder { return nn.NewSmear(at) }
		}},
	}
}
