package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pedestrian-ml/pedestrian/examples/internal/serve"
	"github.com/pedestrian-ml/pedestrian/gpt/text"
)

// served returns a server with flags, and its address, until the test ends.
func served(t testing.TB, args ...string) (*server, string) {
	t.Helper()
	s, url := waiting(t, args...)
	t.Cleanup(s.start())
	return s, url
}

// waiting is served, but no answer is written before s.start is called.
func waiting(t testing.TB, args ...string) (*server, string) {
	t.Helper()
	args = append([]string{
		"-model", made(t), "-template", "chatml", "-serve", ":0", "-tokens", "6", "-seed", "3", "-block_size", "200",
	}, args...)
	o, err := parse(args, io.Discard)
	must(t, err)
	e, err := o.open(io.Discard)
	must(t, err)
	s := newServer(e, o, t.Output())
	s.patience = time.Second
	h := httptest.NewUnstartedServer(nil)
	h.Config = s.http("127.0.0.1")
	h.Listener = serve.Limit(h.Listener, serve.Connections())
	h.Start()
	t.Cleanup(h.Close)
	return s, h.URL
}

// ask sends a request and returns the status and the body of the answer.
func ask(t testing.TB, url, body string, headers ...string) (int, string) {
	t.Helper()
	r, err := http.NewRequest("POST", url, strings.NewReader(body))
	must(t, err)
	for i := 0; i < len(headers); i += 2 {
		if r.Header.Set(headers[i], headers[i+1]); headers[i] == "Host" {
			r.Host = headers[i+1]
		}
	}
	answer, err := http.DefaultClient.Do(r)
	must(t, err)
	defer answer.Body.Close()
	data, err := io.ReadAll(answer.Body)
	must(t, err)
	return answer.StatusCode, string(data)
}

// completion has the keys of answers that the tests read.
type completion struct {
	Object  string
	Model   string
	Choices []struct {
		Message      struct{ Role, Content string }
		Delta        struct{ Role, Content string }
		Text         string
		FinishReason string `json:"finish_reason"`
		Logprobs     *struct {
			Content []struct {
				Token   string
				Logprob float64
				Top     []struct{ Logprob float64 } `json:"top_logprobs"`
			}
			Tokens []string
			Offset []int `json:"text_offset"`
		}
	}
	Usage *struct {
		Prompt     int `json:"prompt_tokens"`
		Completion int `json:"completion_tokens"`
		Total      int `json:"total_tokens"`
	}
}

// completed returns an answer.
func completed(t testing.TB, url, body string) (c completion) {
	t.Helper()
	status, data := ask(t, url, body)
	if err := json.Unmarshal([]byte(data), &c); err != nil || status != 200 {
		t.Fatalf("%s: got status %d and %s (%v)", body, status, data, err)
	}
	return c
}

// streamed returns the chunks of an answer.
func streamed(t testing.TB, url, body string) (list []completion) {
	t.Helper()
	status, data := ask(t, url, body)
	rest, whole := strings.CutSuffix(data, "data: [DONE]\n\n")
	if status != 200 || !whole {
		t.Fatalf("%s: got status %d and %s, want a stream to its end", body, status, data)
	}
	for event := range strings.SplitSeq(strings.TrimSuffix(rest, "\n\n"), "\n\n") {
		var c completion
		must(t, json.Unmarshal([]byte(strings.TrimPrefix(event, "data: ")), &c))
		list = append(list, c)
	}
	return list
}

const hi = `"messages":[{"role":"user","content":"Hi"}]`

