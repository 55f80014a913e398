package bpe

import (
	"hash/maphash"
	"strings"
)

// memory is what one goroutine keeps of the pieces that it has encoded, because in a natural language most come again:
// a table in which a piece has one place, and takes it from another.
type memory struct {
	seed  maphash.Seed
	known []known
	loose []int32 // of a piece that is not kept
}

// known is a piece and its ids.
type known struct {
	piece string
	n     int
	ids   [6]int32
}

const (
	places  = 1 << 14
	longest = 32 // bytes of a piece that is kept
)

func newMemory() *memory { return &memory{seed: maphash.MakeSeed(), known: make([]known, places)} }

// encode returns the ids of a piece, which the next call overwrites.
func (m *memory) encode(t *Tokenizer, piece string) []int32 {
	if len(piece) > longest {
		m.loose = t.encode(m.loose[:0], piece)
		return m.loose
	}
	at := &m.known[maphash.String(m.seed, piece)%places]
	if at.piece == piece {
		return at.ids[:at.n]
	}
	m.loose = t.encode(m.loose[:0], piece)
	if len(m.loose) <= len(at.ids) {
		at.piece, at.n = strings.Clone(piece), copy(at.ids[:], m.loose)
	}
	return m.loose
}
