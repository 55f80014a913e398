package live

import "sync"

// board holds what is sent to every reader, encoded once: chunks that only grow, until they are replaced by fewer that
// say the same. A reader takes one chunk at a time, so that one who is slow keeps nothing.
type board struct {
	mu      sync.Mutex
	forget  []byte // tells a reader to forget everything
	chunks  [][]byte
	age     int           // how often the chunks were replaced
	before  int           // the number of chunks that the last ones replaced; −1 if they say something else
	same    int           // the number of chunks that took their place
	changed chan struct{} // closed when there is more
	ended   bool
	readers int
}

// place is how far a reader is.
type place struct {
	age, at int
	begun   bool
}

// next returns the chunk behind p, and moves p. If there is none yet, it returns a channel that is closed when there
// is, or reports that there will be none.
func (b *board) next(p *place) (chunk []byte, changed <-chan struct{}, ended bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if p.begun && p.age == b.age-1 && p.at == b.before {
		p.age, p.at = b.age, b.same
	}
	if !p.begun || p.age != b.age {
		*p = place{age: b.age, begun: true}
		return b.forget, nil, false
	}
	if p.at < len(b.chunks) {
		p.at++
		return b.chunks[p.at-1], nil, false
	}
	return nil, b.changed, b.ended
}

// add adds a chunk.
func (b *board) add(chunk []byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.chunks = append(b.chunks, chunk)
	b.wake()
}

// replace replaces all chunks. Readers who have them all begin again, unless the new ones say the same.
func (b *board) replace(chunks [][]byte, same bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.before = -1
	if same {
		b.before = len(b.chunks)
	}
	b.chunks, b.same, b.age = chunks, len(chunks), b.age+1
	if !same {
		b.wake()
	}
}

// end says that there will be no more.
func (b *board) end() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ended = true
	b.wake()
}

func (b *board) wake() {
	close(b.changed)
	b.changed = make(chan struct{})
}

// enter counts a reader, unless there are as many as most already.
func (b *board) enter(most int) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.readers >= most {
		return false
	}
	b.readers++
	return true
}

func (b *board) leave() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.readers--
}

// count returns the number of readers.
func (b *board) count() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.readers
}