// A chat and a text are the same in one piece and as a stream. The seed, the penalties and a stop text count.
func TestCompletions(t *testing.T) {
	s, url := served(t)
	for _, place := range []string{"/v1/chat/completions", "/v1/completions"} {
		chat, prompt := strings.Contains(place, "chat"), hi
		if !chat {
			prompt = `"prompt":"Hi"`
		}
		text := func(c completion) string { return c.Choices[0].Message.Content + c.Choices[0].Text }
		whole := completed(t, url+place, `{`+prompt+`,"model":"`+s.name+`","tools":[],"n":1,"user":"x","stop":null}`)
		if u := whole.Usage; u.Completion != 6 || u.Total != u.Prompt+6 || whole.Choices[0].FinishReason != "length" {
			t.Errorf("%s: got %+v of 6 tokens", place, whole)
		}
		pieces, all := streamed(t, url+place, `{`+prompt+`,"stream":true,"stream_options":{"include_usage":true}}`), ""
		for _, p := range pieces[:len(pieces)-1] {
			all += p.Choices[0].Delta.Content + p.Choices[0].Text
		}
		last := pieces[len(pieces)-1]
		if all != text(whole) || last.Usage == nil || *last.Usage != *whole.Usage ||
			pieces[len(pieces)-2].Choices[0].FinishReason != "length" {
			t.Errorf("%s: got the stream %+v, want %q and %+v", place, pieces, text(whole), whole.Usage)
		}
		if chat && (pieces[0].Choices[0].Delta.Role != "assistant" || whole.Choices[0].Message.Role != "assistant") {
			t.Errorf("got roles of %+v and %+v", pieces[0], whole)
		}
		other := completed(t, url+place, `{`+prompt+`,"seed":-1}`)
		if text(other) == text(whole) || text(completed(t, url+place, `{`+prompt+`,"seed":3}`)) != text(whole) {
			t.Errorf("%s: a seed does not decide what is written: %q, %q", place, text(other), text(whole))
		}
		for _, more := range []string{`"temperature":0`, `"top_k":1`, `"min_p":1`, `"top_p":0.001`} {
			if text(completed(t, url+place, `{`+prompt+`,`+more+`}`)) == text(whole) {
				t.Errorf("%s: %s changes nothing", place, more)
			}
		}
		greedy := text(completed(t, url+place, `{`+prompt+`,"temperature":0,"max_tokens":20}`))
		for _, more := range []string{`"frequency_penalty":2`, `"presence_penalty":2`, `"repetition_penalty":3`} {
			if text(completed(t, url+place, `{`+prompt+`,"temperature":0,"max_tokens":20,`+more+`}`)) == greedy {
				t.Errorf("%s: %s changes nothing of %q", place, more, greedy)
			}
		}
		probs := completed(
			t, url+place,
			`{`+prompt+`,"logprobs":`+map[bool]string{true: `true,"top_logprobs":3`, false: "3"}[chat]+`}`,
		)
		if l := probs.Choices[0].Logprobs; l == nil || len(l.Content)+len(l.Tokens) != 6 ||
			text(probs) != text(whole) ||
			chat && (len(l.Content[0].Top) != 3 || !(l.Content[0].Logprob <= l.Content[0].Top[0].Logprob)) || !chat &&
			(len(l.Offset) != 6 || l.Offset[0] != 0) {
			t.Errorf("%s: got log-probabilities %+v", place, l)
		}
		letters := []rune(text(whole))
		stop, _ := json.Marshal([]string{"never", string(letters[2:4])})
		stopped := completed(t, url+place, `{`+prompt+`,"stop":`+string(stop)+`}`)
		if before, _, _ := strings.Cut(text(whole), string(letters[2:4])); text(stopped) != before ||
			stopped.Choices[0].FinishReason != "stop" {
			t.Errorf("%s: stop %s: got %+v, want %q", place, stop, stopped, before)
		}
	}
	parts := `"messages":[{"role":"user","content":[{"type":"text","text":"H"},{"type":"text","text":"i"}],"name":null}]`
	if a, b := completed(t, url+"/v1/chat/completions", `{`+parts+`}`), completed(t, url+"/v1/chat/completions", `{`+hi+
		`}`); a.Choices[0].Message != b.Choices[0].Message {
		t.Errorf("a message in parts: got %+v, want %+v", a, b)
	}
	ids, err := s.tok.Encode("Hi")
	must(t, err)
	tokens, _ := json.Marshal(ids)
	if a, b := completed(t, url+"/v1/completions", `{"prompt":`+string(tokens)+`}`), completed(t, url+
		"/v1/completions", `{"prompt":["Hi"]}`); a.Choices[0].Text != b.Choices[0].Text {
		t.Errorf("a prompt of tokens: got %+v, want %+v", a, b)
	}
}

