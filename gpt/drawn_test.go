package gpt

import (
	"slices"
	"testing"

	"github.com/pedestrian-ml/pedestrian/gpt/checkpoint"
	"github.com/pedestrian-ml/pedestrian/gpt/search"
	"github.com/pedestrian-ml/pedestrian/gpt/service"
	"github.com/pedestrian-ml/pedestrian/gpt/text"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/graph/stored"
)

// padded is the vocab_size of these models, far above the number of characters of verses.
const padded = 500

// A model with more logits than its tokenizer has tokens draws none of the others, which have most of the probability:
// after its training, once it was saved and opened, packed or averaged, and in a search.
func TestDrawnTokensAreTheTokenizers(t *testing.T) {
	c := tiny()
	c.VocabSize, c.Bias, c.Head, c.EMA, c.MaxIters = padded, true, "linear", 0.5, 1
	tok, err := text.NewCharacters(verses)
	check(t, err)
	corpus, err := text.NewCorpus(verses, tok, c.BlockSize)
	check(t, err)
	trainer, err := NewTrainer(c, corpus, tok)
	check(t, err)
	_, err = trainer.Step()
	check(t, err)
	dir := t.TempDir()
	check(t, trainer.Save(dir))
	opened, _, err := Open(dir)
	check(t, err)
	packed, err := opened.Packed(stored.Int8)
	check(t, err)
	averaged, err := trainer.Averaged()
	check(t, err)
	cp, err := checkpoint.Load(dir, Fits())
	check(t, err)
	defer cp.Close()
	resumed, err := Resume(c, corpus, tok, cp)
	check(t, err)
	for name, m := range map[string]*Model{
		"trained": trainer.Model, "opened": opened, "packed": packed, "averaged": averaged, "resumed": resumed.Model,
	} {
		for piece, err := range m.Generate(t.Context(), tok, "The ", 50, search.NewSampler(3)) {
			if err != nil {
				t.Errorf("%s: after %q: %v", name, piece, err)
			}
		}
		d, err := NewDecoder(m, 3)
		check(t, err)
		prompt, err := tok.Encode("MILLER")
		check(t, err)
		found, err := d.Beam(t.Context(), prompt, 6, nil)
		check(t, err)
		for _, h := range found {
			if _, err := tok.Decode(h.Tokens); err != nil {
				t.Errorf("%s: a beam: %v", name, err)
			}
		}
		check(t, d.Reset())
		z, err := d.Feed(prompt, prompt, prompt)
		check(t, err)
		if !slices.Equal(z.Shape, []int{3, padded}) {
			t.Errorf("%s: Feed: got logits %v, want those of all %d tokens", name, z.Shape, padded)
		}
	}
}

// A service reports the likeliest of the tokens that are drawn, with their probabilities among these, and refuses more.
func TestDrawnTokensOfAService(t *testing.T) {
	c := tiny()
	c.VocabSize, c.DrawnTokens = padded, 7
	m, err := New(graph.New(graph.Float32, 1), c, 1)
	check(t, err)
	n, err := m.Network(2)
	check(t, err)
	s, err := service.New(n, 2, 0)
	check(t, err)
	go s.Run(t.Context())
	r := service.Request{Prompt: []int{400, 1}, Tokens: 6, Sampler: search.NewSampler(1), Top: 7}
	r.Sampler.RepetitionPenalty = 1.5
	drawn := 0
	for d, err := range s.Generate(t.Context(), r) {
		check(t, err)
		drawn++
		others := slices.ContainsFunc(d.Top, func(c service.Choice) bool { return c.ID >= 7 })
		if len(d.Top) != 7 || d.ID >= 7 || others {
			t.Errorf("got %d of %v, want tokens below 7", d.ID, d.Top)
		}
	}
	if drawn != 6 {
		t.Errorf("got %d tokens, want 6", drawn)
	}
	r.Top = 8
	for _, err := range s.Generate(t.Context(), r) {
		mustContain(t, err, "top: got 8 tokens", "7 that are drawn")
	}
	n.Drawn = padded + 1
	_, err = service.New(n, 2, 0)
	mustContain(t, err, "drawn: got 501 tokens", "vocabulary of 500")
}
