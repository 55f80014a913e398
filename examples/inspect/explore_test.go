package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"math"
	"net/http"
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/examples/internal/page"
	"github.com/pedestrian-ml/pedestrian/gpt/inspect"
)

// exploreServer starts the command and returns the address of its page.
func exploreServer(t *testing.T, attention string) string {
	t.Helper()
	dir, data := saved(t, attention)
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	said, in := io.Pipe()
	go func() {
		err := run(ctx, []string{"explore", "-model", dir, "-data", data, "-prompt", "The wheel", "-serve", ":0"}, in,
			io.Discard)
		in.CloseWithError(err)
	}()
	lines := bufio.NewScanner(said)
	lines.Scan()
	_, address, ok := strings.Cut(lines.Text(), " at ")
	if !ok {
		t.Fatalf("got %q, %v", lines.Text(), lines.Err())
	}
	address, _, _ = strings.Cut(address, " ")
	return address
}

// asked sends a question to the server, and reads the answer into v or returns the refusal.
func asked(t *testing.T, url string, q, v any) (refusal string) {
	t.Helper()
	data, err := json.Marshal(q)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.Post(url, "application/json", bytes.NewReader(data))
	if q == nil {
		answer, err = http.Get(url)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	if answer.StatusCode != http.StatusOK {
		return string(body)
	}
	if err := json.Unmarshal(body, v); err != nil {
		t.Fatalf("%v in %.200s", err, body)
	}
	return ""
}

// Removing a part changes the prediction, bringing it back restores it to the bit, and a patch from the same text
// changes nothing.
func TestExplore(t *testing.T) {
	url := exploreServer(t, "causal")
	look := func(q experiment) (c page.Changed) {
		t.Helper()
		if refusal := asked(t, url+"/look", q, &c); refusal != "" {
			t.Fatal(refusal)
		}
		return c
	}
	const text = "The wheel"
	plain := look(experiment{Text: text})
	if plain.Loss != plain.Changed || len(plain.Tokens) != len(text) || len(plain.Next) < 5 || len(plain.Layers) == 0 {
		t.Fatalf("got %+v", plain)
	}
	var sum float64
	for _, n := range plain.Next {
		if n.P != n.Changed || n.Moved != 0 {
			t.Errorf("without a change: got %+v", n)
		}
		sum += n.P
	}
	if sum > 1+1e-6 {
		t.Errorf("the probabilities add up to %v", sum)
	}
	for _, r := range []removedPart{{Block: 0, Head: 1}, {Block: 1, MLP: true}} {
		c := look(experiment{Text: text, Removed: []removedPart{r}})
		if c.Changed == c.Loss || c.Loss != plain.Loss {
			t.Errorf("without %+v: got the losses %v and %v", r, c.Loss, c.Changed)
		}
	}
	same := look(experiment{Text: text, Patch: &patchFrom{Text: text, Block: 0, Token: 4}})
	if math.Abs(same.Changed-plain.Loss) > 1e-6 {
		t.Errorf("a patch from the same text: got the loss %v, want %v", same.Changed, plain.Loss)
	}
	other := look(experiment{Text: text, Patch: &patchFrom{Text: "The water", Block: 0, Token: 5}})
	if other.Changed == plain.Loss {
		t.Error("a patch from another text changes nothing")
	}
	for want, q := range map[string]experiment{
		"block: got 7":         {Text: text, Removed: []removedPart{{Block: 7}}},
		"head: got 9":          {Text: text, Removed: []removedPart{{Head: 9}}},
		"token: got 8":         {Text: text, Patch: &patchFrom{Text: "Then", Token: 8}},
		"no activation":        {Text: text, Patch: &patchFrom{Text: text, Block: 9}},
		"want at most block_s": {Text: strings.Repeat(text, 100)},
	} {
		if refusal := asked(t, url+"/look", q, new(page.Changed)); !strings.Contains(refusal, want) {
			t.Errorf("got %q, want %s", refusal, want)
		}
	}
}

// The places of a neuron are sorted, and lie where the neuron has these values.
func TestNeurons(t *testing.T) {
	url := exploreServer(t, "causal")
	var list []page.Neuron
	if refusal := asked(t, url+"/neurons?block=1&neuron=3", nil, &list); refusal != "" || len(list) != shownPlaces {
		t.Fatalf("got %v, %s", list, refusal)
	}
	for i, n := range list {
		if i > 0 && n.Value > list[i-1].Value || n.Token == "" {
			t.Errorf("place %d: got %+v after %+v", i, n, list[max(i-1, 0)])
		}
	}
	for _, query := range []string{"block=9&neuron=0", "block=0&neuron=9999", "block=x&neuron=0", ""} {
		if refusal := asked(t, url+"/neurons?"+query, nil, &list); !strings.Contains(refusal, "want 0 …") {
			t.Errorf("%s: got %q", query, refusal)
		}
	}
}

// Circuits are sorted by the strongest composition. Attention without heads of its own keys is refused by name.
func TestCircuits(t *testing.T) {
	var list []inspect.Composition
	if refusal := asked(t, exploreServer(t, "causal")+"/circuits", nil, &list); refusal != "" || len(list) == 0 {
		t.Fatalf("got %v, %s", list, refusal)
	}
	for i, c := range list[1:] {
		if before := list[i]; max(c.Query, c.Key, c.Value) > max(before.Query, before.Key, before.Value) {
			t.Errorf("got %+v after %+v", c, before)
		}
	}
}