// What cannot be done is refused in OpenAI's form, with the key and a reason.
func TestFailures(t *testing.T) {
	s, url := served(t, "-block_size", "60", "-body", "2000")
	long := strings.Repeat("word ", 99)
	for _, c := range []struct {
		place, body   string
		status        int
		param, reason string
	}{
		{"chat", `{` + hi + `,"tools":[{"type":"function"}]}`, 400, "tools[0].function.name", "got \"\""},
		{"chat", `{` + hi + `,"tools":[{"type":"function","function":{"name":"f"}}]}`, 400, "tools", "writes no tools"},
		{"chat", `{` + hi + `,"tools":3}`, 400, "tools", "want a list"},
		{"text", `{"prompt":"a","tools":[{}]}`, 400, "tools", "this server can only do without it"},
		{"chat", `{` + hi + `,"tool_choice":"required"}`, 400, "tool_choice", "got required without tools"},
		{"chat", `{` + hi + `,"tool_choice":"never"}`, 400, "tool_choice", "want none, auto or required"},
		{"chat", `{` + hi + `,"tool_choice":{"type":"function","function":{"name":"f"}}}`, 400, "tool_choice",
			"none of the tools"},
		{"chat", `{` + hi + `,"n":0}`, 400, "n", "want 1 to 72"},
		{"chat", `{` + hi + `,"n":73}`, 400, "n", "want 1 to 72"},
		{"chat", `{` + hi + `,"echo":true}`, 400, "echo", "without it"},
		{"chat", `{` + hi + `,"response_format":{"type":"xml"}}`, 400, "response_format", "got the type"},
		{"chat", `{` + hi + `,"logit_bias":{"512":1}}`, 400, "logit_bias", "the token 512"},
		{"chat", `{` + hi + `,"logit_bias":{"5":101}}`, 400, "logit_bias", "got 101"},
		{"chat", `{` + hi + `,"logit_bias":{"a":1}}`, 400, "logit_bias", "not of its type"},
		{"chat", `{` + hi + `,"options":{"temperature":0}}`, 400, "options", "without it"},
		{"chat", `{` + hi + `,"cache_salt":""}`, 400, "cache_salt", "want a secret"},
		{"chat", `{` + hi + `,"cache_salt":3}`, 400, "cache_salt", "not of its type"},
		{"chat", `{` + hi + `,"Temperature":1}`, 400, "Temperature", "no such key"},
		{"chat", `{` + hi + `,"prompt":"x"}`, 400, "prompt", "no such key"},
		{"chat", `{` + hi + `,"temperature":-1}`, 400, "", "temperature: got -1"},
		{"chat", `{` + hi + `,"temperature":"1"}`, 400, "temperature", "not of its type"},
		{"chat", `{` + hi + `,"top_p":2}`, 400, "", "top_p: got 2"},
		{"chat", `{` + hi + `,"frequency_penalty":2.5}`, 400, "frequency_penalty", "want -2 to 2"},
		{"chat", `{` + hi + `,"presence_penalty":-3}`, 400, "presence_penalty", "want -2 to 2"},
		{"chat", `{` + hi + `,"max_tokens":0}`, 400, "max_tokens", "got 0, want 1"},
		{"chat", `{` + hi + `,"max_completion_tokens":-1}`, 400, "max_tokens", "got -1"},
		{"chat", `{` + hi + `,"top_logprobs":1}`, 400, "top_logprobs", "without logprobs"},
		{"chat", `{` + hi + `,"logprobs":true,"top_logprobs":21}`, 400, "top_logprobs", "want 0 to 20"},
		{"chat", `{` + hi + `,"stop":["a","b","c","d","e"]}`, 400, "stop", "at most 4"},
		{"chat", `{` + hi + `,"stop":""}`, 400, "stop", "none of them empty"},
		{"chat", `{` + hi + `,"stop":3}`, 400, "stop", "got 3"},
		{"chat", `{` + hi + `,"model":"gpt-4"}`, 404, "model", "this server has"},
		{"chat", `{"messages":[]}`, 400, "messages", "want 1 or more"},
		{"chat", `{}`, 400, "messages", "want 1 or more"},
		{"chat", `[]`, 400, "", "not an object of JSON"},
		{"chat", `null`, 400, "", "not an object of JSON"},
		{"chat", `{`, 400, "", "not an object of JSON"},
		{
			"chat", `{"messages":[{"role":"robot","content":"x"}]}`, 400, "",
			"want system, user or assistant",
		},
		{
			"chat", `{"messages":[{"role":"user","tool_call_id":"1","content":"x"}]}`, 400, "messages[0].tool_call_id",
			"no such key",
		},
		{"chat", `{"messages":[{"role":3,"content":"x"}]}`, 400, "messages[0].role", "want a text"},
		{"chat", `{"messages":{}}`, 400, "messages", "want a list"},
		{"chat", `{"messages":[3]}`, 400, "messages[0]", "want an object"},
		{
			"chat", `{"messages":[{"role":"user","content":[{"type":"image_url"}]}]}`, 400, "messages[0].content",
			"of type \"image_url\"",
		},
		{"chat", `{"messages":[{"role":"user","content":3}]}`, 400, "messages[0].content", "got 3"},
		{"chat", `{"messages":[{"role":"assistant","tool_calls":[{}]}]}`, 400, "messages[0].tool_calls[0].arguments",
			"want an object of JSON as a text"},
		{"chat", `{"messages":[{"role":"user","content":"` + long +
			`"}]}`, 400, "messages", "more than the context of 60"},
		{"chat", `{"messages":[{"role":"user","content":"` + strings.Repeat(long, 9) +
			`"}]}`, 413, "", "more than 2000 bytes"},
		{"text", `{"prompt":"` + long + `"}`, 400, "prompt", "more than the context of 60"},
		{"text", `{"prompt":""}`, 400, "prompt", "empty"},
		{"text", `{"prompt":["a","b"]}`, 400, "prompt", "got 2 texts"},
		{"text", `{"prompt":[0,512]}`, 400, "prompt", "512"},
		{"text", `{"prompt":{}}`, 400, "prompt", "want a text or a list of tokens"},
		{"text", `{"prompt":"a","logprobs":6}`, 400, "logprobs", "want 0 to 5"},
		{"text", `{"prompt":"a","messages":[]}`, 400, "messages", "no such key"},
		{"text", `{}`, 400, "prompt", "got none"},
	} {
		status, got := ask(
			t, url+map[string]string{"chat": "/v1/chat/completions", "text": "/v1/completions"}[c.place], c.body,
		)
		var f struct {
			Error struct{ Message, Type, Param, Code string }
		}
		if err := json.Unmarshal([]byte(got), &f); err != nil || status != c.status || f.Error.Param != c.param ||
			!strings.Contains(f.Error.Message, c.reason) || f.Error.Type == "" {
			t.Errorf(
				"%.200s: got status %d and %.400s, want %d, %q and %q", c.body, status, got, c.status, c.param,
				c.reason,
			)
		}
	}
	for _, c := range [][]string{
		{"Host", "evil.example"}, {"Origin", "http://evil.example"}, {"Sec-Fetch-Site", "cross-site"},
	} {
		if status, got := ask(t, url+"/v1/completions", `{"prompt":"a"}`, c...); status != 403 ||
			!strings.Contains(got, "foreign_request") {
			t.Errorf("%q: got status %d and %s, want 403", c, status, got)
		}
	}
	if status, got := ask(t, url+"/v1/audio/speech", `{}`); status != 404 || !strings.Contains(got, "unknown_url") {
		t.Errorf("speech: got status %d and %s", status, got)
	}
	for place, want := range map[string]string{"/v1/models": `"data":[{`, "/v1/models/" + s.name: `"id":"` +
		s.name, "/v1/models/x": "model_not_found", "/": "<h1>" + s.name} {
		answer, err := http.Get(url + place)
		must(t, err)
		data, _ := io.ReadAll(answer.Body)
		answer.Body.Close()
		if !strings.Contains(string(data), want) {
			t.Errorf("%s: got %.200s, want %q in it", place, data, want)
		}
	}
}

