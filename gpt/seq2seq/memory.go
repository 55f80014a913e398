package seq2seq

import (
	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/nn"
	"github.com/pkg/errors"
)

const (
	float32Size = 4
	gib         = 1 << 30
)

// parameters counts them; in float64, which no Config overflows:
//
//	V_s·d + positions + n_layer·(2·norm + attention + mlp) + norm                 of the encoder
//	V_t·d + positions + n_layer·(3·norm + 2·attention + mlp) + norm + d·V_t + V_t  of the decoder
//	attention = d·H(2dρ+dh) + H·dh·d + H(2dρ+dh) + d,  mlp = 2·d·f + f + d
//
// the terms without a product are biases, and the encoder's attention may have more. Post-norm has no norm at the ends of the stacks.
func (c Config) parameters() float64 {
	c = c.Resolved()
	d, h, f, layers := float64(c.NEmbd), float64(c.NHead), float64(c.NInner), float64(c.NLayer)
	packed := h * (2*float64(c.QKSize) + float64(c.VSize))
	attention, mlp, head := d*packed+h*float64(c.VSize)*d, 2*d*f, d*float64(c.TargetVocab)
	if c.Bias {
		attention, mlp, head = attention+packed+d, mlp+f+d, head+float64(c.TargetVocab)
	}
	norm, position, own := c.normSize(), c.positionSize, 0.0
	if kind, _ := find(attentions(), c.Attention); kind.count != nil {
		own = kind.count(c)
	}
	n := float64(c.SourceVocab)*d + position(c.SourceSize) + layers*(2*norm+attention+own+mlp)
	n += float64(c.TargetVocab)*d + position(c.TargetSize) + layers*(3*norm+2*attention+mlp) + head
	if block, _ := find(blocks(), c.Block); block.final {
		n += 2 * norm
	}
	return n
}

func (c Config) normSize() float64 {
	norm, _ := find(norms(), c.Norm)
	return c.declared(c.TargetSize, func(at nn.Site) { norm.New(at) })
}

func (c Config) positionSize(context int) float64 {
	position, _ := find(positions(), c.Position)
	return c.declared(context, func(at nn.Site) { position.New(at, c.stack()) })
}

// declared counts the parameters that a part declares on a side of that many tokens.
func (c Config) declared(context int, declare func(at nn.Site)) (n float64) {
	g := graph.Outline(graph.Float32)
	at := c.site(g.Root(), 1, context)
	at.Positions = placed(g.Root(), 1, context)
	declare(at)
	for _, p := range g.Params() {
		size := 1.0
		for _, k := range p.Shape() {
			size *= float64(k)
		}
		n += size
	}
	return n
}

// activations estimates the numbers that a pass over one batch keeps, as gpt.Config.Memory does: of every token what the
// matrices take and give, and a row of weights for every head.
func (c Config) activations() float64 {
	c = c.Resolved()
	d, h, s, t := float64(c.NEmbd), float64(c.NHead), float64(c.SourceSize), float64(c.TargetSize)
	heads := 2*h*float64(c.QKSize) + 2*h*float64(c.VSize)
	token := 7*d + heads + 2*float64(c.NInner)
	layer := s*(token+h*s) + t*(token+3*d+heads+h*(s+t))
	return float64(c.BatchSize) * (float64(c.NLayer)*layer + 3*d*(s+t) + t*float64(c.TargetVocab))
}

// checkParameters refuses a network of more than so many bytes, each number of which is kept so many times.
func (c Config) checkParameters(times float64) error {
	c = c.Resolved()
	bytes := times * float32Size * c.parameters()
	if bytes <= gpt.MemoryLimit {
		return nil
	}
	return errors.Errorf("memory: got about %.4g GiB for parameters of n_layer %d, n_head %d, n_embd %d, source_vocab %d, "+
		"target_vocab %d, source_size %d, target_size %d, qk_size %d, v_size %d, n_inner %d; want at most %d GiB", bytes/gib, c.NLayer,
		c.NHead, c.NEmbd, c.SourceVocab, c.TargetVocab, c.SourceSize, c.TargetSize, c.QKSize, c.VSize, c.NInner, gpt.MemoryLimit/gib)
}

// checkTraining refuses what training would need too much memory for: the gradient and two moments of every parameter,
// and the activations with their gradients.
func (c Config) checkTraining() error {
	if err := c.checkParameters(4); err != nil {
		return err
	}
	bytes := 2 * float32Size * c.activations()
	if bytes <= gpt.MemoryLimit {
		return nil
	}
	return errors.Errorf("memory: got about %.4g GiB for activations of batch_size %d sources of source_size %d and targets of target_size %d "+
		"with n_layer %d, n_head %d, n_embd %d, target_vocab %d; want at most %d GiB", bytes/gib, c.BatchSize, c.SourceSize, c.TargetSize,
		c.NLayer, c.NHead, c.NEmbd, c.TargetVocab, gpt.MemoryLimit/gib)
}
