package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/gpt/text"
)

// got sends a request and returns the answer with its body.
func got(t testing.TB, method, url string, headers ...string) (*http.Response, string) {
	t.Helper()
	r, err := http.NewRequest(method, url, nil)
	must(t, err)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	answer, err := http.DefaultClient.Do(r)
	must(t, err)
	defer answer.Body.Close()
	data, err := io.ReadAll(answer.Body)
	must(t, err)
	return answer, string(data)
}

// A wrong method gets status 405 with the right one, and an unknown place 404.
func TestMethods(t *testing.T) {
	_, url := served(t)
	for _, c := range []struct {
		method, place string
		status        int
		allow         string
	}{
		{"GET", "/v1/chat/completions", 405, "POST"}, {"DELETE", "/v1/completions", 405, "POST"},
		{"POST", "/v1/models", 405, "GET"}, {"POST", "/", 405, "GET"}, {"POST", "/health", 405, "GET"},
		{"OPTIONS", "/v1/models", 405, "GET"}, {"GET", "/v1/never", 404, ""}, {"HEAD", "/health", 200, ""},
	} {
		answer, body := got(t, c.method, url+c.place)
		if answer.StatusCode != c.status || answer.Header.Get("Allow") != c.allow ||
			c.status == 405 && !strings.Contains(body, "method_not_allowed") {
			t.Errorf("%s %s: got status %d, Allow %q and %s, want %d and %q", c.method, c.place, answer.StatusCode,
				answer.Header.Get("Allow"), body, c.status, c.allow)
		}
	}
}

// Pages of the origin of -cors may use the server, and no others.
func TestCORS(t *testing.T) {
	const origin = "https://example.org"
	for _, c := range []struct {
		flag, origin string
		status       int
		allowed      string
	}{
		{"", origin, 403, ""}, {origin, origin, 200, origin}, {origin, "https://evil.example", 403, ""},
		{"*", "https://evil.example", 200, "*"},
	} {
		_, url := served(t, "-cors", c.flag)
		answer, _ := got(t, "GET", url+"/v1/models", "Origin", c.origin, "Sec-Fetch-Site", "cross-site")
		if h := answer.Header; answer.StatusCode != c.status || h.Get("Access-Control-Allow-Origin") != c.allowed {
			t.Errorf("-cors %q, from %s: got status %d and %v", c.flag, c.origin, answer.StatusCode, h)
		}
		if c.status != 200 {
			continue
		}
		answer, _ = got(t, "OPTIONS", url+"/v1/chat/completions", "Origin", c.origin, "Access-Control-Request-Method",
			"POST", "Access-Control-Request-Headers", "authorization,x-stainless-os")
		if h := answer.Header; answer.StatusCode != 204 || !strings.Contains(h.Get("Access-Control-Allow-Methods"),
			"POST") ||
			h.Get("Access-Control-Allow-Headers") != "authorization,x-stainless-os" {
			t.Errorf("-cors %q: asked before: got status %d and %v", c.flag, answer.StatusCode, h)
		}
	}
	for _, wrong := range []string{"example.org", "https://", "https://example.org/", "null"} {
		if _, err := parse([]string{"-serve", ":0", "-cors", wrong}, io.Discard); err == nil ||
			!strings.Contains(err.Error(), "-cors: got") {
			t.Errorf("-cors %s: got error %v", wrong, err)
		}
	}
}

// The server is healthy until it stops, and counts and logs its answers without their content. Health needs no key.
func TestHealthMetricsAndLog(t *testing.T) {
	s, url := served(t, "-key", "secret", "-log", "-alias", "first,mine")
	var log bytes.Buffer
	s.log.SetOutput(&log)
	const key = "Bearer secret"
	status, body := ask(t, url+"/v1/chat/completions", `{`+hi+`,"model":"mine","n":2,"max_tokens":3}`,
		"Authorization", key)
	if status != 200 || !strings.Contains(body, `"model":"first"`) {
		t.Fatalf("got status %d and %s", status, body)
	}
	ask(t, url+"/v1/chat/completions", `{`+hi+`}`)
	ask(t, url+"/v1/never", `{}`)
	if answer, body := got(t, "GET", url+"/health"); answer.StatusCode != 200 || !strings.Contains(body, "ok") {
		t.Errorf("health: got status %d and %s", answer.StatusCode, body)
	}
	if answer, body := got(t, "GET", url+"/v1/models/mine", "Authorization", key); answer.StatusCode != 200 ||
		!strings.Contains(body, `"id":"mine"`) {
		t.Errorf("the second name: got status %d and %s", answer.StatusCode, body)
	}
	if answer, _ := got(t, "GET", url+"/metrics"); answer.StatusCode != 401 {
		t.Errorf("metrics without the key: got status %d", answer.StatusCode)
	}
	_, metrics := got(t, "GET", url+"/metrics", "Authorization", key)
	for _, want := range []string{
		`pedestrian_requests_total{path="/v1/chat/completions",status="200"} 1`,
		`pedestrian_requests_total{path="/v1/chat/completions",status="401"} 1`,
		`pedestrian_requests_total{path="elsewhere",status="404"} 1`, "pedestrian_answer_tokens_total 6",
		"pedestrian_prompt_tokens_total 18", "pedestrian_lanes 8", `pedestrian_answer_seconds_bucket{le="+Inf"} 1`,
		"pedestrian_answers 0",
	} {
		if !strings.Contains(metrics, want+"\n") {
			t.Errorf("metrics: got %s, want %s in it", metrics, want)
		}
	}
	line := regexp.MustCompile(`^(# (HELP|TYPE) [a-z_]+ .+|[a-z_]+(\{[a-z]+="[^"]*"(,` +
		`[a-z]+="[^"]*")*\})? [0-9.e+-]+)$`)
	for l := range strings.Lines(metrics) {
		if !line.MatchString(strings.TrimSuffix(l, "\n")) {
			t.Errorf("metrics: got the line %q, which is not of Prometheus' form", l)
		}
	}
	for _, want := range []string{"POST /v1/chat/completions 200, 18 + 6 tokens", "POST elsewhere 404"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("got the log %s, want %q in it", log.String(), want)
		}
	}
	if strings.Contains(log.String(), "/v1/never") || strings.Contains(log.String(), "Hi") {
		t.Errorf("the log has the content of a request: %s", log.String())
	}
	s.stopping.Store(true)
	if answer, _ := got(t, "GET", url+"/health"); answer.StatusCode != 503 {
		t.Errorf("health while the server stops: got status %d", answer.StatusCode)
	}
}

