package seq2seq

import (
	"context"

	"github.com/pedestrian-ml/pedestrian/gpt/internal/field"
	"github.com/pedestrian-ml/pedestrian/gpt/train"
	"github.com/pedestrian-ml/pedestrian/graph"
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
	source := from*(kept+from+to+c.Inside(c.known(), c.SourceSize)) + to*float64(c.NEmbd)
	beam := to*kept + from + float64(c.TargetVocab) + hypothesisSize
	fields := append(c.networkFields(), searched(&sources, &beams)...)
	bytes := 4 * float64(sources) * (source + float64(beams)*beam)
	return train.CheckMemory(m.Graph.MemoryLimit(), bytes, "the keys and values", fields,
		"sources", "beams", "source_size", "target_size", "n_layer", "n_head", "target_vocab")
}

// hypothesisSize is the number of numbers that a hypothesis takes without its tokens.
const hypothesisSize = 32

func searched(sources, beams *int) field.List {
	return field.List{field.New("sources", sources, field.Size(1), ""), field.New("beams", beams, field.Size(1), "")}
}

// checkSearch returns an error before anything is allocated if the arguments are invalid. A Predictor has no limit of
// its own; a Translator has counted the hypotheses towards the limit of its Graph.
func checkSearch(ctx context.Context, p Predictor, limit int) error {
	switch {
	case ctx == nil:
		return errors.New("decode: context: got nil, want one such as context.Background()")
	case p == nil:
		return errors.New("decode: predictor: got nil, want one such as a Translator")
	case limit < 0:
		return errors.Errorf("decode: limit: got %d tokens, want 0 or more", limit)
	}
	sources, beams := p.Sources(), p.Beams()
	if sources < 1 || beams < 1 {
		return errors.Errorf("decode: got %d sources and %d beams, want 1 or more of each", sources, beams)
	}
	bytes := 4 * hypothesisSize * float64(sources) * float64(beams)
	err := train.CheckMemory(graph.MachineMemory(), bytes, "hypotheses", searched(&sources, &beams), "sources", "beams")
	return errors.Wrap(err, "decode")
}

// checkLogits returns an error unless there is a row of logits for each hypothesis.
func checkLogits(logits graph.Tensor, rows int) error {
	if s := logits.Shape; len(s) != 2 || s[0] != rows || s[1] < 1 || logits.Len() != s[0]*s[1] {
		return errors.Errorf("decode: got %d logits of shape %v, want a row for each of %d hypotheses",
			logits.Len(), s, rows)
	}
	return logits.Finite("logits")
}
