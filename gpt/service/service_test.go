package service

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/decode"
	"github.com/pedestrian-ml/pedestrian/gpt/internal/gpttest"
	"github.com/pedestrian-ml/pedestrian/gpt/search"
	"github.com/pedestrian-ml/pedestrian/graph"
)

// serve returns a running service, which ends with the test.
func serve(t testing.TB, n decode.Network, lanes, queue int) *Service {
	t.Helper()
	s, err := New(n, lanes, queue)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("run: got error %v, want %v", err, context.Canceled)
		}
	})
	return s
}

const vocabulary = 11

// network returns a small network with a context of the given size.
func network(t testing.TB, context int) decode.Network {
	t.Helper()
	c := gpt.Shakespeare()
	c.VocabSize, c.BlockSize, c.NLayer, c.NHead, c.NEmbd = vocabulary, context, 1, 2, 6
	m, err := gpt.New(graph.New(graph.Float64, 1), c, 1)
	if err != nil {
		t.Fatal(err)
	}
	gpttest.Scramble(m.Params(), 1)
	n, err := m.Network(1)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func mustContain(t testing.TB, err error, word string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), word) {
		t.Errorf("got error %v, want %q in it", err, word)
	}
}

func request(seed uint64, tokens int, prompt ...int) Request {
	s := search.NewSampler(seed)
	s.RepetitionPenalty = 1.3
	return Request{Prompt: prompt, Tokens: tokens, Sampler: s}
}

// drawn returns the tokens of a request.
func drawn(t testing.TB, s *Service, r Request) (ids []int) {
	for d, err := range s.Generate(t.Context(), r) {
		if err != nil {
			t.Errorf("prompt %v: %v", r.Prompt, err)
			return ids
		}
		ids = append(ids, d.ID)
	}
	return ids
}

// TestServiceWritesAlone: texts of many clients, which join and leave the batch at any time, are those that a Session
// of one row writes. The prompts differ in length, share beginnings, and are more than the lanes.
func TestServiceWritesAlone(t *testing.T) {
	n := network(t, 60)
	s := serve(t, n, 3, 100)
	var group sync.WaitGroup
	for i := range 24 {
		prompt := []int{1, 2, 3}
		for j := range i % 5 * 10 {
			prompt = append(prompt, (i%7*j+i)%vocabulary)
		}
		group.Go(func() {
			r := request(uint64(i), 3+i%6, prompt...)
			got := drawn(t, s, r)
			one, err := decode.New(n, 1)
			if err != nil {
				t.Error(err)
				return
			}
			var want []int
			again := request(uint64(i), 0)
			for token, err := range one.Generate(
				t.Context(), [][]int{prompt}, r.Tokens, []*search.Sampler{again.Sampler},
			) {
				if err != nil {
					t.Error(err)
				}
				want = append(want, token.ID)
			}
			if !slices.Equal(got, want) {
				t.Errorf("request %d of %d tokens: got %v, want %v", i, len(prompt), got, want)
			}
		})
	}
	group.Wait()
}

