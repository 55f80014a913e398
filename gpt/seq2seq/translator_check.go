package seq2seq

import (
	"github.com/pedestrian-ml/pedestrian/gpt/internal/field"
	"github.com/pkg/errors"
)

// checkTranslator returns an error before anything is allocated if m or the numbers are invalid.
func checkTranslator(m *Model, sources, beams int) error {
	if err := m.check(); err != nil {
		return err
	}
	if sources < 1 || beams < 1 {
		return errors.Errorf("got %d sources and %d beams, want 1 or more of each", sources, beams)
	}
	c := m.Config
	if err := c.networkFields().Check(); err != nil {
		return errors.Wrap(err, "model")
	}
	from, to := float64(c.SourceSize), float64(c.TargetSize)
	kept := float64(c.NLayer) * float64(c.NHead) * (float64(c.QKSize) + float64(c.VSize)) // of a token
	source := from*(kept+from+to+c.design().Inside(c.SourceSize)) + to*float64(c.NEmbd)
	beam := to*kept + from + float64(c.TargetVocab) + hypothesisSize
	fields := append(c.networkFields(),
		field.New("sources", &sources, field.Size(1), ""), field.New("beams", &beams, field.Size(1), ""))
	bytes := 4 * float64(sources) * (source + float64(beams)*beam)
	return fields.CheckMemory(m.Graph.MemoryLimit(), bytes, "the keys and values",
		"sources", "beams", "source_size", "target_size", "n_layer", "n_head", "target_vocab")
}

// hypothesisSize is the number of 4-byte numbers that a hypothesis of a search takes without its tokens.
const hypothesisSize = 32
