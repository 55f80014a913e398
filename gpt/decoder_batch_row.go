package gpt

import (
	"slices"

	"github.com/pedestrian-ml/pedestrian/gpt/search"
	"github.com/pedestrian-ml/pedestrian/graph"
)

// row is a text of a batch whose prompt is read first and which is then continued.
type row struct {
	prompt  []int // the part that is not fed yet
	left    int   // number of tokens to draw
	sampler *search.Sampler
	text    seen
}

func (r row) open() bool { return r.left > 0 }

// rows begins the texts. It puts as many tokens of each as the shortest prompt has into d.step, to be fed at once.
func (d *BatchDecoder) rows(prompts [][]int, n int, samplers []*search.Sampler) []row {
	in := d.decoding
	in.reset()
	rows, shortest := make([]row, in.batch), in.size
	for b, prompt := range prompts {
		rows[b] = row{prompt[max(0, len(prompt)-in.size):], n, samplers[b], newSeen(in.vocab)}
		rows[b].text.add(prompt...)
		shortest = min(shortest, len(prompt))
	}
	d.step = d.step[:0]
	for i := range shortest {
		for _, r := range rows {
			d.step = append(d.step, r.prompt[i])
		}
	}
	for b := range rows {
		rows[b].prompt = rows[b].prompt[shortest:]
	}
	return rows
}

// next returns the token that the row is fed next: one of the prompt, a drawn one, or any token if the text has ended.
func (r *row) next(logits graph.Tensor, stop []int) (id int, drawn bool, err error) {
	switch {
	case len(r.prompt) > 0:
		id, r.prompt = r.prompt[0], r.prompt[1:]
		return id, false, nil
	case !r.open():
		return 0, false, nil
	}
	if id, err = r.sampler.Draw(logits, r.text.ids...); err != nil {
		return 0, false, err
	}
	if slices.Contains(stop, id) {
		r.left = 0
		return id, false, nil
	}
	r.left--
	r.text.add(id)
	return id, true, nil
}