// TestServiceOverflows: a text whose logits are not finite ends with an error that names the layer, and the others go
// on as if they were alone, in caches of keys and in states.
func TestServiceOverflows(t *testing.T) {
	const bad = vocabulary - 1
	for _, attention := range []string{"causal", "gated_deltanet"} {
		c := gpt.Shakespeare()
		c.VocabSize, c.BlockSize, c.NLayer, c.NHead, c.NEmbd = vocabulary, 40, 1, 2, 6
		c.Attention, c.Position, c.Head = attention, "none", "linear"
		m, err := gpt.New(graph.New(graph.Float64, 1), c, 1)
		if err != nil {
			t.Fatal(err)
		}
		gpttest.Scramble(m.Params(), 1)
		for _, p := range m.Params() {
			if p.Name() == "wte.weight" {
				p.Tensor().Set(bad*c.NEmbd, math.NaN())
			}
		}
		n, err := m.Network(1)
		if err != nil {
			t.Fatal(err)
		}
		for _, err := range serve(t, n, 2, 0).Generate(t.Context(), request(1, 5, 1, bad)) {
			mustContain(t, err, "; first: wte")
		}
		var got [2][]float64
		for i, tokens := range [][]int{{2}, {2, bad}} {
			l, err := newLanes(n, 2)
			if err != nil {
				t.Fatal(err)
			}
			for lane := range tokens {
				if _, err := l.begin(lane, "", []int{1, 2}); err != nil {
					t.Fatal(err)
				}
				if err := l.read(lane, []int{1}); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := l.feed([]int{0, 1}[:len(tokens)], tokens); err != nil {
				t.Fatal(err)
			}
			if i > 0 {
				mustContain(t, l.origin(graph.ErrNotFinite, 2), "; first: wte")
				l.texts[1] = nil // ended
			}
			z, err := l.feed([]int{0}, []int{3})
			if err != nil {
				t.Fatal(err)
			}
			got[i] = slices.Clone(z.Floats())
		}
		if !slices.Equal(got[0], got[1]) {
			t.Errorf("%s: beside a text that fails: got the logits %v, want %v", attention, got[1], got[0])
		}
	}
}

// TestServiceStarts: a text that begins like an earlier one feeds only the rest of its prompt, in the lane that holds
// most of it, or in another one if that is taken.
func TestServiceStarts(t *testing.T) {
	n := network(t, 60)
	l, err := newLanes(n, 3)
	if err != nil {
		t.Fatal(err)
	}
	prompt := []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 1, 2}
	for _, c := range []struct {
		lane int
		more []int
		want int
		salt string
	}{
		{0, nil, 0, ""}, {0, nil, 11, ""}, {1, []int{5}, 12, ""}, {2, []int{5, 6, 7}, 13, ""}, {1, []int{4}, 12, ""},
		// Texts of another salt begin with nothing, in a lane of theirs or of others, and so do those without one after
		// them.
		{1, nil, 0, "a"}, {2, nil, 11, "a"}, {2, nil, 0, "b"}, {0, nil, 11, "b"}, {0, nil, 11, "a"}, {1, nil, 0, ""},
	} {
		all := append(slices.Clone(prompt), c.more...)
		held, err := l.begin(c.lane, c.salt, all)
		if err != nil || held != c.want {
			t.Fatalf("lane %d, salt %q: got %d tokens held, want %d (%v)", c.lane, c.salt, held, c.want, err)
		}
		if err := l.read(c.lane, all[held:len(all)-1]); err != nil {
			t.Fatal(err)
		}
		logits, err := l.feed([]int{c.lane}, all[len(all)-1:])
		if err != nil {
			t.Fatal(err)
		}
		single, err := decode.New(n, 1)
		if err != nil {
			t.Fatal(err)
		}
		want, err := single.Feed(all)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(logits.Floats(), want.Floats()) {
			t.Errorf("lane %d: got logits %v, want %v", c.lane, logits.Floats(), want.Floats())
		}
	}
}

// A text ends with a stop token, at the end of the context, or when its client leaves, and its lane becomes free. The
// likeliest tokens come in order.
func TestServiceEnds(t *testing.T) {
	n := network(t, 12)
	s := serve(t, n, 1, 1)
	if got := len(drawn(t, s, request(1, 100, 1, 2, 3))); got != 10 {
		t.Errorf("a context of 12 and a prompt of 3: got %d tokens, want 10", got)
	}
	all := drawn(t, s, request(2, 8, 4, 5))
	r := request(2, 8, 4, 5)
	r.Stop = all[3:4]
	if got, want := drawn(t, s, r), all[:slices.Index(all, all[3])]; !slices.Equal(got, want) {
		t.Errorf("stop %v: got %v, want %v", r.Stop, got, want)
	}
	r, got := request(3, 9, 6), 0
	r.Top = 3
	for d, err := range s.Generate(t.Context(), r) {
		if err != nil {
			t.Fatal(err)
		}
		if got++; len(d.Top) != 3 || d.Top[0].LogProb < d.Top[1].LogProb || d.Top[1].LogProb < d.Top[2].LogProb ||
			d.LogProb > d.Top[0].LogProb {
			t.Errorf("got the likeliest tokens %v of %v, want 3 in order", d.Top, d.Choice)
		}
		if got == 2 {
			break // the client leaves
		}
	}
	if got := len(drawn(t, s, request(4, 5, 7))); got != 5 {
		t.Errorf("after a client that left: got %d tokens, want 5", got)
	}
	if got := drawn(t, s, request(5, 0, 7)); got != nil {
		t.Errorf("no tokens: got %v", got)
	}
}

