// Package live shows runs in a browser, while they train and afterwards: it reads the files that they write anyway, so
// a run neither waits for who looks at it nor knows of it. Listen serves a page, Finished is one for a file.
package live

import (
	"context"
	"io"
	"log"
	"net"
	"net/http"
	"time"

	"github.com/pedestrian-ml/pedestrian/examples/internal/page"
	"github.com/pkg/errors"
)

// Most is how many runs are laid over each other: the page has that many colours.
const Most = 4

// Server shows runs to all who ask.
type Server struct {
	URL string

	dirs   []string
	server *http.Server
	ended  context.Context
	end    func()
}

// Listen serves the page of the runs in some directories at an address such as :8080, of which an empty host is this
// machine alone and port 0 any that is free.
func Listen(address string, dirs ...string) (*Server, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, errors.Errorf("-serve: got %q, want a port such as :8080, or a host and a port", address)
	}
	if host == "" {
		host = "127.0.0.1"
	}
	l, err := net.Listen("tcp", net.JoinHostPort(host, port))
	if err != nil {
		return nil, errors.Wrap(err, "-serve")
	}
	s := &Server{URL: "http://" + l.Addr().String() + "/", dirs: dirs}
	s.ended, s.end = context.WithCancel(context.Background())
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", s.page)
	mux.HandleFunc("GET /events", s.events)
	s.server = &http.Server{Handler: own(host, mux), ReadHeaderTimeout: 10 * time.Second,
		ErrorLog: log.New(io.Discard, "", 0)} // the terminal is the run's
	go s.server.Serve(l)
	return s, nil
}

// own is for the names of this machine alone, where nobody else is to be served: else a page from elsewhere could give
// itself a name that leads here, and read.
func own(host string, h http.Handler) http.Handler {
	local := func(name string) bool { return name == "localhost" || net.ParseIP(name).IsLoopback() }
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name, _, err := net.SplitHostPort(r.Host)
		if err != nil { // it has no port, as of http's own
			name = r.Host
		}
		if local(host) && !local(name) {
			http.Error(w, "this page is for this machine", http.StatusForbidden)
			return
		}
		h.ServeHTTP(w, r)
	})
}

// Close ends what is served, once those who read have been sent the rest; it does not wait long for those who do not.
func (s *Server) Close() error {
	s.end()
	ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
	defer cancel()
	if s.server.Shutdown(ctx) != nil {
		return s.server.Close()
	}
	return nil
}

func (s *Server) page(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	p := page.Runs{Title: title(s.dirs), Live: true}
	for _, dir := range s.dirs {
		p.Runs = append(p.Runs, page.Run{Name: dir})
	}
	p.Write(w) // who went away needs no error
}
