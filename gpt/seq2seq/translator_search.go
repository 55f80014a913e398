package seq2seq

import (
	"context"
	"slices"

	"github.com/pedestrian-ml/pedestrian/gpt/search"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pkg/errors"
)

// Sources returns the number of texts that are written at once.
func (t *Translator) Sources() int {
	if t == nil {
		return 0
	}
	return t.sources
}

// Beams returns the number of hypotheses of each text.
func (t *Translator) Beams() int {
	if t == nil {
		return 0
	}
	return t.beams
}

// Ends reports whether the token is End.
func (t *Translator) Ends(token int) bool { return token == End }

// Step appends a token to every hypothesis, or Begin if tokens is nil, and returns the logits (Sources·Beams, V) of
// the next token. It is an error before Read, and after the weights have changed since Read, for example by a Step of
// the model's Trainer, because the kept values of the sources and tokens would belong to the old weights.
func (t *Translator) Step(tokens []int) (logits graph.Tensor, err error) {
	if err := t.begin(); err != nil {
		return graph.Tensor{}, err
	}
	defer t.busy.Unlock()
	err = t.graph.Shared(func(r graph.Reading) error {
		logits, err = t.append(r, tokens)
		return err
	})
	return logits, err
}

// append does what Step does, for a caller that holds t and the weights.
func (t *Translator) append(r graph.Reading, tokens []int) (graph.Tensor, error) {
	if !t.reading {
		return graph.Tensor{}, errors.Errorf("translator: got 0 sources to translate, want 1 … %d from Read", t.sources)
	}
	if tokens == nil {
		tokens = slices.Repeat([]int{Begin}, t.sources*t.beams)
	}
	if len(tokens) != t.sources*t.beams {
		return graph.Tensor{}, errors.Errorf("translator: got %d tokens, want %d for %d sources and %d beams",
			len(tokens), t.sources*t.beams, t.sources, t.beams)
	}
	if t.changes != r.Changes() {
		return graph.Tensor{}, errors.New("translator: the weights have changed since Read: Read the sources again")
	}
	if t.failed != nil {
		return graph.Tensor{}, errors.Wrap(t.failed, "translator")
	}
	if t.interrupted.Load() {
		return graph.Tensor{}, errors.New("translator: a Fork of another goroutine came while it was in use")
	}
	if t.written >= t.config.TargetSize {
		return graph.Tensor{}, errors.Errorf("translator: token %d of a target, target_size is %d",
			t.written+1, t.config.TargetSize)
	}
	copy(t.tokens.Ints(), tokens)
	for i := range t.positions.Ints() {
		t.positions.Ints()[i] = t.written
	}
	t.at.Ints()[0] = t.written
	if err := r.Run(t.write); err != nil {
		return graph.Tensor{}, err
	}
	t.written++
	return t.write.Value(), nil
}

// Fork replaces hypothesis to by a copy of hypothesis from. If one of them does not exist, the next Step returns an
// error.
func (t *Translator) Fork(from, to int) {
	if t == nil {
		return
	}
	if !t.busy.TryLock() {
		t.interrupted.Store(true)
		return
	}
	defer t.busy.Unlock()
	t.copy(from, to)
}

func (t *Translator) copy(from, to int) {
	if err := t.caches.Fork(from, to); err != nil && t.failed == nil {
		t.failed = err
	}
}

// Greedy translates any number of sources, with at most target_size tokens including End. Sources that are translated
// at once use the weights of one moment: a Trainer delays its next update until they are done.
func (t *Translator) Greedy(ctx context.Context, sources [][]int) ([]search.Hypothesis, error) {
	return inBatches(t, sources, func(p search.Predictor) ([]search.Hypothesis, error) {
		return search.Greedy(ctx, p, t.config.TargetSize)
	})
}

// Beam translates any number of sources and returns the hypotheses of each, best first; see search.Beam. Like
// Greedy it holds the weights, so rank may not run a program of the model or of a sibling.
func (t *Translator) Beam(ctx context.Context, sources [][]int, rank search.Rank) ([][]search.Hypothesis, error) {
	return inBatches(t, sources, func(p search.Predictor) ([][]search.Hypothesis, error) {
		return search.Beam(ctx, p, t.config.TargetSize, rank)
	})
}

func inBatches[T any](t *Translator, sources [][]int, find func(search.Predictor) ([]T, error)) (all []T, err error) {
	if err := t.begin(); err != nil {
		return nil, err
	}
	defer t.busy.Unlock()
	for from := 0; from < len(sources); from += t.sources {
		part := sources[from:min(from+t.sources, len(sources))]
		var found []T
		err := t.graph.Shared(func(r graph.Reading) (err error) {
			if err := t.take(r, part); err != nil {
				return err
			}
			found, err = find(locked{t, r})
			return err
		})
		if err != nil {
			return all, err
		}
		all = append(all, found[:len(part)]...)
	}
	return all, nil
}

// locked is a Translator for a search within a call that holds it and the weights.
type locked struct {
	*Translator
	weights graph.Reading
}

// Step appends a token like Translator.Step.
func (t locked) Step(tokens []int) (graph.Tensor, error) { return t.append(t.weights, tokens) }

// Fork copies a hypothesis like Translator.Fork.
func (t locked) Fork(from, to int) { t.copy(from, to) }
