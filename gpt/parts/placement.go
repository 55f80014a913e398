package parts

import (
	"slices"
	"sync/atomic"

	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/graph/fused"
	"github.com/pedestrian-ml/pedestrian/nn"
	"github.com/pkg/errors"
)

// uses records the parts of a Site that the blocks of one attention have used.
type uses struct {
	attention string
	rotates   bool     // a block has a rotation, and
	rotated   bool     // uses it
	linked    []string // the names of the links
	sunk      bool     // the sinks of the heads
	convolved []nn.ConvPlace
}

// watched returns the site of a block, extended to record its uses.
func (u *uses) watched(at nn.Site) nn.Site {
	if at.Rotary != nil {
		u.rotates, at.Rotary = true, rotation{at.Rotary, &u.rotated}
	}
	at.Links = nn.Links{Before: u.links(at.Links.Before), After: u.links(at.Links.After)}
	if sinks := at.Sinks; sinks != nil {
		at.Sinks = func(at nn.Site) graph.Expr { u.sunk = true; return sinks(at) }
	}
	if conv := at.Conv; conv != nil {
		at.Conv = func(at nn.Site, place nn.ConvPlace, width int) nn.Layer {
			u.convolved = append(u.convolved, place)
			return conv(at, place, width)
		}
	}
	return at
}

// links returns links that record that they are built.
func (u *uses) links(list []nn.NamedLink) (watched []nn.NamedLink) {
	for _, l := range list {
		build := l.New
		l.New = func(at nn.Site, heads fused.AttentionShape) nn.Link {
			u.linked = append(u.linked, l.Name)
			return build(at, heads)
		}
		watched = append(watched, l)
	}
	return watched
}

// watchedStream is a Stream that records that a sublayer joins it.
type watchedStream struct {
	nn.Stream
	joined *bool
}

// Connect calls the Stream's Connect.
func (s watchedStream) Connect(at nn.Site) nn.Connection {
	*s.joined = true
	return s.Stream.Connect(at)
}

// joins reports whether the sublayers of a block would join the stream of d.
func (d Design) joins() bool {
	at := d.Site(1, 1)
	if at.Stream.Stream == nil {
		return false
	}
	at.Scope = graph.Outline(graph.Float32).Root()
	return at.Stream.Connect(at) != nil
}

// rotation is a Rotary that records whether it was used.
type rotation struct {
	nn.Rotary
	used *bool
}

// Rotate calls the Rotary's Rotate.
func (r rotation) Rotate(x graph.Expr, groups, size int) graph.Expr {
	*r.used = true
	return r.Rotary.Rotate(x, groups, size)
}

// biases is a Bias that records whether it was used. The flag is atomic because several goroutines write the entries of
// a mask.
type biases struct {
	of   nn.Bias
	used atomic.Bool
}

// Bias calls the Bias's Bias.
func (b *biases) Bias(head, i, j int) float64 {
	if !b.used.Load() {
		b.used.Store(true)
	}
	return b.of.Bias(head, i, j)
}

// Check calls the Bias's Check, if it has one.
func (b *biases) Check(d nn.Dims) error {
	if c, ok := b.of.(nn.Checker); ok {
		return c.Check(d)
	}
	return nil
}

// CheckUsed must be called after Forward. It returns an error if the position provides a rotation or biases of scores
// that no layer has used: the model would not distinguish positions. Biases are not checked on an Outline, where they
// are never computed. It is also an error if no layer has built the norm of queries and keys, the gate, the sinks
// or a short convolution, or if blocks leave out a rotation and the position provides none. In a list of
// attentions, this holds for the blocks of each.
func (b *Body) CheckUsed() error {
	s := b.stack
	switch {
	case b.scope.Graph().Err() != nil:
		return nil
	case s.Rope.NoRopeLayerInterval != 0 && b.rotary == nil:
		return errors.Errorf("no_rope_layer_interval: got %d, want 0 with position %s, which rotates nothing",
			s.Rope.NoRopeLayerInterval, s.Position)
	}
	for _, u := range b.uses {
		if err := u.check(s); err != nil {
			return err
		}
	}
	if b.biases != nil && !b.biases.used.Load() && !b.scope.Graph().Outlined() {
		return errors.Errorf("position: got %s, and attention %s in block %s never uses its Site's Mask or Scores: "+
			"want an attention that does, such as causal, or position learned, sinusoidal or none",
			s.Position, s.Attention, s.Block)
	}
	return nil
}

// check returns an error that names a part that the blocks of an attention have not used.
func (u *uses) check(s Stack) error {
	switch {
	case u.rotates && !u.rotated:
		return errors.Errorf("position: got %s, and attention %s in block %s never calls Rotate of its Site's Rotary: "+
			"want an attention that does, such as causal, or position learned, sinusoidal or none",
			s.Position, u.attention, s.Block)
	case s.optional("attn_sinks") != "" && !u.sunk:
		return errors.Errorf("attn_sinks: got %s, and attention %s in block %s never calls Sinks of its Site: "+
			"want an attention that does, such as causal, or attn_sinks none",
			s.optional("attn_sinks"), u.attention, s.Block)
	case u.unconvolved(s) != "":
		return errors.Errorf("short_conv: got %s, and no layer of attention %s, mlp %s and block %s calls Conv of its "+
			"Site at place %s: want a part that does, or short_conv none",
			s.With.Get("short_conv"), u.attention, s.MLP, s.Block, u.unconvolved(s))
	}
	return nil
}

// checkLinks returns an error that names a kind of link that the attentions have not built.
func (u *uses) checkLinks(s Stack, kinds []Kind) error {
	for _, k := range kinds {
		if v := k.variant(s); v.isLink() && !slices.Contains(u.linked, k.Key) {
			return errors.Errorf("%s: got %s, and attention %s in block %s builds no such link: "+
				"want an attention that does, such as causal, or %s %s",
				k.Key, v, u.attention, s.Block, k.Key, k.fallback())
		}
	}
	return nil
}

// unconvolved returns the first place of the short convolutions where no layer has built one, or an empty string.
func (u *uses) unconvolved(s Stack) nn.ConvPlace {
	for _, place := range Find(ShortConvs(), s.With.Get("short_conv")).places {
		if !slices.Contains(u.convolved, place) {
			return place
		}
	}
	return ""
}
