// Package live shows runs in a browser, while they train and afterwards. It reads the files that they write anyway, so
// a run does not wait for its readers. One goroutine reads the files for all readers, and the numbers of connections
// and of kept lines are limited. Listen serves a page, Finished returns one for a file.
package live

import (
	"context"
	"io"
	"log"
	"net"
	"net/http"
	"time"

	"github.com/pedestrian-ml/pedestrian/examples/internal/page"
	"github.com/pedestrian-ml/pedestrian/examples/internal/serve"
)

// Most is the largest number of runs that are laid over each other: the page has four colours.
const Most = 4

// Server shows runs to its clients.
type Server struct {
	URL string

	dirs   []string
	server *http.Server
	feed   *feed
	limits limits
	end    func()
	done   chan struct{} // closed when the feed has ended
}

// Listen serves the page of the runs in the given directories at an address such as :8080. An empty host means this
// machine alone, and port 0 any free port.
func Listen(address string, dirs ...string) (*Server, error) {
	l, host, err := serve.Listen(address)
	if err != nil {
		return nil, err
	}
	return start(l, host, limits{serve.Connections(), 10 * time.Second}, dirs), nil
}

// limits holds the number of simultaneous connections, and how long the server waits for an idle one.
type limits struct {
	connections int
	patience    time.Duration
}

func start(l net.Listener, host string, most limits, dirs []string) *Server {
	s := &Server{
		URL: "http://" + l.Addr().String() + "/", dirs: dirs, feed: newFeed(dirs), limits: most,
		done: make(chan struct{}),
	}
	ctx, end := context.WithCancel(context.Background())
	s.end = end
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", s.page)
	mux.HandleFunc("GET /events", s.events)
	s.server = &http.Server{
		Handler:           serve.Guard(host, serve.Text, serve.NoBody(mux)),
		ReadHeaderTimeout: most.patience, IdleTimeout: most.patience, WriteTimeout: most.patience,
		MaxHeaderBytes: 1 << 14,
		ErrorLog:       log.New(io.Discard, "", 0), // the terminal is the run's
	}
	go s.server.Serve(serve.Limit(l, most.connections))
	go func() {
		defer close(s.done)
		s.feed.follow(ctx)
	}()
	return s
}

// Close shuts the server down after the rest has been sent. It waits only briefly for clients that do not read.
func (s *Server) Close() error {
	s.end()
	<-s.done
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
	p.Write(w) // a client that left is not an error
}
