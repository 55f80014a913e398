// Package decode generates texts with a causal network, token by token: a Session keeps the keys and values of the
// tokens so far, so that a new token needs no forward pass over all of them. Start with Session, which gpt.NewDecoder
// returns for a model. Package gpt/service serves many clients at once.
package decode

import (
	"sync"

	"github.com/pedestrian-ml/pedestrian/gpt/search"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pkg/errors"
)

// Session continues B texts at once and reads the weights once for all of them; a single text is a batch of one. Row b
// of every argument and result belongs to text b.
//
// When the context is full, its older half is dropped and the rest is fed again: learned positions have moved, so the
// stored keys and values are no longer valid (errata X9).
//
// Every call uses the weights as they are then. After a change of them, such as a Step of a trainer, the tokens so far
// are fed again before the next ones.
//
// A Session serves one goroutine at a time. A call returns an error while another one is using the Session; goroutines
// that work at the same time need one each.
type Session struct {
	context *window
	rows    []row
	step    []int // tokens of all rows to feed next
	uneven  bool  // a row was filled up after its text had ended
	busy    sync.Mutex
}

var (
	errNone   = errors.New("decoder: nothing to decode with, want a Session from NewDecoder")
	errBusy   = errors.New("decoder: in use by another goroutine, or by a Generate that has not ended")
	errUneven = errors.New(
		"the texts ended at different tokens, or are hypotheses of Beam: want Generate or Reset first")
)

// New returns a Session for a batch of at least one text. It returns the error of n.CheckSteps if n decodes by steps.
func New(n Network, batch int) (*Session, error) {
	if err := n.Check(batch); err != nil {
		return nil, err
	}
	w, err := newWindow(n, batch)
	if err != nil {
		return nil, err
	}
	s := &Session{context: w, rows: make([]row, batch)}
	for b := range s.rows {
		s.rows[b].seen = search.NewSeen(n.Choices())
	}
	return s, nil
}

// begin locks the session for a call. The caller must unlock busy.
func (s *Session) begin() error {
	switch {
	case s == nil || s.context == nil:
		return errNone
	case !s.busy.TryLock():
		return errBusy
	}
	return nil
}

// Reset removes all tokens of all texts.
func (s *Session) Reset() error {
	if err := s.begin(); err != nil {
		return err
	}
	defer s.busy.Unlock()
	s.reset()
	return nil
}

func (s *Session) reset() {
	s.context.reset()
	for b := range s.rows {
		s.rows[b].reset()
	}
	s.uneven = false
}

// Feed appends the tokens of row b to text b, and returns the logits (B, V) of the next token of each. All rows must
// have the same length of at least one token. The next call overwrites the result. If the context cannot hold all
// tokens, only the last ones count. The tokens replace those drawn last. An invalid row, such as one with an id outside
// the vocabulary, leaves the texts unchanged.
func (s *Session) Feed(rows ...[]int) (graph.Tensor, error) {
	if err := s.begin(); err != nil {
		return graph.Tensor{}, err
	}
	defer s.busy.Unlock()
	if err := s.checkRows(rows); err != nil {
		return graph.Tensor{}, errors.Wrap(err, "decoder")
	}
	for b, tokens := range rows {
		s.rows[b].waiting = s.rows[b].waiting[:0]
		s.rows[b].wait(tokens, s.context.size)
	}
	return s.feed()
}

// feed appends the tokens that wait and returns the logits. It takes the same number of every row, as many as the row
// with the fewest has. Rows without any, whose texts have ended, are filled up.
func (s *Session) feed() (graph.Tensor, error) {
	n := s.context.size
	for _, r := range s.rows {
		if len(r.waiting) > 0 {
			n = min(n, len(r.waiting))
		} else {
			s.uneven = true
		}
	}
	s.step = s.step[:0]
	for i := range n {
		for _, r := range s.rows {
			s.step = append(s.step, r.token(i))
		}
	}
	logits, err := s.context.feed(s.step)
	if err != nil {
		return graph.Tensor{}, errors.Wrap(err, "decoder")
	}
	for b := range s.rows {
		s.rows[b].fed(n)
	}
	return logits, nil
}
