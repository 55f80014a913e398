package parts

import (
	"github.com/pedestrian-ml/pedestrian/nn"
	"github.com/pkg/errors"
)

func latentAttentions() []Attention {
	latent := Option{
		Name: "latent_size", Help: "mla: size of the latent for keys and values; 0 is n_embd/4",
		Default: func(s Stack) int { return max(1, s.NEmbd/4) },
	}
	queries := Option{
		Name: "q_latent_size", Help: "mla_rope: size of the latent for queries; 0 is n_embd/2",
		Default: func(s Stack) int { return max(1, s.NEmbd/2) },
	}
	rotary := Option{
		Name:    "rope_size",
		Help:    "mla_rope: size of the rotated part of a query; 0 is half of qk_size, rounded down to an even number",
		Default: func(s Stack) int { return max(2, s.QKSize/4*2) }, Check: checkEven,
	}
	options := []Option{latent, queries, rotary}
	return []Attention{
		{Name: "mla", Options: options[:1], Check: rejectRotatedOrNormed, New: mla, ungated: true},
		{Name: "mla_rope", Options: options, Check: rejectSecondRoPE, New: mlaRoPE, ungated: true},
		{Name: "mla_latent_rope", Options: options, Check: rejectSecondRoPE, New: mlaLatentRoPE, ungated: true},
	}
}

func mla(_ nn.Site, s Stack) nn.Attention {
	return func(at nn.Site) nn.Layer { return nn.NewMLA(at, s.Options.Get("latent_size")) }
}

func mlaRoPE(_ nn.Site, s Stack) nn.Attention {
	latent, queries, rotary := rotatedSizes(s)
	return func(at nn.Site) nn.Layer { return nn.NewMLARoPE(at, latent, queries, rotary, s.Rope.Theta) }
}

func mlaLatentRoPE(_ nn.Site, s Stack) nn.Attention {
	latent, queries, rotary := rotatedSizes(s)
	return func(at nn.Site) nn.Layer { return nn.NewMLALatentRoPE(at, latent, queries, rotary, s.Rope.Theta) }
}

func rotatedSizes(s Stack) (latent, queries, rotary int) {
	return s.Options.Get("latent_size"), s.Options.Get("q_latent_size"), s.Options.Get("rope_size")
}

// rejectSecondRoPE refuses position rope, because these attentions rotate a part of queries and keys themselves, and a
// norm of queries and keys.
func rejectSecondRoPE(_ nn.Dims, s Stack) error {
	if err := rejectQKNorm(s); err != nil {
		return err
	}
	return rejectPosition("rope", s, ", which rotates a part of queries and keys itself")
}

func rejectRotatedOrNormed(d nn.Dims, s Stack) error {
	if err := rejectQKNorm(s); err != nil {
		return err
	}
	return rejectRoPE(d, s)
}

// rejectQKNorm refuses a norm of queries and keys: decoding absorbs the matrix of the keys into the queries.
func rejectQKNorm(s Stack) error {
	name := s.optional("qk_norm")
	if name == "" {
		return nil
	}
	return errors.Errorf("qk_norm: got %s, want %s with attention %s: keys that are normalised cannot be absorbed",
		name, noPart, s.Attention)
}

func checkEven(got int, _ nn.Dims) error {
	return wantEven("rope_size", got, "rotary positions, which rotate pairs")
}
