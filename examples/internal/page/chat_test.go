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

// The page contains the name of the model as text, a field for a key if one is needed, and a word of random weights.
func TestChat(t *testing.T) {
	for _, key := range []bool{false, true} {
		var b strings.Builder
		must(t, page.Chat{Title: "<i>model</i>", Key: key, Random: key}.Write(&b))
		if got := b.String(); !strings.Contains(got, "<h1>&lt;i&gt;model&lt;/i&gt;</h1>") ||
			strings.Contains(got, `id="key"`) != key || strings.Contains(got,
			"weights of this model are random") != key {
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

// marked is an answer with all of Markdown that the page knows, and with HTML, which it does not.
const marked = "# Title\n\nA **bold *and* word**, *it*, `a < b`, snake_case_name, 2 * 3 * 4, " +
	"[link](https://example.org/a) [bad](javascript:alert(1)) <img src=x onerror=alert(1)>\nnext line\n\n" +
	"- one\n  - inner\n- two\n\n3. three\n4. four\n\n> quoted\n> more\n\n```go\nif a < b {\n\t**no**\n}\n```\n" +
	"| a | b |\n|---|--:|\n| 1 | `2` |\n\n---\nend"

// said returns a server of the page whose n-th answer is an element of answers, and the conversations that it got.
func said(answers ...string) (s *httptest.Server, got *[][]string) {
	got = new([][]string)
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		page.Chat{Title: "a model", Random: true}.Write(w)
	})
	mux.HandleFunc("POST /v1/chat/completions", func(w http.ResponseWriter, r *http.Request) {
		var body struct{ Messages []struct{ Content string } }
		json.NewDecoder(r.Body).Decode(&body)
		var list []string
		for _, m := range body.Messages {
			list = append(list, m.Content)
		}
		answer := answers[len(*got)%len(answers)]
		*got = append(*got, list)
		for len(answer) > 0 {
			n := min(7, len(answer))
			data, _ := json.Marshal(answer[:n])
			fmt.Fprintf(w, "data: {\"choices\":[{\"delta\":{\"content\":%s}}]}\n\n", data)
			answer = answer[n:]
		}
		fmt.Fprint(w, "data: {\"choices\":[],\"usage\":{\"completion_tokens\":9}}\n\ndata: [DONE]\n\n")
	})
	return httptest.NewServer(mux), got
}

// In a browser an answer's Markdown becomes elements, and its HTML does not. A message can be copied, edited and
// answered again. The window shows all of the page without scrolling, with space between the box and the status.
func TestBrowserChatWrites(t *testing.T) {
	b := browser.Open(t)
	s, got := said(marked, "second", "third", "fourth")
	defer s.Close()
	b.Show(1280, 800, "light")
	b.Visit(s.URL)
	const state = `document.getElementById("state").textContent`
	of := func(selector string) string {
		return `[...document.querySelectorAll("#talk .assistant .said ` + selector +
			`")].map(e => e.textContent).join("|")`
	}
	write := func(text string) {
		b.Call("Input.insertText", map[string]any{"text": text}, nil)
		b.Press("Enter")
	}
	b.Wait(`document.activeElement.id`, "message")
	b.Wait(`document.querySelector(".warning").textContent`, "weights of this model are random")
	b.Ask(`(window.requestAnimationFrame = f => setTimeout(f, 500), "")`)
	write("first") // of which the end is written although the next frame is late
	b.Wait(state, "9 tokens")
	for selector, want := range map[string]string{
		"h3": "Title", "strong": "bold and word", "strong em": "and", "p > em": "it", "p > code": "a < b",
		"li li":   "inner",
		"ul > li": "one\ninner|inner|two", "ol": "threefour", "blockquote": "quoted\nmore",
		"pre code": "if a < b {\n\t**no**\n}", "td": "1|2", "th": "a|b", "td code": "2", "a": "link", "img": "",
		"hr": "",
	} {
		if said := strings.ReplaceAll(b.Ask(of(selector)), "oneinner", "one\ninner"); said != want {
			t.Errorf("%s: got %q, want %q", selector, said, want)
		}
	}
	b.Wait(of(""), "[bad](javascript:alert(1)) <img src=x onerror=alert(1)>\nnext line")
	b.Wait(of(""), "snake_case_name, 2 * 3 * 4, ")
	if start := b.Ask(`document.querySelector("#talk ol").start`); start != "3" {
		t.Errorf("the second list begins with %s, want 3", start)
	}
	for _, size := range [][2]int{{1280, 800}, {400, 800}, {1280, 600}} {
		b.Show(size[0], size[1], "light")
		b.Wait(`document.documentElement.scrollHeight <= innerHeight`, "true")
		if gap := b.Ask(`document.getElementById("state").getBoundingClientRect().top - ` +
			`document.getElementById("ask").getBoundingClientRect().bottom >= 8`); gap != "true" {
			t.Errorf("%v: the status is glued to the box", size)
		}
		if b.Faults() != "" {
			t.Errorf("%v: %s", size, b.Faults())
		}
	}
	for hostile, want := range map[string]string{
		strings.Repeat(">", 9000) + "a": "true", strings.Repeat("**a", 3000): "true", strings.Repeat("`",
			9000): "true",
	} { // as fast as it can be read, and without an error
		quoted, _ := json.Marshal(hostile)
		if got := b.Ask(`(() => { const t = performance.now(); markdown(` + string(quoted) +
			`); return performance.now() - t < 1000; })()`); got != want {
			t.Errorf("%.20s…: takes more than a second", hostile)
		}
	}
	button := func(article int, name string) {
		b.Ask(fmt.Sprintf(`[...document.querySelectorAll("#talk article")[%d].querySelectorAll(".acts button")]`+
			`.find(e => e.textContent === %q).click()`, article, name))
	}
	b.Ask(`navigator.clipboard.writeText = async text => { window.copied = text; }`)
	button(1, "Copy")
	b.Wait(`window.copied`, "# Title\n\nA **bold")
	b.Wait(state, "copied")
	button(1, "Again")
	b.Wait(of(""), "second")
	write("more")
	b.Wait(of(""), "second|third")
	button(0, "Edit")
	b.Wait(`document.getElementById("message").value`, "first")
	b.Wait(`document.querySelectorAll("#talk article").length`, "0")
	write(" anew")
	b.Wait(of(""), "fourth")
	if want := [][]string{{"first"}, {"first"}, {"first", "second", "more"}, {"first anew"}}; fmt.Sprint(*got) !=
		fmt.Sprint(want) {
		t.Errorf("got the conversations %q, want %q", *got, want)
	}
	for i, e := range b.Errors {
		t.Errorf("error %d on the console: %s", i, e)
	}
}