// With a key, requests without it are refused, and a conversation that is too long is cut.
func TestKeyAndCut(t *testing.T) {
	_, url := served(t, "-key", "secret", "-cut", "-block_size", "60")
	body := `{"messages":[{"role":"system","content":"Be."}` + strings.Repeat(
		`,{"role":"user","content":"Hi"},{"role":"assistant","content":"Hi"}`, 9,
	) +
		`,{"role":"user","content":"Hi"}]}`
	for status, headers := range map[int][]string{
		200: {"Authorization", "Bearer secret"}, 401: {"Authorization", "Bearer secre"},
	} {
		if got, answer := ask(t, url+"/v1/chat/completions", body, headers...); got != status {
			t.Errorf("%q: got status %d and %s, want %d", headers, got, answer, status)
		}
	}
	if got, answer := ask(t, url+"/v1/completions", `{"prompt":"`+strings.Repeat("word ", 99)+
		`"}`, "Authorization", "Bearer secret"); got != 200 {
		t.Errorf("a long text with -cut: got status %d and %s", got, answer)
	}
}

// A request beyond the lanes and the queue gets status 429. A client that leaves frees its lane. While the server
// stops, requests get status 503.
func TestQueue(t *testing.T) {
	s, url := waiting(t, "-lanes", "1", "-queue", "1")
	const one = `{"prompt":"Hi","max_tokens":1}`
	ctx, leave := context.WithCancel(t.Context())
	var group sync.WaitGroup
	for range 2 {
		group.Go(func() {
			r, err := http.NewRequestWithContext(ctx, "POST", url+"/v1/completions", strings.NewReader(one))
			if err != nil {
				t.Error(err)
			}
			if answer, err := http.DefaultClient.Do(r); err == nil {
				t.Errorf("got status %d, want that the client left", answer.StatusCode)
			}
		})
	}
	for end := time.Now().Add(10 * time.Second); s.count.Load() < 2 && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
	time.Sleep(50 * time.Millisecond) // until both are in the queue
	if status, got := ask(t, url+"/v1/completions", one); status != 429 ||
		!strings.Contains(got, "rate_limit_exceeded") {
		t.Errorf("got status %d and %s, want 429", status, got)
	}
	leave()
	group.Wait()
	t.Cleanup(s.start())
	status, got := 0, ""
	for end := time.Now().Add(10 * time.Second); status != 200 && time.Now().Before(end); {
		status, got = ask(t, url+"/v1/completions", one)
	}
	if status != 200 {
		t.Errorf("after the clients left: got status %d and %s, want 200", status, got)
	}
	s.stopping.Store(true)
	if status, got := ask(t, url+"/v1/completions", `{"prompt":"Hi"}`); status != 503 ||
		!strings.Contains(got, "stopping") {
		t.Errorf("while the server stops: got status %d and %s, want 503", status, got)
	}
}

