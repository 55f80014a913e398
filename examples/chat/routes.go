package main

import (
	"fmt"
	"maps"
	"net/http"
	"strings"

	"github.com/pedestrian-ml/pedestrian/examples/internal/serve"
)

// route is a place of the server with its one method.
type route struct {
	method, pattern string
	handler         http.Handler
}

// routes lists the places of the server.
func (s *server) routes() []route {
	return []route{
		{http.MethodGet, "/{$}", http.HandlerFunc(s.page)},
		{http.MethodGet, "/health", http.HandlerFunc(s.health)},
		{http.MethodGet, "/metrics", s.keyed(s.metrics)},
		{http.MethodGet, "/v1/models", s.keyed(s.models)},
		{http.MethodGet, "/v1/models/{id...}", s.keyed(s.models)},
		{http.MethodPost, "/v1/chat/completions", s.keyed(s.complete(func() form { return talk{} }))},
		{http.MethodPost, "/v1/completions", s.keyed(s.complete(func() form { return continuation{} }))},
		{http.MethodPost, "/v1/responses", s.keyed(s.complete(func() form { return &response{} }))},
		{http.MethodPost, "/v1/embeddings", s.keyed(s.embeddings)},
	}
}

// handler returns the answers to all requests to a server at that host.
func (s *server) handler(host string) http.Handler {
	mux, places := http.NewServeMux(), []string{}
	for _, r := range s.routes() {
		mux.Handle(r.pattern, only(r.method, r.handler))
		places = append(places, r.method+" "+strings.TrimSuffix(r.pattern, "{$}"))
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		serve.Unread(w)
		fail(w, failure{http.StatusNotFound, "invalid_request_error", "", "unknown_url",
			fmt.Sprintf("got %s %.100s, want one of %s", r.Method, r.URL.Path, strings.Join(places, ", "))})
	})
	refuse := func(w http.ResponseWriter, status int, message string) {
		serve.Unread(w)
		fail(w, failure{status, "invalid_request_error", "", "foreign_request", message})
	}
	answer := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := s.try(r, func() error { mux.ServeHTTP(w, r); return nil }); err != nil {
			fail(w, s.failureOf(err))
		}
	})
	return s.observed(serve.Guard(host, refuse, s.shared(answer), s.options.cors))
}

// only calls h for requests of a method; HEAD is a GET whose body is left out.
func only(method string, h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == method || r.Method == http.MethodHead && method == http.MethodGet {
			h.ServeHTTP(w, r)
			return
		}
		serve.Unread(w)
		w.Header().Set("Allow", method)
		fail(w, failure{http.StatusMethodNotAllowed, "invalid_request_error", "", "method_not_allowed",
			fmt.Sprintf("got %.16s %s, want %s", r.Method, r.Pattern, method)})
	})
}

// shared lets pages of the origin of -cors read the answers. A browser asks first, by the method OPTIONS.
func (s *server) shared(h http.Handler) http.Handler {
	if s.options.cors == "" {
		return h
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		maps.Copy(w.Header(), http.Header{
			"Access-Control-Allow-Origin": {s.options.cors}, "Vary": {"Origin"},
			"Cross-Origin-Resource-Policy": {"cross-origin"},
		})
		if r.Method != http.MethodOptions {
			h.ServeHTTP(w, r)
			return
		}
		headers := r.Header.Get("Access-Control-Request-Headers") // clients send headers of their own
		maps.Copy(w.Header(), http.Header{
			"Access-Control-Allow-Methods": {"GET, POST"}, "Access-Control-Allow-Headers": {headers},
			"Access-Control-Max-Age": {"600"},
		})
		w.WriteHeader(http.StatusNoContent)
	})
}

// health says whether the server takes requests.
func (s *server) health(w http.ResponseWriter, _ *http.Request) {
	if s.stopping.Load() {
		fail(w, s.stopped())
		return
	}
	s.write(w, http.StatusOK, map[string]any{"status": "ok"})
}

// models lists the names of the model.
func (s *server) models(w http.ResponseWriter, r *http.Request) {
	list := []any{}
	for _, name := range s.names {
		model := map[string]any{"id": name, "object": "model", "created": s.began.Unix(), "owned_by": "pedestrian"}
		if r.PathValue("id") == name {
			s.write(w, http.StatusOK, model)
			return
		}
		list = append(list, model)
	}
	if id := r.PathValue("id"); id != "" {
		fail(w, s.noModel(id))
		return
	}
	s.write(w, http.StatusOK, map[string]any{"object": "list", "data": list})
}