// Several answers differ, a request for one gets the first of them, and a stream has all of them. They need places.
func TestChoices(t *testing.T) {
	s, url := served(t, "-lanes", "3", "-queue", "1")
	for place, prompt := range map[string]string{"/v1/chat/completions": hi, "/v1/completions": `"prompt":"Hi"`} {
		one := completed(t, url+place, `{`+prompt+`,"seed":6}`).Choices[0]
		all := completed(t, url+place, `{`+prompt+`,"seed":6,"n":3}`)
		texts := map[string]bool{}
		for _, c := range all.Choices {
			texts[c.Message.Content+c.Text] = true
		}
		if len(texts) != 3 || !texts[one.Message.Content+one.Text] || all.Usage.Completion != 18 {
			t.Errorf("%s: got the answers %v of %+v, want 3 with %+v", place, texts, all, one)
		}
		streamed := map[int]string{}
		_, body := ask(t, url+place, `{`+prompt+`,"seed":6,"n":3,"stream":true}`)
		for event := range strings.SplitSeq(strings.TrimSuffix(body, "\n\ndata: [DONE]\n\n"), "\n\n") {
			var chunk struct {
				Choices []struct {
					Index int
					Text  string
					Delta struct{ Content string }
				}
			}
			must(t, json.Unmarshal([]byte(strings.TrimPrefix(event, "data: ")), &chunk))
			for _, c := range chunk.Choices {
				streamed[c.Index] += c.Text + c.Delta.Content
			}
		}
		for i, c := range all.Choices {
			if streamed[i] != c.Message.Content+c.Text {
				t.Errorf("%s: choice %d: got the stream %q, want %+v", place, i, streamed[i], c)
			}
		}
	}
	leave, err := s.place(2)
	must(t, err)
	if status, _ := ask(t, url+"/v1/completions", `{"prompt":"Hi","n":3}`); status != 429 {
		t.Errorf("three answers beside two of four places: got status %d, want 429", status)
	}
	leave()
	if n := len(s.admission.places); n != 0 {
		t.Errorf("%d places are taken, want none", n)
	}
}

// A bias of 100 makes a token certain, and echo puts the prompt before the answer.
func TestBiasAndEcho(t *testing.T) {
	s, url := served(t)
	ids, err := s.tok.Encode("e")
	must(t, err)
	bias, _ := json.Marshal(map[int]float64{ids[0]: 100})
	if got := completed(t, url+"/v1/chat/completions", `{`+hi+`,"logit_bias":`+string(bias)+
		`}`).Choices[0].Message.Content; got != "eeeeee" {
		t.Errorf("a bias: got %q, want eeeeee", got)
	}
	plain := completed(t, url+"/v1/completions", `{"prompt":"Hi <|im_end|>"}`).Choices[0].Text
	for body, want := range map[string]string{
		`{"prompt":"Hi <|im_end|>","echo":true}`:     "Hi <|im_end|>" + plain,
		`{"prompt":"Hi","echo":true,"max_tokens":0}`: "Hi",
	} {
		if got := completed(t, url+"/v1/completions", body).Choices[0].Text; got != want {
			t.Errorf("%s: got %q, want %q", body, got, want)
		}
	}
}

// Special tokens that the model writes are no text; a text with their names is.
func TestSpecialTokensAreNoText(t *testing.T) {
	s, url := served(t)
	named := s.tok.(text.Specials)
	id, ok := named.Special("<|im_start|>")
	ids, err := s.tok.Encode("e")
	must(t, err)
	if !ok || !s.special[id] || s.special[ids[0]] || len(s.special) != 3 {
		t.Fatalf("got the special tokens %v, want 3 with %d", s.special, id)
	}
	bias, _ := json.Marshal(map[int]float64{ids[0]: 90, id: 90})
	got := completed(t, url+"/v1/chat/completions", `{`+hi+`,"max_tokens":40,"logprobs":true,`+
		`"logit_bias":`+string(bias)+`}`)
	said := got.Choices[0].Message.Content
	if n := len(said); strings.Trim(said, "e") != "" || n == 0 || n == 40 ||
		len(got.Choices[0].Logprobs.Content) != 40 {
		t.Errorf("got %+v, want some of 40 tokens as e, and the others without a text", got)
	}
}
