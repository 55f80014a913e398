package main

import (
	"context"
	"crypto/subtle"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"maps"
	"net"
	"net/http"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pedestrian-ml/pedestrian/examples/internal/page"
	"github.com/pedestrian-ml/pedestrian/examples/internal/program"
	"github.com/pedestrian-ml/pedestrian/examples/internal/serve"
	"github.com/pkg/errors"
)

// server answers requests with one model.
type server struct {
	*engine
	options  options
	began    time.Time
	patience time.Duration // how long a client may take to send a request or to read a piece of an answer
	stopping atomic.Bool
	count    atomic.Uint64 // of requests to complete something

	admission admission
	log       *log.Logger
	counts    counts
	noted     sync.Map // keys that requests have had and that are ignored
}

func newServer(e *engine, o options, stderr io.Writer) *server {
	return &server{
		engine: e, options: o, began: time.Now(), patience: 10 * time.Second,
		admission: newAdmission(o), log: log.New(stderr, "", log.LstdFlags),
	}
}

// grace is the time that answers have to end after the server is told to stop.
const grace = 5 * time.Second

// serveUntil serves until ctx ends, and answers that have begun a little longer.
func serveUntil(ctx context.Context, o options, e *engine, stdout, stderr io.Writer) error {
	l, host, err := serve.Listen(o.serve)
	if err != nil {
		return err
	}
	fmt.Fprintf(stdout, "%s: http://%s/v1 and a page at http://%s/; Ctrl-C ends the server\n",
		shown(e.name), l.Addr(), l.Addr())
	if err := e.chats(ctx); err != nil {
		fmt.Fprintf(stdout, "only /v1/completions: %s\n", program.Shown(err))
	}
	if !serve.Local(host) && o.key == "" {
		fmt.Fprintln(stdout, "without -key: anybody who reaches this address may use the model")
	}
	if o.cors == "*" && o.key == "" {
		fmt.Fprintln(stdout, "-cors * without -key: every page that you open may use the model")
	}
	defer e.start()()
	defer program.Waiting(stdout)()
	return newServer(e, o, stderr).serve(ctx, l, host)
}

func (s *server) serve(ctx context.Context, l net.Listener, host string) error {
	server := s.http(host)
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(serve.Limit(l, serve.Connections())) }()
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	s.stopping.Store(true)
	rest, cancel := context.WithTimeout(context.Background(), grace)
	defer cancel()
	if server.Shutdown(rest) != nil {
		server.Close()
	}
	return context.Cause(ctx)
}

// http returns the server of all requests to that host.
func (s *server) http(host string) *http.Server {
	return &http.Server{
		Handler: s.handler(host), ConnContext: withConnection,
		ReadHeaderTimeout: s.patience, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 1 << 14,
		ErrorLog: log.New(io.Discard, "", 0),
	}
}

// try returns the error of f. A panic is an error, too, and is logged with the kind of the request.
func (s *server) try(r *http.Request, f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			s.log.Printf("%s %s: panic: %s\n%s", r.Method, r.Pattern, program.Shown(errors.Errorf("%v", p)),
				debug.Stack())
			err = failure{http.StatusInternalServerError, "server_error", "", "internal_error",
				"the server failed; its log says where"}
		}
	}()
	return f()
}

// note logs keys that are ignored, each once.
func (s *server) note(keys map[string]bool) {
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		if _, noted := s.noted.LoadOrStore(key, true); !noted {
			s.log.Printf("ignored: %s (this is said once)", key)
		}
	}
}

// keyed calls h for requests with the server's key.
func (s *server) keyed(h http.HandlerFunc) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got, want := r.Header.Get("Authorization"), "Bearer "+s.options.key
		if s.options.key != "" && subtle.ConstantTimeCompare([]byte(got), []byte(want)) != 1 {
			serve.Unread(w)
			fail(w, failure{http.StatusUnauthorized, "invalid_request_error", "", "invalid_api_key",
				"want the header Authorization: Bearer KEY with the key of this server (-key)"})
			return
		}
		h(w, r)
	})
}

func (s *server) page(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	page.Chat{Title: s.name, Key: s.options.key != "",
		Random: s.random}.Write(w) // a client that left is not an error
}

func (s *server) noModel(id string) failure {
	return failure{http.StatusNotFound, "invalid_request_error", "model", "model_not_found",
		fmt.Sprintf("got the model %.100q, this server has %q", id, s.name)}
}

// write writes an answer as a whole. A client that does not read it is left.
func (s *server) write(w http.ResponseWriter, status int, object any) error {
	data, err := json.Marshal(object)
	if err != nil {
		return err
	}
	if err := http.NewResponseController(w).SetWriteDeadline(time.Now().Add(s.patience)); err != nil &&
		!errors.Is(err, http.ErrNotSupported) {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, err = w.Write(append(data, '\n'))
	return err
}

// failure is the answer to a request that cannot be served, in OpenAI's form.
type failure struct {
	status                     int
	kind, param, code, message string
}

// Error returns the message.
func (f failure) Error() string { return f.message }

func (f failure) object() map[string]any {
	optional := func(s string) any {
		if s == "" {
			return nil
		}
		return s
	}
	return map[string]any{"error": map[string]any{
		"message": f.message, "type": f.kind, "param": optional(f.param), "code": optional(f.code),
	}}
}

func fail(w http.ResponseWriter, f failure) {
	data, err := json.Marshal(f.object())
	if err != nil {
		http.Error(w, f.message, f.status)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	if f.status == http.StatusTooManyRequests || f.status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "1")
	}
	w.WriteHeader(f.status)
	w.Write(append(data, '\n'))
}
