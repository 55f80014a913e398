package gpt

import (
	"bytes"
	"io"
	"math"
	"slices"

	"github.com/pedestrian-ml/pedestrian/gpt/checkpoint"
	"github.com/pedestrian-ml/pedestrian/gpt/safetensors"
	"github.com/pedestrian-ml/pedestrian/gpt/text"
	"github.com/pedestrian-ml/pedestrian/gpt/train"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pkg/errors"
)

// WriteWeights writes the parameters as a safetensors file under GPT-2's names. It returns an error if a number is not
// finite. All weights in the file are of the same moment: a Trainer in another goroutine waits with its next update
// until they are written to w.
func (m *Model) WriteWeights(w io.Writer) error {
	if err := m.CheckNumbers(); err != nil {
		return err
	}
	return m.reading(func() error {
		metadata := map[string]string{"format": "pt"}
		return errors.Wrap(train.WriteTensors(w, gpt2Layout{}.Tensors(m.Params()), metadata, ""), "weights")
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
	if err := m.CheckNumbers(); err != nil {
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
	l := gpt2Layout{}
	m.Graph.Exclusive(func() { err = train.Restore(l.Tensors(params), parameters(l, f, m.ownHead())) })
	return errors.Wrap(err, "weights")
}

func (m *Model) ownHead() bool {
	_, own := m.Graph.Leaf(headWeight)
	return own
}

// numbered returns the parameters that have numbers, which are those that are not packed.
func (m *Model) numbered() []graph.Expr {
	return slices.DeleteFunc(slices.Clone(m.Params()), packed)
}

func packed(p graph.Expr) bool {
	t := p.Tensor()
	return t.Len() == 0
}

// checkTied returns an error if the file has a separate matrix of the head whose numbers differ from the token
// embedding, which m uses for both.
func (m *Model) checkTied(l Layout, f *safetensors.File) error {
	tokens, _ := m.Graph.Leaf("wte.weight")
	wte := tokens.Tensor()
	for _, e := range f.Entries {
		if l.Plain(e.Name) != l.Head() {
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
					embedding := l.Tensors([]graph.Expr{tokens})[0].Name
					return errors.Errorf("%s: entry %d is %v, in %s it is %v: "+
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

// Files returns a checkpoint of the model alone, which LoadModel and programs that read Hugging Face's files can load.
// tok may be nil; it is an error if it has more tokens than the model has logits. The weights are read when their file
// is written.
func (m *Model) Files(tok text.Tokenizer) ([]checkpoint.File, error) {
	if err := m.CheckNumbers(); err != nil {
		return nil, err
	}
	if err := m.checkTokenizer(tok); err != nil {
		return nil, err
	}
	hf, err := m.Config.HuggingFace()
	if err != nil {
		return nil, err
	}
	list := []checkpoint.File{
		{Name: train.WeightsFile, Write: m.WriteWeights},
		{Name: configFile, Write: train.WriteBytes(hf)},
	}
	if tok != nil {
		list = append(list, TokenizerFile(tok))
	}
	return list, nil
}
