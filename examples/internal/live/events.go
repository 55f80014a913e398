package live

import (
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"time"
)

const (
	pause    = 100 * time.Millisecond // between two looks at the files
	patience = 10 * time.Second       // with one who does not read
)

// events sends the lines of all runs as server-sent events, from their beginning, and goes on as they are written. Who
// connects again gets all of it again. One who reads slowly delays nobody else, and nothing that is written.
func (s *Server) events(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	control := http.NewResponseController(w)
	send := func(format string, args ...any) error {
		if err := control.SetWriteDeadline(time.Now().Add(patience)); err != nil {
			return err
		}
		_, err := fmt.Fprintf(w, format, args...)
		return err
	}
	tails, runs := []*tail(nil), []int(nil)
	for i, dir := range s.dirs {
		for _, path := range files(dir) {
			tails, runs = append(tails, &tail{path: path}), append(runs, i)
		}
	}
	for ended := false; ; {
		for i, t := range tails {
			again := func() error { return send("data: {\"run\":%d,\"again\":%q}\n\n", runs[i], filepath.Base(t.path)) }
			line := func(line json.RawMessage) error { return send("data: {\"run\":%d,\"line\":%s}\n\n", runs[i], line) }
			if t.more(again, line) != nil {
				return
			}
		}
		if ended {
			send("event: end\ndata:\n\n")
			return
		}
		if control.Flush() != nil {
			return
		}
		select {
		case <-r.Context().Done():
			return
		case <-s.ended.Done():
			ended = true
		case <-time.After(pause):
		}
	}
}
