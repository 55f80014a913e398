package main

import (
	"fmt"
	"math"

	"github.com/pedestrian-ml/pedestrian/examples/internal/page"
	"github.com/pedestrian-ml/pedestrian/examples/internal/program"
	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/inspect"
	"github.com/pedestrian-ml/pedestrian/gpt/text"
)

// inside is the page of what a model makes of a text, but for the attention.
func inside(title string, m *gpt.Model, tok text.Tokenizer, ids []int, lens inspect.Lens) (p page.Inside) {
	c := m.Config
	parameters, _ := c.Count()
	p.Title = title
	p.About = fmt.Sprintf("%d blocks of %d heads, width %d, attention %s, position %s, %s parameters.", c.NLayer, c.NHead,
		c.NEmbd, c.Attention, c.Position, program.Thousands(parameters))
	for block := range lens {
		p.Blocks = append(p.Blocks, fmt.Sprintf("h.%d", block))
	}
	for i, id := range ids {
		p.Tokens = append(p.Tokens, shown(tok, id))
		next := -1
		if i+1 < len(ids) {
			next = ids[i+1]
			p.Losses = append(p.Losses, lens.Loss(len(lens)-1, i, next))
		}
		row := make([]page.Guess, len(lens))
		for block := range lens {
			guess := lens.Likeliest(block, i, 1)[0]
			row[block] = page.Guess{Token: shown(tok, guess), P: math.Exp(-lens.Loss(block, i, guess)), Right: guess == next}
		}
		p.Lens = append(p.Lens, row)
	}
	return p
}

// shown is the text of a token; one outside the vocabulary is its id.
func shown(tok text.Tokenizer, id int) string {
	s, err := tok.Decode([]int{id})
	if err != nil {
		return fmt.Sprint(id)
	}
	return s
}
