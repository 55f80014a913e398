package main

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"math"
	"net/http"
	"slices"

	"github.com/pedestrian-ml/pedestrian/examples/internal/program"
	"github.com/pedestrian-ml/pedestrian/gpt/decode"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pkg/errors"
)

// mostInputs is the largest number of texts of a request for embeddings.
const mostInputs = 2048

// pooling makes one vector of the hidden values of a text: it is called with each value h of the t-th token, from 1 on.
type pooling func(sum []float64, h graph.Tensor, t int)

// poolings lists the values of -pooling.
func poolings() map[string]pooling {
	return map[string]pooling{
		"mean": func(mean []float64, h graph.Tensor, t int) {
			for i := range mean {
				mean[i] += (h.At(i) - mean[i]) / float64(t)
			}
		},
		"last": func(last []float64, h graph.Tensor, _ int) {
			for i := range last {
				last[i] = h.At(i)
			}
		},
	}
}

// embedder computes the embeddings of texts, one after the other.
type embedder struct {
	reader *decode.Reader
	turn   chan struct{} // holds an element while a text is read
	pool   pooling
}

// newEmbedder returns an embedder of a network.
func newEmbedder(n decode.Network, p pooling) (*embedder, error) {
	r, err := decode.NewReader(n)
	return &embedder{r, make(chan struct{}, 1), p}, err
}

// embed returns the pooled hidden values of a text, of Euclidean norm 1 as OpenAI's are.
func (e *embedder) embed(ctx context.Context, tokens []int) (v []float64, err error) {
	select {
	case e.turn <- struct{}{}:
		defer func() { <-e.turn }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	t := 0
	for h, err := range e.reader.Hidden(ctx, tokens) {
		if err != nil {
			return nil, err
		}
		if v == nil {
			v = make([]float64, h.Len())
		}
		t++
		e.pool(v, h, t)
	}
	norm := 0.0
	for _, x := range v {
		norm += float64(x * x)
	}
	if norm = math.Sqrt(norm); norm == 0 || math.IsNaN(norm) || math.IsInf(norm, 0) {
		return nil, errors.Wrapf(graph.ErrNotFinite, "the norm of the embedding is %v", norm)
	}
	for i := range v {
		v[i] /= norm
	}
	return v, nil
}

// wish is a request for embeddings, in OpenAI's keys.
type wish struct {
	model      string
	input      json.RawMessage
	encoding   string
	dimensions *int
}

// wish reads a request for embeddings.
func (s *server) wish(data []byte) (w wish, err error) {
	w.encoding = "float"
	keys := map[string]any{
		"model": &w.model, "input": &w.input, "encoding_format": &w.encoding, "dimensions": &w.dimensions,
	}
	ignored := map[string]bool{}
	if err := fill(data, keys, nil, ignored); err != nil {
		return w, err
	}
	s.note(ignored)
	switch {
	case w.model != "" && !slices.Contains(s.names, w.model):
		return w, s.noModel(w.model)
	case w.encoding != "float" && w.encoding != "base64":
		return w, invalid("encoding_format", "got %.32q, want float or base64", w.encoding)
	case len(w.input) == 0:
		return w, invalid("input", "got none, want a text")
	}
	return w, nil
}

// inputs returns the tokens of the texts of a request: a text, a list of texts, or tokens in place of a text.
func (s *server) inputs(raw json.RawMessage) (list [][]int, err error) {
	var all []json.RawMessage
	var ids []int
	if json.Unmarshal(raw, &all) != nil || json.Unmarshal(raw, &ids) == nil {
		all = []json.RawMessage{raw} // one text
	}
	if len(all) == 0 || len(all) > mostInputs {
		return nil, invalid("input", "got %d texts, want 1 to %d", len(all), mostInputs)
	}
	for _, one := range all {
		ids, err := s.begins("input", one)
		if err == nil {
			err = s.fits(ids)
		}
		if long := (errTooLong{}); errors.As(err, &long) {
			err = failure{http.StatusBadRequest, "invalid_request_error", "input", "context_length_exceeded",
				long.Error()}
		}
		if err != nil {
			return nil, err
		}
		list = append(list, ids)
	}
	return list, nil
}

// embeddings answers a request for the embeddings of texts.
func (s *server) embeddings(w http.ResponseWriter, h *http.Request) {
	v, err := s.admit(w, h)
	defer v.leave()
	if err == nil {
		err = program.Cause(v.ctx, s.embed(w, h, v))
	}
	v.speak()
	if err != nil && !errors.Is(err, errLeft) {
		fail(w, s.failureOf(err))
	}
}

// embed answers a visit with embeddings.
func (s *server) embed(w http.ResponseWriter, h *http.Request, v *visit) error {
	return s.try(h, func() error {
		var q wish
		texts, err := prepared(s, v, func(data []byte) (texts [][]int, err error) {
			if q, err = s.wish(data); err == nil {
				texts, err = s.inputs(q.input)
			}
			return texts, err
		})
		if err != nil {
			return err
		}
		e, err := s.embedder()
		if err != nil {
			return err
		}
		tokens, list := 0, []any{}
		for i, ids := range texts {
			vector, err := e.embed(v.ctx, ids)
			if err != nil {
				return err
			}
			if q.dimensions != nil && *q.dimensions != len(vector) {
				return invalid("dimensions", "got %d, want the model's %d", *q.dimensions, len(vector))
			}
			tokens += len(ids)
			list = append(list, map[string]any{"object": "embedding", "index": i, "embedding": encoded(vector,
				q.encoding)})
		}
		exchangeOf(w).reads(tokens)
		v.leave()
		v.speak()
		s.write(w, http.StatusOK, map[string]any{
			"object": "list", "data": list, "model": s.name,
			"usage": map[string]any{"prompt_tokens": tokens, "total_tokens": tokens},
		})
		return nil
	})
}

// encoded returns a vector as numbers, or as the bytes of its float32 numbers, the lowest first.
func encoded(v []float64, encoding string) any {
	list := make([]float32, len(v))
	for i, x := range v {
		list[i] = float32(x)
	}
	if encoding == "float" {
		return list
	}
	data := make([]byte, 0, 4*len(list))
	for _, x := range list {
		data = binary.LittleEndian.AppendUint32(data, math.Float32bits(x))
	}
	return base64.StdEncoding.EncodeToString(slices.Clip(data))
}
