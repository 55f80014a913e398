package gpt

import (
	"context"
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/gpt/search"
	"github.com/pedestrian-ml/pedestrian/gpt/text"
)

// A model continues a text like a decoder its tokens. Invalid arguments are an error, which ends the loop.
func TestModelGenerate(t *testing.T) {
	trainer := newTrainer(t, tiny())
	tok := trainer.Tokenizer
	prompt, err := tok.Encode("The river")
	if err != nil {
		t.Fatal(err)
	}
	d, err := NewDecoder(trainer.Model, 1)
	if err != nil {
		t.Fatal(err)
	}
	var ids []int
	for id, err := range generate(t.Context(), d, prompt, 12, search.NewSampler(5)) {
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
	}
	want, _ := tok.Decode(ids)
	got := ""
	for piece, err := range trainer.Model.Generate(t.Context(), tok, "The river", 12, search.NewSampler(5)) {
		if err != nil {
			t.Fatal(err)
		}
		got += piece
	}
	if got != want || got == "" {
		t.Errorf("wrote %q, want %q", got, want)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for _, c := range []struct {
		ctx    context.Context
		m      *Model
		tok    text.Tokenizer
		prompt string
		want   string
	}{
		{t.Context(), trainer.Model, nil, "The", "tokenizer: got nil"},
		{t.Context(), trainer.Model, tok, "\u00fc", "generate: prompt: "},
		{t.Context(), trainer.Model, tok, "", "prompt: got 0 tokens"},
		{t.Context(), nil, tok, "The", "model: got nil"},
		{ended, trainer.Model, tok, "The", "context canceled"},
	} {
		n := 0
		for piece, err := range c.m.Generate(c.ctx, c.tok, c.prompt, 3, search.NewSampler(1)) {
			if n++; err == nil || piece != "" || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%q: got %q and error %v, want %q", c.prompt, piece, err, c.want)
			}
		}
		if n != 1 {
			t.Errorf("%q: yielded %d times, want once", c.prompt, n)
		}
	}
}
