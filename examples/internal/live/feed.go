package live

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/pedestrian-ml/pedestrian/examples/internal/program"
)

const (
	pause     = 100 * time.Millisecond // between two readings of the files
	perReader = 2 * time.Millisecond   // added for every reader, so that a thousand take no more CPU than ten
	chunkSize = 1 << 16                // bytes that are sent at once
	mostNews  = 128                    // lines of a kind to send between two readings
)

// feed reads the files of all runs, once for all readers.
type feed struct {
	board
	runs      []*history
	restarted bool // a file began again, so the board holds outdated lines
}

func newFeed(dirs []string) *feed {
	f := &feed{board: board{changed: make(chan struct{})}}
	for i, dir := range dirs {
		f.runs = append(f.runs, newHistory(dir))
		for _, file := range []string{program.MetricsFile, LooksFile} {
			f.forget = append(f.forget, again(i, file)...)
		}
	}
	return f
}

// again returns the event that a file of a run begins again.
func again(run int, file string) []byte {
	return fmt.Appendf(nil, "data: {\"run\":%d,\"again\":%q}\n\n", run, file)
}

// event returns the event with a line of a run.
func event(run int, line json.RawMessage) []byte {
	return fmt.Appendf(nil, "data: {\"run\":%d,\"line\":%s}\n\n", run, line)
}

// follow reads until the context is done, and once more then.
func (f *feed) follow(ctx context.Context) {
	for ctx.Err() == nil {
		f.read()
		select {
		case <-ctx.Done():
		case <-time.After(pause + time.Duration(f.count())*perReader):
		}
	}
	f.read()
	f.end()
}

// read adds the new lines of the files to the board. It thins first, while most readers are up to date.
func (f *feed) read() {
	thinned := f.restarted
	for _, h := range f.runs {
		thinned = h.thin() || thinned
	}
	if thinned {
		f.replace(f.all(), true)
	}
	f.restarted = false
	var news []byte
	rebuild := false
	for i, h := range f.runs {
		news = append(news, f.news(i, h)...)
		rebuild, h.thinned = rebuild || h.thinned, false
	}
	switch {
	case rebuild:
		f.replace(f.all(), false)
	case len(news) > 0:
		f.add(news)
	}
}

// news returns the new lines of a run, thinned if they are many: a fast run writes many lines between two readings.
func (f *feed) news(run int, h *history) (events []byte) {
	fresh, most := map[*series]*series{}, mostNews
	if h.lines == 0 { // the first reading
		most = mostLines
	}
	h.more(func(file string) { // a file that cannot be read now may be readable later
		f.restarted = true
		events = append(events, again(run, file)...)
	}, func(s *series, l sized) {
		if fresh[s] == nil {
			fresh[s] = &series{most: most, bytes: mostBytes}
		}
		if fresh[s].add(l.text, l.value); fresh[s].burst() {
			fresh[s].thin()
		}
	})
	for _, s := range h.all() {
		if n := fresh[s]; n != nil {
			for n.full() {
				n.thin()
			}
			for _, l := range n.lines {
				events = append(events, event(run, l.text)...)
			}
		}
	}
	return events
}

// all returns chunks of all lines of all runs.
func (f *feed) all() (chunks [][]byte) {
	var chunk []byte
	for i, h := range f.runs {
		for _, line := range h.kept() {
			if chunk = append(chunk, event(i, line)...); len(chunk) >= chunkSize {
				chunks, chunk = append(chunks, chunk), nil
			}
		}
	}
	if len(chunk) > 0 {
		chunks = append(chunks, chunk)
	}
	return chunks
}
