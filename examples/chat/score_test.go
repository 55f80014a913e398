package main

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"
)

// echoedReply is what the tests read of a completion with echo and logprobs.
type echoedReply struct {
	Choices []struct {
		Text     string
		Logprobs struct {
			Tokens  []string
			Probs   []*float64           `json:"token_logprobs"`
			Tops    []map[string]float64 `json:"top_logprobs"`
			Offsets []int                `json:"text_offset"`
		}
	}
	Usage struct {
		Completion int `json:"completion_tokens"`
	}
}

// With echo, logprobs has the tokens of the prompt before the answer's tokens: the first without a probability, each
// other one with the probability that it has when it is drawn.
func TestEchoWithLogprobs(t *testing.T) {
	s, url := served(t)
	ids, err := s.tok.Encode("~")
	must(t, err)
	bias, _ := json.Marshal(map[int]float64{ids[0]: 100})
	request := func(body string) (r echoedReply) {
		t.Helper()
		status, got := ask(t, url+"/v1/completions", body)
		if err := json.Unmarshal([]byte(got), &r); status != 200 || err != nil || len(r.Choices) == 0 {
			t.Fatalf("%s: got status %d and %s (%v)", body, status, got, err)
		}
		return r
	}
	drawn := request(`{"prompt":"Hi 7","echo":true,"logprobs":2,"max_tokens":2,"n":2,"logit_bias":` +
		string(bias) + `}`)
	scored := request(`{"prompt":"Hi 7~~","echo":true,"logprobs":2,"max_tokens":0}`)
	a, b := drawn.Choices[1].Logprobs, scored.Choices[0].Logprobs
	if drawn.Choices[0].Text != "Hi 7~~" || scored.Choices[0].Text != "Hi 7~~" || drawn.Usage.Completion != 4 ||
		scored.Usage.Completion != 0 || !slices.Equal(a.Tokens, b.Tokens) || !slices.Equal(a.Offsets, b.Offsets) ||
		strings.Join(b.Tokens, "") != "Hi 7~~" || len(b.Probs) != len(b.Tokens) || len(b.Tops) != len(b.Tokens) {
		t.Fatalf("got %+v and %+v, want the same tokens", drawn, scored)
	}
	if b.Probs[0] != nil || b.Tops[0] != nil {
		t.Errorf("the first token: got %v and %v, want null", b.Probs[0], b.Tops[0])
	}
	for i := 1; i < len(b.Tokens); i++ {
		if x, y := *a.Probs[i], *b.Probs[i]; !(math.Abs(x-y) < 1e-4) || y >= 0 || len(b.Tops[i]) != 2 {
			t.Errorf("token %d, %q: got %v and %v with %v, want the same", i, b.Tokens[i], x, y, b.Tops[i])
		}
	}
	one := request(`{"prompt":"7","echo":true,"logprobs":0,"max_tokens":0}`).Choices[0].Logprobs
	if len(one.Tokens) != 1 || one.Probs[0] != nil {
		t.Errorf("one token: got %+v, want it without a probability", one)
	}
}
