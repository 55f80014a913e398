package decode

import (
	"context"
	"iter"
	"slices"

	"github.com/pedestrian-ml/pedestrian/gpt/search"
	"github.com/pkg/errors"
)

// Token is the next token ID of text Row.
type Token struct{ Row, ID int }

// Generate begins a text with each prompt, one for every row, and yields at most n further tokens of each, as its
// sampler draws them. A text ends before the first stop token, which is not yielded, or when a Rule of its sampler
// ends it. Prompts may differ in length: all rows advance together, so shorter texts are already continued while
// longer prompts are still read. Every text is identical to the bit to the one that a Session of one row generates
// with the same prompt and a sampler of the same seed, except with linear and Taylor attention, and with a tied head
// in float32, which add up one token and several in another order. If a prompt is longer than the context, only its
// last tokens count.
//
// Generate first discards the texts so far. The loop ends with the last text, or with an error, for example when ctx
// ends. Until then the Session is in use.
func (s *Session) Generate(
	ctx context.Context, prompts [][]int, n int, samplers []*search.Sampler, stop ...int,
) iter.Seq2[Token, error] {
	return s.generate(ctx, prompts, n, samplers, stop, s.restart)
}

// Continue is like Generate, but appends the tokens, which may be empty, to the texts so far, including the tokens
// drawn last: the next turn of a conversation, or more of the same text. Texts that ended at different tokens are an
// error, because the shorter ones have been filled up. Tokens that fill the context replace all earlier ones only if
// the tokens of every text do.
func (s *Session) Continue(
	ctx context.Context, tokens [][]int, n int, samplers []*search.Sampler, stop ...int,
) iter.Seq2[Token, error] {
	return s.generate(ctx, tokens, n, samplers, stop, s.resume)
}

// restart discards the texts, for those that begin with the prompts. An error leaves them unchanged.
func (s *Session) restart(prompts [][]int) error {
	for b, prompt := range prompts {
		if err := s.checkPrompt(prompt); err != nil {
			return s.inRow(b, err)
		}
	}
	s.reset()
	return nil
}

// resume returns an error unless the texts can be continued with the tokens.
func (s *Session) resume(tokens [][]int) error {
	if s.uneven {
		return errUneven
	}
	for b, list := range tokens {
		check := s.check
		if len(s.rows[b].waiting) == 0 {
			check = s.checkPrompt
		}
		if err := check(list); err != nil {
			return s.inRow(b, err)
		}
	}
	return nil
}

// generate lets start prepare the session, and then yields the tokens that the texts continue with.
func (s *Session) generate(
	ctx context.Context, texts [][]int, n int, samplers []*search.Sampler, stop []int, start func(texts [][]int) error,
) iter.Seq2[Token, error] {
	return func(yield func(Token, error) bool) {
		if err := s.begin(); err != nil {
			yield(Token{}, err)
			return
		}
		defer s.busy.Unlock()
		err := s.checkTexts(ctx, texts, n, samplers, stop)
		if err == nil {
			err = start(texts)
		}
		if err != nil {
			yield(Token{}, errors.Wrap(err, "generate"))
			return
		}
		for b, tokens := range texts {
			s.rows[b].wait(tokens, s.context.size)
			s.rows[b].left = n
		}
		for more := true; more && slices.ContainsFunc(s.rows, row.open); {
			more = s.draw(ctx, samplers, stop, yield)
		}
	}
}

// draw feeds the tokens that wait, and draws the next token of every text whose prompt has been read. It reports
// whether to go on.
func (s *Session) draw(
	ctx context.Context, samplers []*search.Sampler, stop []int, yield func(Token, error) bool,
) (more bool) {
	if err := ctx.Err(); err != nil {
		yield(Token{}, errors.Wrap(err, "generate"))
		return false
	}
	logits, err := s.feed()
	if err != nil {
		yield(Token{}, err)
		return false
	}
	for b := range s.rows {
		r := &s.rows[b]
		if !r.open() || len(r.waiting) > 0 {
			continue
		}
		id, err := samplers[b].Draw(search.First(logits.Row(b), s.context.choices), r.seen.IDs()...)
		if errors.Is(err, search.ErrEnd) {
			r.left = 0
			continue
		}
		if err != nil {
			yield(Token{Row: b}, errors.Wrap(s.inRow(b, s.context.origin(err)), "generate"))
			return false
		}
		r.waiting = append(r.waiting, id)
		if slices.Contains(stop, id) {
			r.left = 0
			continue
		}
		r.left--
		if !yield(Token{b, id}, nil) {
			return false
		}
	}
	return true
}