// The program serves until its context ends, and then returns the cause. An answer that is being written ends first.
func TestServe(t *testing.T) {
	dir := made(t)
	ctx, stop := context.WithCancel(t.Context())
	out, in := io.Pipe()
	done := make(chan error, 1)
	go func() {
		done <- inputs{}.run(ctx, []string{"-model", dir, "-serve", ":0", "-tokens", "5"}, in, io.Discard)
		in.Close()
	}()
	line := make([]byte, 200)
	n, err := out.Read(line)
	must(t, err)
	_, after, _ := strings.Cut(string(line[:n]), "http://")
	address, _, _ := strings.Cut(after, "/")
	var rest bytes.Buffer
	copied := make(chan struct{})
	go func() { io.Copy(&rest, out); close(copied) }()
	if status, got := ask(t, "http://"+address+"/v1/completions", `{"prompt":"Hi"}`); status != 200 {
		t.Errorf("got status %d and %s", status, got)
	}
	if status, got := ask(t, "http://"+address+"/v1/chat/completions", `{`+hi+`}`); status != 400 ||
		!strings.Contains(got, "chat_template") {
		t.Errorf("a model without a template: got status %d and %s", status, got)
	}
	stop()
	if err := <-done; err != context.Canceled {
		t.Errorf("got error %v, want %v", err, context.Canceled)
	}
	<-copied
	if want := "only /v1/completions: the model says in no known way"; !strings.Contains(rest.String(), want) {
		t.Errorf("got %q, want %q in it", rest.String(), want)
	}
	if _, err := net.Dial("tcp", address); err == nil {
		t.Error("the address is still served")
	}
}

