package session

import (
	"strings"

	"github.com/pedestrian-ml/pedestrian/gpt/search"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pkg/errors"
)

// Look describes a model after a step: its matrices, its samples, and what its attention does with one of them.
type Look struct {
	Step     int      `json:"step"`
	Matrices []Matrix `json:"matrices"`
	Samples  []Sample `json:"samples"`
	Right    int      `json:"right"`  // answers
	Tokens   []string `json:"tokens"` // of the text for which Heads are
	Heads    []Head   `json:"heads"`
}

// Sample is a text that the model has continued.
type Sample struct {
	Ask    string `json:"ask"`
	Says   string `json:"says"`
	Answer string `json:"answer"` // the right one, if there is one
}

// Head holds the weights of a head of attention, (T, T), or the norm of the state of a recurrence after each of T
// tokens, (1, T).
type Head struct {
	Matrix
	Recurrent bool `json:"recurrent"`
}

// asked is the number of questions of a Look, and written the number of characters of a continued text.
const asked, written = 8, 60

// look samples, and reads the weights.
func (r *run) look() (l Look, err error) {
	l.Step = r.Done
	for _, p := range r.Model.Params() {
		l.Matrices = append(l.Matrices, matrix(p.Name(), p.Tensor()))
	}
	if r.data.questions == nil {
		s := search.NewSampler(1)
		s.Temperature = 0.8
		says, err := r.continued(r.data.prompt, written, s)
		if err != nil {
			return l, err
		}
		l.Samples = append(l.Samples, Sample{Ask: r.data.prompt, Says: says})
		return l, r.attend(&l, r.data.prompt+says)
	}
	greedy := search.NewSampler(1)
	greedy.Temperature = 0
	for _, q := range r.data.questions[:asked] {
		says, err := r.continued(q.ask, len(q.answer), greedy)
		if err != nil {
			return l, err
		}
		if says == q.answer {
			l.Right++
		}
		l.Samples = append(l.Samples, Sample{q.ask, says, q.answer})
	}
	q := r.data.questions[0]
	return l, r.attend(&l, q.ask+q.answer)
}

// continued returns n characters after a prompt. The model sees the last block of them.
func (r *run) continued(prompt string, n int, s *search.Sampler) (string, error) {
	ids, err := r.data.tok.Encode(prompt)
	if err != nil {
		return "", err
	}
	first := len(ids)
	for range n {
		seen := ids[max(0, len(ids)-r.Config().BlockSize):]
		a, err := r.probe.Run(seen)
		if err != nil {
			return "", err
		}
		logits, err := a.At("logits")
		if err != nil {
			return "", err
		}
		next, err := s.Draw(logits.Row(len(seen) - 1))
		if err != nil {
			return "", err
		}
		ids = append(ids, next)
	}
	return r.data.tok.Decode(ids[first:])
}

// attend fills in what the heads do with the first block of a text.
func (r *run) attend(l *Look, text string) error {
	ids, err := r.data.tok.Encode(text)
	if err != nil {
		return err
	}
	ids = ids[:min(len(ids), r.Config().BlockSize)]
	for _, id := range ids {
		token, err := r.data.tok.Decode([]int{id})
		if err != nil {
			return err
		}
		l.Tokens = append(l.Tokens, shown(token))
	}
	a, err := r.probe.Run(ids)
	if err != nil {
		return err
	}
	for name, x := range a.All() {
		switch {
		case strings.HasSuffix(name, ".weights"), strings.HasSuffix(name, ".scores"):
			list, err := weights(name, x, len(ids))
			if err != nil {
				return err
			}
			l.Heads = append(l.Heads, list...)
		case strings.HasSuffix(name, ".state_norm"):
			l.Heads = append(l.Heads, states(name, x, len(ids))...)
		}
	}
	return nil
}

// weights returns the heads of (1, H, T, T), cut to n tokens. The scores of linear attention are divided by their sum
// over the tokens so far, which makes them weights.
func weights(name string, x graph.Tensor, n int) (list []Head, err error) {
	shape := x.Shape
	if len(shape) != 4 || shape[0] != 1 || shape[2] < n || shape[3] < n {
		return nil, errors.Errorf("%s: got shape %v, want (1, H, T, T) with T ≥ %d", name, shape, n)
	}
	values := x.Floats()
	for h := range shape[1] {
		block, scores := strings.CutSuffix(strings.TrimSuffix(name, ".attn.weights"), ".attn.scores")
		m := Matrix{Name: block, Rows: n, Cols: n}
		for i := range n {
			row, sum := values[(h*shape[2]+i)*shape[3]:][:n], 1.0
			if scores {
				clear(row[i+1:])
				sum = 0
				for _, w := range row {
					sum += w
				}
			}
			for _, w := range row {
				m.Values = append(m.Values, rounded(w/sum))
			}
		}
		list = append(list, Head{Matrix: m})
	}
	return list, nil
}

// states returns the heads of (T, H), cut to n tokens.
func states(name string, x graph.Tensor, n int) (list []Head) {
	heads := x.Row(0).Len()
	for h := range heads {
		m := Matrix{Name: strings.TrimSuffix(name, ".attn.state_norm"), Rows: 1, Cols: n}
		for i := range n {
			m.Values = append(m.Values, rounded(x.At(i*heads+h)))
		}
		list = append(list, Head{m, true})
	}
	return list
}
