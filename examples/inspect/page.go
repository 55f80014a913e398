package main

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/pedestrian-ml/pedestrian/examples/internal/page"
	"github.com/pedestrian-ml/pedestrian/examples/internal/program"
	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/checkpoint"
	"github.com/pedestrian-ml/pedestrian/gpt/inspect"
	"github.com/pedestrian-ml/pedestrian/gpt/text"
)

// inside returns the page of a model on a text, without the attention.
func inside(
	title string, m *gpt.Model, tok text.Tokenizer, ids []int, lens inspect.Lens,
) (p page.Inside, err error) {
	c := m.Config
	parameters, _ := c.Count()
	p.Title = title
	p.About = fmt.Sprintf("%d blocks of %d heads, width %d, attention %s, position %s, %s parameters.",
		c.NLayer, c.NHead, c.NEmbd, c.Attention, c.Position, program.Thousands(parameters))
	if len(ids) > 1 {
		said, err := loss(tok, ids, lens)
		if err != nil {
			return p, err
		}
		p.About += " The loss of the text is " + said + "."
	}
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
			p := math.Exp(-lens.Loss(block, i, guess))
			row[block] = page.Guess{Token: shown(tok, guess), P: p, Right: guess == next}
		}
		p.Lens = append(p.Lens, row)
	}
	return p, nil
}

// sum returns the parts that add up to the logit of each next token, and of the likeliest one after the last token.
func sum(m *gpt.Model, tok text.Tokenizer, ids []int, lens inspect.Lens) (*page.Sum, error) {
	last := lens.Likeliest(len(lens)-1, len(ids)-1, 1)
	of := slices.Concat(ids[1:], last)
	logits, parts, err := inspect.Attribute(m, ids, of)
	if err != nil {
		return nil, err
	}
	s := &page.Sum{Logits: logits}
	for _, id := range of {
		s.Of = append(s.Of, shown(tok, id))
	}
	names := map[string]string{"attn": "bias", "mlp": "MLP"}
	alone := map[string]string{"drop": "embedding", "ln_f": "last norm’s bias", "logits": "logits’ bias"}
	for _, p := range parts {
		block, place, within := cutBlock(p.Place)
		switch {
		case p.Head >= 0:
			s.Add(block, fmt.Sprintf("head %d", p.Head), p.Logit)
		case within:
			s.Add(block, cmp.Or(names[place], place), p.Logit)
		default:
			s.Add(cmp.Or(alone[p.Place], p.Place), "", p.Logit)
		}
	}
	return s, nil
}

// cutBlock splits h.3.mlp into h.3 and mlp.
func cutBlock(place string) (block, rest string, within bool) {
	list := strings.SplitN(place, ".", 3)
	if len(list) < 3 {
		return "", "", false
	}
	return list[0] + "." + list[1], list[2], true
}

// title names a model by its directory, with a slash so that a word such as out is recognized as a directory.
func title(dir string, cp *checkpoint.Checkpoint) string {
	name := "Inside the model in " + strings.TrimRight(dir, "/") + "/"
	if cp.Published {
		return name
	}
	return fmt.Sprintf("%s, step %d", name, cp.Step)
}

// shown returns the text of a token, or its id if it is outside the vocabulary.
func shown(tok text.Tokenizer, id int) string {
	s, err := tok.Decode([]int{id})
	if err != nil {
		return fmt.Sprint(id)
	}
	return s
}