// A client that never reads is left when its patience ends, and holds up no other.
func TestNeverReads(t *testing.T) {
	s, url := served(t, "-lanes", "2", "-queue", "1", "-body", "1000000", "-block_size", "1024")
	address, before := strings.TrimPrefix(url, "http://"), runtime.NumGoroutine()
	c, err := net.Dial("tcp", address)
	must(t, err)
	defer c.Close()
	must(t, c.(*net.TCPConn).SetReadBuffer(1))
	// The top 20 of 900 tokens are some megabytes.
	body := `{` + hi + `,"max_tokens":900,"temperature":0,"stream":true,"logprobs":true,"top_logprobs":20}`
	_, err = fmt.Fprintf(
		c, "POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%s", len(body), body,
	)
	must(t, err)
	half, err := net.Dial("tcp", address) // and one that never sends its body
	must(t, err)
	defer half.Close()
	_, err = io.WriteString(half, "POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{")
	must(t, err)
	for range 20 {
		completed(t, url+"/v1/completions", `{"prompt":"Hi"}`)
	}
	must(t, half.SetReadDeadline(time.Now().Add(20*time.Second)))
	if said, err := io.ReadAll(half); err != nil || !bytes.HasPrefix(said, []byte("HTTP/1.1 400")) {
		t.Errorf("a body that does not come: got %q and %v, want status 400", said, err)
	}
	var list []string
	for range 2 { // both lanes are free again
		list = append(list, completed(t, url+"/v1/completions", `{"prompt":"Hi"}`).Choices[0].Text)
	}
	if !slices.Equal(list[:1], list[1:]) || s.count.Load() < 23 {
		t.Errorf("got %q after %d answers", list, s.count.Load())
	}
	quietly(t, before) // also without the client that never reads, whose connection is still open on its side
}

// A client that has closed its own direction of the connection gets its answer, in one piece and as a stream, also if
// it waits in the queue meanwhile. A client of HTTP/1.0 gets no interim answer.
func TestHalfClosed(t *testing.T) {
	s, url := waiting(t)
	address := strings.TrimPrefix(url, "http://")
	var group sync.WaitGroup
	for _, more := range []string{"", `,"stream":true`} {
		group.Go(func() {
			c, err := net.Dial("tcp", address)
			if err != nil {
				t.Error(err)
				return
			}
			defer c.Close()
			body := `{"prompt":"Hi"` + more + `}`
			fmt.Fprintf(
				c, "POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%s", len(body), body,
			)
			c.(*net.TCPConn).CloseWrite()
			c.SetReadDeadline(time.Now().Add(20 * time.Second))
			answer, err := http.ReadResponse(bufio.NewReader(skipping{bufio.NewReader(c)}), nil)
			if err != nil {
				t.Errorf("%s: %v", body, err)
				return
			}
			if said, err := io.ReadAll(answer.Body); err != nil || answer.StatusCode != 200 ||
				!strings.Contains(string(said), "text_completion") {
				t.Errorf("%s: got status %d, %s and %v", body, answer.StatusCode, said, err)
			}
		})
	}
	for end := time.Now().Add(10 * time.Second); len(s.admission.places) < 2 && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
	time.Sleep(200 * time.Millisecond) // both are in the queue, and half closed
	t.Cleanup(s.start())
	group.Wait()
}

// skipping is a reader that leaves out interim answers.
type skipping struct{ *bufio.Reader }

func (s skipping) Read(p []byte) (int, error) {
	const interim = "HTTP/1.1 102 Processing\r\n\r\n"
	for {
		if begin, err := s.Peek(len(interim)); err != nil || string(begin) != interim {
			return s.Reader.Read(p)
		}
		s.Discard(len(interim))
	}
}

// frail is a tokenizer that panics.
type frail struct {
	text.Tokenizer
	encode bool // rather than when it decodes
}

func (f frail) Encode(s string) ([]int, error) {
	if f.encode {
		panic("frail \x1b[2J")
	}
	return f.Tokenizer.Encode(s)
}

func (f frail) Decode(ids []int) (string, error) {
	if !f.encode {
		panic("frail \x1b[2J")
	}
	return f.Tokenizer.Decode(ids)
}

// late is a tokenizer whose second piece of text panics.
type late struct {
	text.Tokenizer
	calls *int
}

func (l late) Decode(ids []int) (string, error) {
	if *l.calls++; *l.calls > 4 {
		panic("frail \x1b[2J")
	}
	return "x", nil
}

