package live

import (
	"net/http"
	"time"
)

// events sends the lines of all runs as server-sent events, from their beginning, and continues as they are written. A
// reader that connects again gets all of them again. A reader that does not read is dropped and delays nothing.
func (s *Server) events(w http.ResponseWriter, r *http.Request) {
	if most := s.limits.connections; !s.feed.enter(max(1, most-most/8)) { // the rest is for pages
		w.Header().Set("Retry-After", "10")
		http.Error(w, "too many pages are open", http.StatusServiceUnavailable)
		return
	}
	defer s.feed.leave()
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	control := http.NewResponseController(w)
	send := func(chunk []byte) error {
		if err := control.SetWriteDeadline(time.Now().Add(s.limits.patience)); err != nil {
			return err
		}
		_, err := w.Write(chunk)
		return err
	}
	for at := (place{}); ; {
		chunk, changed, ended := s.feed.next(&at)
		switch {
		case chunk != nil:
			if send(chunk) != nil {
				return
			}
			continue
		case ended:
			send([]byte("event: end\ndata:\n\n"))
			return
		}
		if control.Flush() != nil {
			return
		}
		select {
		case <-r.Context().Done():
			return
		case <-changed:
		}
	}
}
