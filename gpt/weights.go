package gpt

import (
	"bytes"
	"io"
	"math"
	"slices"

	"github.com/pedestrian-ml/pedestrian/gpt/checkpoint"
	"github.com/pedestrian-ml/pedestrian/gpt/published"
	"github.com/pedestrian-ml/pedestrian/gpt/safetensors"
	"github.com/pedestrian-ml/pedestrian/gpt/train"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pkg/errors"
)

// WriteWeights writes the parameters as a safetensors file under GPT-2's names. It returns an error if a number is not
// finite. All weights in the file are of the same moment: a Trainer in another goroutine waits with its next update
// until they are written to w.
func (m *Model) WriteWeights(w io.Writer) error {
	if err := m.loose(); err != nil {
		return err
	}
	return m.reading(func() error {
		metadata := map[string]string{"format": "pt"}
		return errors.Wrap(train.WriteTensors(w, m.ours().lay(m.Params()), metadata, ""), "weights")
	})
}

// reading calls read while no Trainer changes the weights.
func (m *Model) reading(read func() error) error {
	return m.Graph.Shared(func(graph.Reading) error { return read() })
}

// ReadWeights sets the parameters from a safetensors file: one written by WriteWeights, or a published GPT-2, whose
// names may have the prefix "transformer." and whose mask buffers are ignored. A missing parameter, a tensor that is
// not a parameter, a different shape, and a number that is not finite are errors, after which no parameter has changed.
func (m *Model) ReadWeights(data []byte) error {
	if err := m.loose(); err != nil {
		return err
	}
	f, err := safetensors.Open(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return errors.Wrap(err, "weights")
	}
	if err := m.read(f, m.Params()); err != nil {
		return err
	}
	m.Graph.Exclusive(func() { m.merged = nil }) // the weights into which they were merged are gone
	return nil
}

// read sets exactly these parameters from a file of ours, or changes nothing. Decoders and writers in other goroutines
// see the parameters either before or after it.
func (m *Model) read(f *safetensors.File, params []graph.Expr) (err error) {
	source := m.ours()
	m.Graph.Exclusive(func() { err = train.Restore(source.lay(params), source.plain(f, m.ownHead())) })
	return errors.Wrap(err, "weights")
}

func (m *Model) ownHead() bool {
	_, own := m.Graph.Leaf(published.HeadWeight)
	return own
}

// fill sets exactly these parameters from a checkpoint of m's model, or of the model on which m is built. After an
// error some of them are set.
func (m *Model) fill(s source, cp *checkpoint.Checkpoint, params []graph.Expr) error {
	f, err := train.OpenWeights(cp)
	if err == nil {
		err = train.Fill(s.lay(params), s.plain(f, m.ownHead()))
	}
	if err == nil && !m.ownHead() {
		err = m.checkTied(s, f)
	}
	return errors.Wrap(err, "weights")
}

// checkTied returns an error if the file has a separate matrix of the head whose numbers differ from the token
// embedding, which m uses for both.
func (m *Model) checkTied(s source, f *safetensors.File) error {
	tokens, _ := m.Graph.Leaf("wte.weight")
	wte := tokens.Tensor()
	for _, e := range f.Entries {
		if !s.layout().IsHead(e.Name) {
			continue
		}
		if !slices.Equal(e.Shape, wte.Shape) {
			return errors.Errorf("%s has shape %v, the tokens of a tied model %v", e.Name, e.Shape, wte.Shape)
		}
		err := f.Values(e, func(at int, part safetensors.Tensor) error {
			for i, x := range (graph.Tensor{F32: part.F32, F64: part.F64}).Floats() {
				got, want := x, wte.At(at+i)
				if wte.F32 != nil {
					got = float64(float32(x))
				}
				if math.Float64bits(got) != math.Float64bits(want) {
					embedding := s.layout().FileName("wte.weight")
					return errors.Errorf("%s: entry %d is %v, that of %s is %v: "+
						"tie_word_embeddings is true, so both must be the same", e.Name, at+i, got, embedding, want)
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// ours returns the source that WriteWeights writes.
func (m *Model) ours() source { return source{Config: m.Config, family: published.Own()} }

// Packed returns m for decoding and measuring, with the matrices of its linear layers and its head (the embedding, if
// they are tied) stored as bfloat16, or as int8 with a scale for every output, rounded from their present values. It
// needs less memory, and is faster in proportion because less is read. It computes what a model of the rounded weights
// does, with sums in float32, to the bit except with a tied head. No file changes, and m stays as it is; the original
// weights are freed when m is no longer referenced.
//
// The packed model has no weights to write, to set or to train. Packed returns an error for a packing other than
// graph.BF16 and graph.Int8, for a model without kernels or of a type other than float32, and for weights that are not
// finite.
func (m *Model) Packed(p graph.Packing) (*Model, error) {
	if err := m.loose(); err != nil {
		return nil, err
	}
	c, batch := m.Config, m.Tokens.Shape()[0]/m.Config.BlockSize
	g, err := m.Graph.Packed(p) // the last use of m, so that its weights can be freed while they are packed
	if err != nil {
		return nil, errors.Wrap(err, "model")
	}
	g.SetTraining(false)
	return New(g, c, batch)
}

// loose returns an error unless m is valid and its weights are not packed.
func (m *Model) loose() error {
	if err := m.Check(); err != nil {
		return err
	}
	for _, p := range m.Params() {
		if t := p.Tensor(); t.Len() == 0 {
			return errors.Errorf("model: its weights are packed, %s among them: "+
				"want the model from which they were packed", p.Name())
		}
	}
	return nil
}

// source describes where weights come from or go to: the network, the family of the files, and the number of learned
// positions in them, if it differs from the network's.
type source struct {
	Config
	family published.Family
	rows   int
}

// cropped returns s for sequences of blockSize tokens, at most the number of its positions.
func (s source) cropped(blockSize int) (source, error) {
	if blockSize < 1 || blockSize > s.BlockSize {
		return s, errors.Errorf("block_size: got %d, want 1 to %d, the number of the model's positions",
			blockSize, s.BlockSize)
	}
	if blockSize < s.BlockSize {
		s.rows, s.BlockSize = s.BlockSize, blockSize
	}
	return s, nil
}

// layout returns the layout of the tensors in the files.
func (s source) layout() published.Layout {
	return published.Layout{Family: s.family, Heads: s.heads(), Rows: s.rows}
}

// lay returns the parameters as the tensors of a file.
func (s source) lay(params []graph.Expr) []train.Named { return s.layout().Tensors(params) }

// plain returns the tensors of a file that are parameters, under names without a prefix.
func (s source) plain(f *safetensors.File, ownHead bool) *safetensors.File {
	return s.layout().Parameters(f, ownHead)
}

// heads returns the layout of the columns of the attentions' projections.
func (c Config) heads() published.Heads {
	p := c.planned()
	groups := p.NHead
	if own := p.design.Attention.Groups; own != nil {
		groups = own(p.Stack)
	}
	return published.Heads{Queries: p.NHead, Groups: groups, QK: p.QKSize, V: p.VSize}
}