// A service refuses what it cannot continue, and the requests beyond its queue, and ends those that it has when it
// stops.
func TestServiceRefuses(t *testing.T) {
	n := network(t, 12)
	s, err := New(n, 1, 1)
	if err != nil {
		t.Fatal(err)
	}
	var none context.Context
	if err := s.Run(none); err == nil || !strings.Contains(err.Error(), "service: run: context: got nil") {
		t.Errorf("without a context: got error %v", err)
	}
	first := func(r Request, ctx context.Context) (err error) {
		for _, err = range s.Generate(ctx, r) {
			break
		}
		return err
	}
	for word, r := range map[string]Request{
		"got 0 tokens, want 1 to the context of 12": request(1, 5), "got 13 tokens": request(1, 5, make([]int, 13)...),
		"token 1 is 11": request(1, 5, 1, 11), "got -1 to draw": request(1, -1, 1),
		"stop: token 0":                     {Prompt: []int{1}, Stop: []int{-1}},
		"got nil, want one from NewSampler": {Prompt: []int{1}, Tokens: 1},
		"got 12 tokens to report":           {Prompt: []int{1}, Top: 12},
	} {
		mustContain(t, first(r, t.Context()), word)
	}
	mustContain(t, first(request(1, 1, 1), nil), "context: got nil")
	s2 := (*Service)(nil)
	for _, err := range s2.Generate(t.Context(), request(1, 1, 1)) {
		mustContain(t, err, "want one from New")
	}
	mustContain(t, s2.Run(t.Context()), "from New")
	// Nothing runs yet: two requests wait, a third is refused, and all end with the service.
	var group sync.WaitGroup
	for range 2 {
		group.Go(func() {
			if err := first(request(1, 5, 1), context.Background()); !errors.Is(err, ErrStopped) {
				t.Errorf("got error %v, want %v", err, ErrStopped)
			}
		})
	}
	for len(s.places) < 2 {
		time.Sleep(time.Millisecond)
	}
	if err := first(request(1, 5, 1), t.Context()); !errors.Is(err, ErrFull) {
		t.Errorf("the third request: got error %v, want %v", err, ErrFull)
	}
	ctx, stop := context.WithCancel(context.Background())
	stop()
	if err := s.Run(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("run: got error %v, want %v", err, context.Canceled)
	}
	group.Wait()
	mustContain(t, s.Run(t.Context()), "want a new service")
	_, err = New(n, 0, 1)
	mustContain(t, err, "batch of 0")
	_, err = New(n, 1, -1)
	mustContain(t, err, "queue: got -1")
	_, err = New(n, 1, mostQueued+1)
	mustContain(t, err, "queue: got 65537 places, want 0 to 65536")
	if _, err := New(n, 1, mostQueued); err != nil {
		t.Errorf("the largest queue: %v", err)
	}
}

// The prompt of the earliest text is read first, whatever its lane.
func TestServiceEarliest(t *testing.T) {
	reads, writes := &text{unread: []int{1, 2}}, &text{unread: []int{1}}
	for _, c := range []struct {
		active  []*text
		used    []int
		lane    int
		writing bool
	}{
		{[]*text{nil, nil}, []int{1, 2}, -1, false}, {[]*text{writes, nil}, []int{1, 2}, -1, true},
		{[]*text{reads, reads, reads}, []int{2, 3, 1}, 2, false},
		{[]*text{reads, reads, reads}, []int{3, 1, 2}, 1, false},
		{[]*text{reads, writes, reads}, []int{2, 1, 3}, 0, true}, {[]*text{nil, reads}, []int{1, 2}, 1, false},
	} {
		s := &Service{active: c.active, used: c.used}
		if lane, writing := s.earliest(); lane != c.lane || writing != c.writing {
			t.Errorf("last uses %v: got lane %d, writing %t, want %d and %t", c.used, lane, writing, c.lane, c.writing)
		}
	}
}

// The likeliest tokens have the largest logits, the first ones among equals, and the logarithms of their probabilities.
func TestLikeliest(t *testing.T) {
	logits := []float64{1, 3, 2, 3}
	sum := 0.0
	for _, z := range logits {
		sum += math.Exp(z)
	}
	got := likeliest(graph.Tensor{Shape: []int{4}, F64: logits}, 3)
	for i, id := range []int{1, 3, 2} {
		if want := logits[id] - math.Log(sum); len(got) != 3 || got[i].ID != id ||
			math.Abs(got[i].LogProb-want) > 1e-12 {
			t.Fatalf("got %v, want token %d of %v in place %d", got, id, want, i)
		}
	}
}

// TestServiceChecksMemory: a Service asks for the room of full contexts before it builds its lanes.
func TestServiceChecksMemory(t *testing.T) {
	n := network(t, 7)
	n.CheckMemory = func(batch, tokens int) error { return fmt.Errorf("no room for %d texts of %d", batch, tokens) }
	_, err := New(n, 3, 1)
	mustContain(t, err, "service: no room for 3 texts of 7")
}

// A token outside the vocabulary is an error of lanes.
func TestLanesRefuse(t *testing.T) {
	l, err := newLanes(network(t, 5), 2)
	if err != nil {
		t.Fatal(err)
	}
	_, err = l.feed([]int{1}, []int{vocabulary})
	mustContain(t, err, "tokens[0] is 11")
}
