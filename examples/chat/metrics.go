package main

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// exchange is a request with its answer, for the log and the metrics.
type exchange struct {
	http.ResponseWriter
	began  time.Time
	status int

	mutex         sync.Mutex
	prompt, drawn int           // tokens
	first         time.Duration // the time until the first token; 0 without tokens
}

// Unwrap returns the writer, for http.ResponseController.
func (x *exchange) Unwrap() http.ResponseWriter { return x.ResponseWriter }

// WriteHeader notes the status.
func (x *exchange) WriteHeader(status int) {
	if x.status == 0 {
		x.status = status
	}
	x.ResponseWriter.WriteHeader(status)
}

// Write notes the status 200 unless there is one.
func (x *exchange) Write(p []byte) (int, error) {
	if x.status == 0 {
		x.status = http.StatusOK
	}
	return x.ResponseWriter.Write(p)
}

// reads notes the tokens of a prompt.
func (x *exchange) reads(tokens int) {
	x.mutex.Lock()
	defer x.mutex.Unlock()
	x.prompt += tokens
}

// draws notes tokens of an answer.
func (x *exchange) draws(tokens int) {
	x.mutex.Lock()
	defer x.mutex.Unlock()
	if x.drawn += tokens; x.first == 0 && tokens > 0 {
		x.first = time.Since(x.began)
	}
}

// exchangeOf returns the exchange that a writer belongs to.
func exchangeOf(w http.ResponseWriter) *exchange {
	if x, ok := w.(*exchange); ok {
		return x
	}
	return &exchange{ResponseWriter: w, began: time.Now()}
}

// placeOf returns the place of a request in the log and the metrics.
func placeOf(r *http.Request) string {
	if r.Pattern == "" || r.Pattern == "/" {
		return "elsewhere"
	}
	return strings.TrimSuffix(r.Pattern, "{$}")
}

// observed answers by h, and counts and logs the exchange.
func (s *server) observed(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		x := &exchange{ResponseWriter: w, began: time.Now()}
		defer func() {
			x.mutex.Lock()
			defer x.mutex.Unlock()
			took, place := time.Since(x.began), placeOf(r)
			s.counts.add(place, x, took)
			if s.options.log {
				s.log.Printf("%.16s %s %d, %d + %d tokens, first after %.3f s, all after %.3f s", r.Method, place,
					x.status,
					x.prompt, x.drawn, x.first.Seconds(), took.Seconds())
			}
		}()
		h.ServeHTTP(x, r)
	})
}

// counts holds the numbers of /metrics. Their labels are places and statuses of the server, so they are few.
type counts struct {
	mutex         sync.Mutex
	answers       map[outcome]int
	prompt, drawn int
	first, all    histogram
}

// outcome is a place with the status of an answer.
type outcome struct {
	place  string
	status int
}

// add counts an exchange.
func (c *counts) add(place string, x *exchange, took time.Duration) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.answers == nil {
		c.answers = map[outcome]int{}
	}
	c.answers[outcome{place, x.status}]++
	c.prompt, c.drawn = c.prompt+x.prompt, c.drawn+x.drawn
	if x.first > 0 {
		c.first.add(x.first.Seconds())
		c.all.add(took.Seconds())
	}
}

// bounds are the upper bounds of a histogram's numbers, in seconds.
var bounds = [...]float64{0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 100, 300}

// histogram counts numbers by bounds.
type histogram struct {
	upTo [len(bounds)]int
	n    int
	sum  float64
}

func (h *histogram) add(x float64) {
	for i, bound := range bounds {
		if x <= bound {
			h.upTo[i]++
		}
	}
	h.n, h.sum = h.n+1, h.sum+x
}

// text returns the lines of a histogram in Prometheus' form.
func (h *histogram) text(name, help string) string {
	s := fmt.Sprintf("# HELP %s %s\n# TYPE %s histogram\n", name, help, name)
	for i, bound := range bounds {
		s += fmt.Sprintf("%s_bucket{le=\"%v\"} %d\n", name, bound, h.upTo[i])
	}
	return s + fmt.Sprintf("%s_bucket{le=\"+Inf\"} %d\n%s_sum %v\n%s_count %d\n", name, h.n, name, h.sum, name, h.n)
}

// text returns the numbers in Prometheus' form.
func (c *counts) text(places, lanes int) string {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	s := "# HELP pedestrian_requests_total Requests by place and status.\n# TYPE pedestrian_requests_total counter\n"
	var lines []string
	for a, n := range c.answers {
		lines = append(lines, fmt.Sprintf("pedestrian_requests_total{path=%q,status=\"%d\"} %d\n", a.place,
			a.status, n))
	}
	slices.Sort(lines)
	s += strings.Join(lines, "")
	for _, one := range []struct {
		name, kind, help string
		n                int
	}{
		{"pedestrian_prompt_tokens_total", "counter", "Tokens of prompts.", c.prompt},
		{"pedestrian_answer_tokens_total", "counter", "Tokens of answers.", c.drawn},
		{"pedestrian_answers", "gauge", "Answers that are being written or wait.", places},
		{"pedestrian_lanes", "gauge", "Answers that can be written at once.", lanes},
	} {
		s += fmt.Sprintf("# HELP %s %s\n# TYPE %s %s\n%s %d\n", one.name, one.help, one.name, one.kind, one.name,
			one.n)
	}
	return s + c.first.text("pedestrian_first_token_seconds", "Time until the first token of an answer.") +
		c.all.text("pedestrian_answer_seconds", "Time until the end of an answer.")
}

// metrics answers with the numbers in Prometheus' form.
func (s *server) metrics(w http.ResponseWriter, _ *http.Request) {
	http.NewResponseController(w).SetWriteDeadline(time.Now().Add(s.patience))
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	fmt.Fprint(w, s.counts.text(len(s.admission.places), s.options.lanes))
}
