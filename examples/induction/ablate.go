package main

import (
	"fmt"
	"io"

	"github.com/pedestrian-ml/pedestrian/examples/internal/program"
	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/inspect"
)

// head is a head of the trained model, with its scores and the loss on the repetition without it.
type head struct {
	block, head         int
	induction, previous float64
	without             float64
}

// look ablates each head separately.
func (r *result) look() (list []head, err error) {
	last := r.history[len(r.history)-1]
	for i := range last.Induction {
		h := head{block: i / r.NHead, head: i % r.NHead, induction: last.Induction[i], previous: last.Previous[i]}
		if h.without, err = r.without([]head{h}); err != nil {
			return nil, err
		}
		list = append(list, h)
	}
	return list, nil
}

// without returns the loss on the repetition with some heads replaced by 0.
func (r *result) without(heads []head) (float64, error) {
	m := r.model
	for _, h := range heads {
		var err error
		zero := inspect.All(m).Head(h.head).Zero()
		if m, err = inspect.Replace(m, fmt.Sprintf("h.%d.attn.heads", h.block), zero); err != nil {
			return 0, err
		}
	}
	return r.repetition(m)
}

func (r *result) repetition(m *gpt.Model) (float64, error) {
	eyes, err := inspect.Tap(m, "logits")
	if err != nil {
		return 0, err
	}
	s, err := r.see(eyes, 0)
	return s.Second, err
}

// induces reports whether a head attends mostly to the token that followed the same token earlier.
func induces(score float64) bool { return score >= 0.5 }

// split returns the induction heads, and the other heads of their blocks.
func split(list []head) (some, others []head) {
	blocks := map[int]bool{}
	for _, h := range list {
		if induces(h.induction) {
			some, blocks[h.block] = append(some, h), true
		}
	}
	for _, h := range list {
		if !induces(h.induction) && blocks[h.block] {
			others = append(others, h)
		}
	}
	return some, others
}

// table prints the scores of each head, and the losses without heads.
func (r *result) table(w io.Writer, list []head) error {
	last := r.history[len(r.history)-1]
	fmt.Fprintf(w, "\nThe scores of the heads, and the loss on the repetition without each; "+
		"with all heads, %.3f nats\n\n", last.Second)
	fmt.Fprintf(w, "%8s  %9s  %8s  %7s  %7s\n", "head", "induction", "previous", "without", "more")
	for _, h := range list {
		name, more := fmt.Sprintf("h.%d.%d", h.block, h.head), program.Round(h.without-last.Second, 3)
		fmt.Fprintf(w, "%8s  %9.3f  %8.3f  %7.3f  %+7.3f\n", name, h.induction, h.previous, h.without, more)
	}
	some, others := split(list)
	if len(some) == 0 {
		_, err := fmt.Fprintln(w, "\nno head attends mostly to the token that followed the same token")
		return err
	}
	fmt.Fprintln(w)
	for _, part := range []struct {
		name  string
		heads []head
	}{{"induction heads", some}, {"other heads of their blocks", others}} {
		loss, err := r.without(part.heads)
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "without the %s (%d): %.3f nats, %+.3f\n",
			part.name, len(part.heads), loss, program.Round(loss-last.Second, 3))
	}
	return nil
}
