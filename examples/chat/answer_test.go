package main

import (
	"context"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/gpt/text"
	"github.com/pedestrian-ml/pedestrian/gpt/text/chat"
)

// engineOf returns an engine with a context.
func engineOf(t *testing.T, context string, args ...string) *engine {
	t.Helper()
	o, err := parse(
		append([]string{"-model", made(t), "-template", "chatml", "-block_size", context}, args...), io.Discard,
	)
	must(t, err)
	e, err := o.open(io.Discard)
	must(t, err)
	return e
}

// earliest returns the prompt of a conversation that loses its earliest turns one by one until there is room.
func earliest(t *testing.T, e *engine, messages []chat.Message, tokens int) []int {
	t.Helper()
	c, err := e.chat()
	must(t, err)
	for {
		ids, _, err := c.Tokens(t.Context(), messages...)
		must(t, err)
		first := 0
		if messages[0].Role == "system" {
			first = 1
		}
		if len(ids)+min(tokens, e.context/4) <= e.context+1 || first >= len(messages)-1 {
			return ids
		}
		next := first + 1
		for next < len(messages)-1 && messages[next].Role != "user" {
			next++
		}
		messages = slices.Concat(messages[:first], messages[next:])
	}
}

// The prompt of a conversation that is cut is the longest one that leaves room for the answer, for conversations of any
// length and order.
func TestCutIsLongest(t *testing.T) {
	e, rng := engineOf(t, "100"), rand.New(rand.NewPCG(1, 2))
	c, err := e.chat()
	must(t, err)
	cut := 0
	for range 60 {
		var messages []chat.Message
		if rng.IntN(2) == 0 {
			messages = append(messages, chat.Message{Role: "system", Content: "Be brief."})
		}
		for range 1 + rng.IntN(30) {
			role := []string{"user", "assistant"}[rng.IntN(2)]
			messages = append(messages, chat.Message{Role: role, Content: strings.Repeat("a b ", rng.IntN(5))})
		}
		want := earliest(t, e, messages, 10)
		got, err := e.prompt(t.Context(), messages, nil, 10, true)
		if all, _, _ := c.Tokens(t.Context(), messages...); len(all) > len(want) {
			cut++
		}
		if long := len(want) > e.context; long != (err != nil) || !long && !slices.Equal(got, want) {
			t.Errorf("%d messages: got %d tokens, %v, want %d", len(messages), len(got), err, len(want))
		}
	}
	if cut < 20 {
		t.Errorf("%d conversations were cut, want 20 or more", cut)
	}
}

// counted is a tokenizer that counts the bytes that it encodes, and calls at each time.
type counted struct {
	text.Tokenizer
	bytes int
	call  func()
}

func (c *counted) Encode(s string) ([]int, error) {
	c.bytes += len(s)
	c.call()
	return c.Tokenizer.Encode(s)
}

// The work on a conversation that is cut does not grow with the messages that are left out, and ends when the client
// leaves.
func TestCutWork(t *testing.T) {
	e := engineOf(t, "200")
	c := &counted{Tokenizer: e.tok, call: func() {}}
	e.tok = c
	work := map[int]int{}
	for _, turns := range []int{200, 2000} {
		messages := slices.Repeat(
			[]chat.Message{{Role: "user", Content: "Hi"}, {Role: "assistant", Content: "Hi"}}, turns,
		)
		c.bytes = 0
		_, err := e.prompt(t.Context(), append(messages, chat.Message{Role: "user", Content: "Hi"}), nil, 10, true)
		must(t, err)
		work[turns] = c.bytes
	}
	if work[200] != work[2000] || work[200] > 20*e.context*10 {
		t.Errorf("got %d bytes encoded of 200 turns and %d of 2,000, want the same few", work[200], work[2000])
	}
	ctx, leave := context.WithCancelCause(t.Context())
	c.bytes, c.call = 0, func() { leave(errLeft) }
	messages := slices.Repeat([]chat.Message{{Role: "user", Content: "Hi"}}, 100)
	if _, err := e.prompt(ctx, messages, nil, 10, true); err != errLeft || c.bytes > 200 {
		t.Errorf("after the client has left: got error %v and %d bytes encoded, want %v", err, c.bytes, errLeft)
	}
}
