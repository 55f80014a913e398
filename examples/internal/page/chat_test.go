package page_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/examples/internal/browser"
	"github.com/pedestrian-ml/pedestrian/examples/internal/page"
)

// The page contains the name of the model as text, and a field for a key if one is needed.
func TestChat(t *testing.T) {
	for _, key := range []bool{false, true} {
		var b strings.Builder
		must(t, page.Chat{Title: "<i>model</i>", Key: key}.Write(&b))
		if got := b.String(); !strings.Contains(got, "<h1>&lt;i&gt;model&lt;/i&gt;</h1>") ||
			strings.Contains(got, `id="key"`) != key {
			t.Errorf("key %v: got %.2000s", key, got)
		}
	}
}

// In a browser, a message is sent by the keyboard, its answer appears as it comes and can be stopped, a refused message
// comes back, and the next request has the conversation and the settings so far.
func TestBrowserChat(t *testing.T) {
	b := browser.Open(t)
	type message struct{ Role, Content string }
	var got []message
	temperature := 0.0
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		page.Chat{Title: "a model"}.Write(w)
	})
	mux.HandleFunc("POST /v1/chat/completions", func(w http.ResponseWriter, r *http.Request) {
		var body struct {
			Messages    []message
			Temperature float64
		}
		json.NewDecoder(r.Body).Decode(&body)
		got, temperature = body.Messages, body.Temperature
		last := got[len(got)-1].Content
		if last == "full" {
			w.WriteHeader(http.StatusTooManyRequests)
			fmt.Fprint(w, `{"error":{"message":"the queue is full"}}`)
			return
		}
		say := func(object string) {
			fmt.Fprintf(w, "data: %s\n\n", object)
			w.(http.Flusher).Flush()
		}
		say(`{"choices":[{"delta":{"role":"assistant","content":"<b>yes</b> "},"finish_reason":null}]}`)
		if last == "long" {
			<-r.Context().Done()
			return
		}
		say(`{"choices":[{"delta":{"content":"\nand no"},"finish_reason":null}]}`)
		say(`{"choices":[{"delta":{},"finish_reason":"length"}]}`)
		say(`{"choices":[],"usage":{"completion_tokens":3}}`)
		fmt.Fprint(w, "data: [DONE]\n\n")
	})
	s := httptest.NewServer(mux)
	defer s.Close()
	b.Show(1000, 800, "light")
	b.Visit(s.URL)
	const talk, state = `document.getElementById("talk").innerText`, `document.getElementById("state").textContent`
	b.Wait(`document.activeElement.id`, "message")
	write := func(text string) {
		b.Call("Input.insertText", map[string]any{"text": text}, nil)
		b.Press("Enter")
	}
	write("Is it so?")
	b.Wait(state, "3 tokens")
	b.Wait(state, "cut off")
	b.Wait(talk, "<b>yes</b> \nand no")
	write("long")
	b.Wait(`document.querySelectorAll("#talk .assistant")[1]?.innerText`, "yes")
	b.Press("Escape")
	b.Wait(state, "stopped")
	b.Ask(`document.getElementById("temperature").value = "0.5"`)
	write("full")
	b.Wait(state, "the queue is full")
	b.Wait(`document.getElementById("message").value`, "full")
	if want := (message{"assistant", "<b>yes</b> "}); len(got) != 5 || got[3] != want || temperature != 0.5 {
		t.Errorf("got the messages %q and temperature %v, want %q as message 3 of 5, and 0.5", got, temperature, want)
	}
	b.Press("Tab", "Tab", " ") // Send, New conversation: Stop cannot be pressed
	b.Wait(`document.querySelectorAll("#talk article").length`, "0")
	write(strings.Repeat("wide ", 99) + strings.Repeat("x", 400))
	b.Wait(state, "3 tokens")
	for _, width := range []int{1000, 360} {
		for _, scheme := range []string{"light", "dark"} {
			if b.Show(width, 800, scheme); b.Faults() != "" {
				t.Errorf("%d wide, %s: %s", width, scheme, b.Faults())
			}
		}
	}
	for _, name := range b.Named() {
		if strings.HasSuffix(name, " ") {
			t.Errorf("a %swithout a name can have the focus", name)
		}
	}
	for i, e := range b.Errors {
		if !strings.Contains(e, "429") { // the browser tells of every refused request
			t.Errorf("error %d on the console: %s", i, e)
		}
	}
}
