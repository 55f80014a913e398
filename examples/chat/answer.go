package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/pedestrian-ml/pedestrian/gpt/grammar"
	"github.com/pedestrian-ml/pedestrian/gpt/search"
	"github.com/pedestrian-ml/pedestrian/gpt/service"
	"github.com/pedestrian-ml/pedestrian/gpt/text"
	"github.com/pedestrian-ml/pedestrian/gpt/text/chat"
)

// question is a prompt, and how to continue it.
type question struct {
	prompt []int
	tokens int      // the largest number of tokens of the answer
	stop   []string // texts that end the answer, of which they are no part
	top    int      // the number of likeliest tokens to report with each token
	salt   string   // of service.Request
	echo   string   // text before the answer
	echoed []token  // of that text, if their log-probabilities are asked for

	sampling   sampling
	bias       search.Bias
	grammar    *grammar.Grammar // of the answer; nil for any text
	grammarKey string           // the key that asks for it
	tools      []tool           // that the answer may call
	style      style            // of calls; nil without tools

	sampler *search.Sampler  // of one answer
	matcher *grammar.Matcher // likewise; nil without a grammar
}

// token is a token of an answer, with its text and the place of that in the answer.
type token struct {
	service.Drawn
	text string
	at   int
}

// part is a part of an answer: its text, the tokens that begin in it, and at the end of an answer its calls of tools.
type part struct {
	text   string
	tokens []token
	calls  []chat.Call
}

// The reasons why an answer ends, in OpenAI's words.
const (
	atStop   = "stop"   // a token or a text that ends it
	atLength = "length" // the number of tokens, or the context
	atCalls  = "tool_calls"
)

// answer calls say with the parts of the answer, as they come. It returns the number of tokens that were drawn and the
// reason why the answer ended. It ends early with an error of say.
func (e *engine) answer(ctx context.Context, q question, say func(part) error) (drawn int, finish string, err error) {
	var waiting []token
	at, stopped, tok := 0, false, e.speaks(q.style)
	ids := func(yield func(int, error) bool) {
		r := service.Request{
			Prompt: q.prompt, Tokens: q.tokens, Sampler: q.sampler, Stop: e.ends, Top: q.top, Salt: q.salt,
		}
		for d, err := range e.service.Generate(ctx, r) {
			if err == nil {
				s, _ := tok.Decode([]int{d.ID}) // Stream reports the error
				waiting = append(waiting, token{d, s, at})
				at += len(s)
				drawn++
			}
			if !yield(d.ID, err) {
				stopped = true
				return
			}
		}
	}
	said := 0
	for piece, err := range text.Stream(tok, ids, q.stop...) {
		if err != nil {
			return drawn, "", err
		}
		said += len(piece)
		n := 0
		for n < len(waiting) && waiting[n].at < said {
			n++
		}
		if err := say(part{text: piece, tokens: waiting[:n:n]}); err != nil {
			return drawn, "", err
		}
		waiting = waiting[n:]
	}
	if !stopped && len(waiting) > 0 { // tokens without a text
		if err := say(part{tokens: waiting}); err != nil {
			return drawn, "", err
		}
	}
	if !stopped && drawn == e.room(q) && !q.matcher.Complete() {
		return drawn, atLength, nil
	}
	return drawn, atStop, nil
}

// errTooLong is the error of a prompt that is longer than the context.
type errTooLong struct{ tokens, context int }

// Error returns both numbers.
func (e errTooLong) Error() string {
	return fmt.Sprintf("the prompt has %d tokens, more than the context of %d (block_size)", e.tokens, e.context)
}

// prompt returns the tokens of a conversation. If cut, and if the conversation leaves no room for an answer, it leaves
// out the earliest messages except a system message and the last one, up to the next message of the user.
//
// A template may write a message in view of the others, so a shorter conversation has to be rendered as a whole. prompt
// therefore looks for the longest one that fits from its end: the work grows with the context, and not with the
// messages that are left out.
func (e *engine) prompt(ctx context.Context, messages []chat.Message, tools []tool, tokens int, cut bool) (
	[]int, error) {

	c, err := e.chat()
	if err != nil {
		return nil, err
	}
	var offered []json.RawMessage
	for _, t := range tools {
		offered = append(offered, t.written)
	}
	system, starts := beginnings(messages)
	from := func(start int) (ids []int, roomy bool, err error) {
		if ctx.Err() != nil {
			return nil, false, context.Cause(ctx)
		}
		ids, _, err = c.TokensWithTools(ctx, offered, slices.Concat(messages[:system], messages[starts[start]:])...)
		return ids, len(ids)+min(tokens, e.context/4) <= e.context+1, err
	}
	good, bad := len(starts)-1, -1 // there is room from good on, but not from bad
	if !cut {
		good = 0
	}
	ids, roomy, err := from(good)
	for step := 1; err == nil && roomy && bad+1 < good; {
		next := max(bad+1, good-step)
		if step *= 2; bad >= 0 {
			next = (bad + good) / 2
		}
		var more []int
		switch more, roomy, err = from(next); {
		case err != nil:
		case roomy:
			ids, good = more, next
		default:
			bad, roomy = next, true
		}
	}
	if err != nil {
		return nil, err
	}
	return ids, e.fits(ids)
}

// beginnings returns the number of messages of the system, which stay, and the places at which the rest may begin.
func beginnings(messages []chat.Message) (system int, starts []int) {
	if len(messages) > 1 && messages[0].Role == "system" {
		system = 1
	}
	for i, m := range messages {
		if i == system || i > system && (m.Role == "user" || i == len(messages)-1 && m.Role != "tool") {
			starts = append(starts, i)
		}
	}
	return system, starts
}

// continues returns the tokens of a text to continue. If cut, the beginning of one that is too long is left out.
func (e *engine) continues(ids []int, tokens int, cut bool) ([]int, error) {
	if most := e.context + 1 - min(tokens, e.context/4); cut && len(ids) > most {
		ids = ids[len(ids)-most:]
	}
	return ids, e.fits(ids)
}

func (e *engine) fits(ids []int) error {
	if len(ids) > e.context {
		return errTooLong{len(ids), e.context}
	}
	return nil
}
