package live

import "sync"

// board holds the chunks that are sent to every reader, encoded once. The list only grows, until fewer chunks with the
// same content replace it. A reader takes one chunk at a time, so that a slow reader holds no memory.
type board struct {
	mu      sync.Mutex
	forget  []byte // makes a reader discard everything
	chunks  [][]byte
	age     int           // number of times that the chunks were replaced
	before  int           // the number of chunks that the last ones replaced; −1 if the content differs
	same    int           // the number of chunks that took their place
	changed chan struct{} // closed when there is more
	ended   bool
	readers int
}

// place is the position of a reader.
type place struct {
	age, at int
	begun   bool
}

// next returns the chunk after p and advances p. If there is none yet, it returns a channel that is closed when there
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

// replace replaces all chunks. Readers that have them all start again, unless the new ones have the same content.
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

// end marks the board as complete.
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

// enter counts a reader, unless there are already at least most.
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
