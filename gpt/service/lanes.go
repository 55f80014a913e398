package service

import (
	"cmp"
	"slices"

	"github.com/pedestrian-ml/pedestrian/gpt/decode"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/nn"
	"github.com/pkg/errors"
)

// lanes continues up to B texts that begin and end independently of each other. A lane holds the tokens of one text,
// and the keys and values of these. A step reads the weights once for all texts that take it. In a Session, by
// contrast, all texts advance together. A text ends when the context is full: lanes drops no tokens.
type lanes struct {
	net     decode.Network
	caches  nn.Caches
	steps   map[stepSize]*laneSteps
	texts   [][]int  // the tokens of every lane
	salts   []string // of the texts: a text shares nothing with one of another salt
	changes uint64   // count of changes to the weights when the texts were fed
}

// stepSize holds the number of texts that take a step, and of new tokens of each.
type stepSize struct{ texts, tokens int }

// laneSteps is a program for a step of some lanes.
type laneSteps struct {
	*decode.Steps
	lanes []int // those that take the step, which the caches read
}

// newLanes returns lanes for up to batch texts. It returns an error if a layer of the network has no Step, or the error
// of n.CheckMemory or n.CheckSteps.
func newLanes(n decode.Network, batch int) (*lanes, error) {
	if err := n.Check(batch); err != nil {
		return nil, err
	}
	if n.CheckMemory != nil {
		if err := n.CheckMemory(batch, n.Context); err != nil {
			return nil, err
		}
	}
	l := &lanes{
		net: n, caches: nn.Caches{}, steps: map[stepSize]*laneSteps{},
		texts: make([][]int, batch), salts: make([]string, batch),
	}
	all, err := n.Steps(batch, 1, batch, l.caches)
	switch {
	case err != nil:
		return nil, err
	case all == nil:
		return nil, errors.New("a layer, or an edit of one, stores nothing of earlier tokens (it has no Step), " +
			"so texts cannot be continued separately: want a Session")
	}
	for _, piece := range pieces {
		if piece <= n.Context && err == nil {
			_, err = l.of(stepSize{1, piece})
		}
	}
	if err == nil && n.CheckSteps != nil {
		err = n.CheckSteps()
	}
	return l, err
}

// begin replaces the text of a lane by as many of the first tokens of prompt as a lane with its salt already holds, and
// returns their number. It leaves at least one token of the prompt to feed. If another lane holds more of the prompt
// than this one, its keys and values are copied. Layers that store a state instead of keys and values can only continue
// a whole text, and layers that keep the keys of a window can only go back a few tokens; otherwise the lane begins with
// nothing.
func (l *lanes) begin(lane int, salt string, prompt []int) (held int, err error) {
	from := lane
	for other := range l.texts {
		if n := l.common(other, salt, prompt[:len(prompt)-1]); n > held || n == held && other == lane {
			from, held = other, n
		}
	}
	tokens := slices.Clone(l.texts[from][:held])
	l.texts[lane], l.salts[lane] = nil, salt
	if from != lane && held > 0 {
		if err := l.caches.Fork(from, lane); err != nil {
			return 0, err
		}
	}
	if held == 0 || l.caches.Keep(lane, held) != nil {
		return 0, l.caches.Keep(lane, 0)
	}
	l.texts[lane] = tokens
	return held, nil
}

// common returns the number of first tokens that a prompt of a salt shares with the text of a lane.
func (l *lanes) common(lane int, salt string, prompt []int) (n int) {
	text := l.texts[lane]
	for salt == l.salts[lane] && n < min(len(text), len(prompt)) && text[n] == prompt[n] {
		n++
	}
	return n
}

// pieces are the numbers of tokens of a prompt that are fed at once. newLanes builds their programs. Halves keep the
// number of passes over the weights small: a prompt of 63 tokens takes 6.
var pieces = [...]int{decode.Few, 16, 8, 4, 2, 1}

// read appends tokens to the text of a lane without predicting the next one.
func (l *lanes) read(lane int, tokens []int) error {
	return l.shared(func(r graph.Reading) error { return l.append(r, lane, tokens) })
}

func (l *lanes) append(r graph.Reading, lane int, tokens []int) error {
	for len(tokens) > 0 {
		n := pieces[slices.IndexFunc(pieces[:], func(n int) bool { return n <= len(tokens) })]
		s := l.steps[stepSize{1, n}]
		if err := l.run(r, s, s.Hidden, []int{lane}, tokens[:n]); err != nil {
			return err
		}
		tokens = tokens[n:]
	}
	return nil
}

// feed appends tokens[i] to the text of list[i], and returns the logits (len(list), V) of the next tokens. The next
// call overwrites them.
func (l *lanes) feed(list, tokens []int) (logits graph.Tensor, err error) {
	s, err := l.of(stepSize{len(list), 1})
	if err != nil {
		return logits, err
	}
	err = l.shared(func(r graph.Reading) error {
		err := l.run(r, s, s.Logits, list, tokens)
		logits = s.Logits.Value()
		return err
	})
	return logits, err
}

// origin adds to an error of logits that are not finite, of a step of n texts, which layer's result was the first. It
// takes the step a second time. A state refuses that, so the place is not known if it is behind one.
func (l *lanes) origin(err error, n int) error {
	s := l.steps[stepSize{n, 1}]
	if !errors.Is(err, graph.ErrNotFinite) || s == nil {
		return err
	}
	if first := s.Logits.NotFinite(); errors.Is(first, graph.ErrNotFinite) {
		return errors.WithMessagef(first, "%v; first", err)
	}
	return err
}

// shared calls f with the present weights. If they have changed since the texts were fed, these are fed again before.
func (l *lanes) shared(f func(graph.Reading) error) error {
	return l.net.Graph.Shared(func(r graph.Reading) error {
		changes := r.Changes()
		for lane, text := range l.texts {
			if changes == l.changes {
				break
			}
			l.texts[lane] = nil
			if err := cmp.Or(l.caches.Keep(lane, 0), l.append(r, lane, text)); err != nil {
				l.texts = make([][]int, len(l.texts)) // none is valid
				return err
			}
		}
		l.changes = changes
		return f(r)
	})
}

// of returns the program of a size, which the first call builds. It must not be called by shared, which holds the
// weights.
func (l *lanes) of(n stepSize) (*laneSteps, error) {
	if s := l.steps[n]; s != nil {
		return s, nil
	}
	rows := make([]int, n.texts)
	caches, err := l.caches.Select(rows)
	if err != nil {
		return nil, err
	}
	s, err := l.net.Steps(n.texts, n.tokens, n.texts, caches)
	if err != nil {
		return nil, err
	}
	l.steps[n] = &laneSteps{s, rows}
	return l.steps[n], nil
}

// run appends n tokens to the text of each lane of list, which lie one text after the other.
func (l *lanes) run(r graph.Reading, s *laneSteps, program *graph.Program, list, tokens []int) error {
	copy(s.lanes, list)
	copy(s.Tokens.Ints(), tokens)
	for i, lane := range list {
		at := len(l.texts[lane])
		s.At.Ints()[i] = at
		for j := range s.N {
			s.Positions.Ints()[i*s.N+j] = at + j
		}
	}
	if err := r.Run(program); err != nil {
		return err
	}
	for i, lane := range list {
		l.texts[lane] = append(l.texts[lane], tokens[i*s.N:(i+1)*s.N]...)
	}
	return nil
}