// A panic in a request is logged with the kind of the request and its place, without characters that control a
// terminal, and answered with status 500, or in the stream that has begun. It keeps no place, and the server goes on.
func TestPanics(t *testing.T) {
	s, url := served(t, "-lanes", "1", "-queue", "0")
	var log bytes.Buffer
	s.log.SetOutput(&log)
	tok := s.tok
	for _, c := range []struct {
		tok                text.Tokenizer
		place, body        string
		status             int
		kind, want, before string
	}{
		{frail{tok, true}, "/v1/chat/completions", `{` + hi +
			`}`, 500, "POST /v1/chat/completions", `"type":"server_error"`, `{"error"`},
		{frail{tok, true}, "/v1/chat/completions", `{` + hi +
			`,"stream":true}`, 500, "POST /v1/chat/completions", `"type":"server_error"`, `{"error"`},
		{
			frail{tok, false}, "/v1/completions", `{"prompt":"Hi"}`, 500, "POST /v1/completions",
			`"code":"internal_error"`, `{"error"`,
		},
		{
			late{tok, new(int)}, "/v1/completions", `{"prompt":"Hi","stream":true}`, 200, "POST /v1/completions",
			`data: {"error"`, `data: {"choices"`,
		},
	} {
		s.tok = c.tok
		log.Reset()
		status, got := ask(t, url+c.place, c.body)
		if status != c.status || !strings.Contains(got, c.want) || !strings.HasPrefix(got, c.before) {
			t.Errorf("%s: got status %d and %s, want %d and %s", c.body, status, got, c.status, c.want)
		}
		if said := log.String(); !strings.Contains(said, c.kind+": panic: frail \\x1b[2J") ||
			!strings.Contains(said, "server_test.go:") || strings.Contains(said, "\x1b") {
			t.Errorf("%s: got the log %q, want %q with the place", c.body, said, c.kind)
		}
		s.tok = tok
		completed(t, url+"/v1/completions", `{"prompt":"Hi"}`)
	}
}

// Keys that are ignored are logged once; those that clients send by default are accepted.
func TestIgnoredKeys(t *testing.T) {
	s, url := served(t)
	var log bytes.Buffer
	s.log.SetOutput(&log)
	plain := completed(t, url+"/v1/chat/completions", `{`+hi+`}`).Choices[0].Message.Content
	for key, body := range map[string]string{
		"reasoning_effort": hi + `,"reasoning_effort":"low"`, "keep_alive": hi + `,"keep_alive":"5m","options":{}`,
		"metadata": hi + `,"metadata":{"a":"b"}`, "messages.name": `"messages":[{"role":"user","content":"Hi","name":"Ann","tool_calls":[]}]`,
	} {
		for range 2 {
			if got := completed(t, url+"/v1/chat/completions", `{`+body+`}`).Choices[0].Message.Content; got != plain {
				t.Errorf("%s: got %q, want %q", body, got, plain)
			}
		}
		if n := strings.Count(log.String(), "ignored: "+key+" "); n != 1 {
			t.Errorf("%s: got the log %q, want it once", key, log.String())
		}
	}
}

// A name with characters that control a terminal does not reach it as they are.
func TestNameIsShown(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a\x1b[2Jb")
	must(t, os.Symlink(made(t), dir))
	var out bytes.Buffer
	ctx, stop := context.WithCancel(t.Context())
	stop()
	err := inputs{}.run(ctx, []string{"-model", dir, "-serve", ":0"}, &out, &out)
	if err != context.Canceled || strings.Contains(out.String(), "\x1b") ||
		!strings.Contains(out.String(), "a\ufffd[2Jb") {
		t.Errorf("got %q and %v", out.String(), err)
	}
}

// Prompts share keys and values by their cache_salt, and with -isolate by nothing else. The same prompt has the same
// answer either way.
func TestSalts(t *testing.T) {
	for _, isolate := range []bool{false, true} {
		s, url := served(t, "-isolate="+fmt.Sprint(isolate))
		salt := func(more string) string {
			_, q, err := s.question(t.Context(), []byte(`{`+hi+more+`}`), talk{})
			must(t, err)
			return q.salt
		}
		if a, b := salt(""), salt(""); isolate != (a != b) || !isolate && a != "" {
			t.Errorf("-isolate=%v: got the salts %q and %q of two requests without one", isolate, a, b)
		}
		if got := salt(`,"cache_salt":"mine"`); got != "mine" {
			t.Errorf("-isolate=%v: got the salt %q, want mine", isolate, got)
		}
		want := completed(t, url+"/v1/chat/completions", `{`+hi+`}`).Choices[0].Message.Content
		for _, more := range []string{"", `,"cache_salt":"mine"`, `,"cache_salt":"other"`} {
			if got := completed(t, url+"/v1/chat/completions", `{`+hi+more+
				`}`).Choices[0].Message.Content; got != want {
				t.Errorf("-isolate=%v%s: got %q, want %q", isolate, more, got, want)
			}
		}
	}
}
