package main

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// quietly fails unless the number of goroutines falls to what it was.
func quietly(t *testing.T, before int) {
	t.Helper()
	http.DefaultClient.CloseIdleConnections()
	for end := time.Now().Add(10 * time.Second); runtime.NumGoroutine() > before; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			all := make([]byte, 1<<20)
			t.Fatalf(
				"%d goroutines, want at most %d:\n%s", runtime.NumGoroutine(), before, all[:runtime.Stack(all, true)],
			)
		}
	}
}

// Many requests, some of which are cut off while they are answered, leave no goroutine, no lane and no place in the
// queue behind, and all others are answered.
func TestManyRequests(t *testing.T) {
	s, url := served(t, "-lanes", "4", "-queue", "16", "-block_size", "1024")
	completed(t, url+"/v1/completions", `{"prompt":"Hi"}`)
	http.DefaultClient.CloseIdleConnections()
	time.Sleep(50 * time.Millisecond)
	before := runtime.NumGoroutine()
	requests := 300
	if os.Getenv("NIGHTLY") != "" {
		requests = 10_000
	}
	var next, cut atomic.Int64
	var group sync.WaitGroup
	for range 12 {
		group.Go(func() {
			for i := next.Add(1); i <= int64(requests); i = next.Add(1) {
				ctx, leave := context.WithCancel(context.Background())
				body := fmt.Sprintf(
					`{"messages":[{"role":"user","content":"%d"}],"max_tokens":%d,"stream":%v}`, i%7, 1+i%3, i%2 == 0,
				)
				if i%50 == 0 { // 200 of 10,000
					body = `{"messages":[{"role":"user","content":"Hi"}],"max_tokens":900,"temperature":0,` +
						`"stream":true}`
				}
				r, err := http.NewRequestWithContext(ctx, "POST", url+"/v1/chat/completions", strings.NewReader(body))
				if err != nil {
					t.Error(err)
				}
				answer, err := http.DefaultClient.Do(r)
				if err != nil {
					t.Error(err)
					leave()
					return
				}
				if i%50 == 0 {
					answer.Body.Read(make([]byte, 1))
					leave()
					cut.Add(1)
				}
				io.Copy(io.Discard, answer.Body)
				if answer.Body.Close(); answer.StatusCode != 200 {
					t.Errorf("request %d: got status %d", i, answer.StatusCode)
				}
				leave()
			}
		})
	}
	group.Wait()
	if int(cut.Load()) != requests/50 {
		t.Errorf("%d requests were cut off, want %d", cut.Load(), requests/50)
	}
	quietly(t, before)
	for range 4 + 16 { // all lanes and places are free: none of these is refused
		group.Go(func() {
			if status, got := ask(t, url+"/v1/completions", `{"prompt":"Hi","max_tokens":2}`); status != 200 {
				t.Errorf("got status %d and %s", status, got)
			}
		})
	}
	group.Wait()
	if got := int(s.count.Load()); got < requests {
		t.Errorf("%d answers, want at least %d", got, requests)
	}
}

// fuzzed returns a body that may be valid, with keys and values from those that are, cut, doubled and changed.
func fuzzed(rng *rand.Rand) string {
	keys := []string{"messages", "prompt", "model", "stream", "stop", "seed", "temperature", "top_p", "max_tokens",
		"logprobs", "top_logprobs", "tools", "n",
		"stream_options", "frequency_penalty", "role", "content", "top_k", "response_format",
		"logit_bias", "echo", "tool_choice", "functions", "function_call", "input", "instructions", "text",
		"dimensions", ""}
	values := []string{`[{"role":"user","content":"Hi"}]`, `[{"role":"user"}]`, `"Hi"`, `"<|im_end|>"`, `[1,2]`,
		`[-1]`,
		`null`, `true`, `{}`, `[]`, `0`, `-1`, `1e999`, `3`, `0.5`,
		`9223372036854775808`, `"\ud800"`, `[[[[]]]]`, `{"include_usage":true}`, `{"include_usage":3}`, "\"\xff\"",
		`["a","b"]`, `""`, `{"type":"json_object"}`, `{"5":1}`, `{"format":{"type":"json_object"}}`,
		`{"type":"json_schema","json_schema":{"schema":{"enum":[1]}}}`, `[{"role":"tool","content":"Hi"}]`,
		`[{"type":"function","function":{"name":"f"}}]`, `"required"`}
	var parts []string
	for range rng.IntN(4) {
		parts = append(parts, fmt.Sprintf("%q:%s", keys[rng.IntN(len(keys))], values[rng.IntN(len(values))]))
	}
	parts = append(parts, `"max_tokens":2`, []string{`"prompt":"Hi"`, hi, `"temperature":0`,
		`"input":"Hi"`}[rng.IntN(4)])
	body := []byte("{" + strings.Join(parts, ",") + "}")
	switch rng.IntN(6) {
	case 0:
		body = body[:rng.IntN(len(body)+1)]
	case 1:
		body[rng.IntN(len(body))] = byte(rng.IntN(256))
	case 2:
		body = []byte(strings.Repeat("[", rng.IntN(9000)) + string(body))
	}
	return string(body)
}

// No body makes the server fail: it answers, or refuses with a status of 4xx.
func TestFuzzedBodies(t *testing.T) {
	_, url := served(t, "-template", "testdata/tools.jinja")
	rng, statuses := rand.New(rand.NewPCG(1, 2)), map[int]int{}
	n := 300
	if os.Getenv("NIGHTLY") != "" {
		n = 1000
	}
	for range n {
		body := fuzzed(rng)
		status, got := ask(t, url+[]string{"/v1/chat/completions", "/v1/completions", "/v1/responses",
			"/v1/embeddings"}[rng.IntN(4)], body)
		if statuses[status]++; status != 200 && (status < 400 || status >= 500) {
			t.Errorf("%q: got status %d and %s", body, status, got)
		}
	}
	if statuses[200] < 5 || statuses[400] < 100 {
		t.Errorf("got the statuses %v, want some of 200 and 400", statuses)
	}
}
