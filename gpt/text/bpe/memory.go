package bpe

import (
	"hash/maphash"
	"strings"
)

// memory caches the pieces that one goroutine has encoded, because in a natural language most pieces recur. It is a
// hash table in which each piece has one place and replaces the piece that was there.
type memory struct {
	seed  maphash.Seed
	known []known
	loose []int32 // of a piece that is not cached
}

// known is a piece and its ids.
type known struct {
	piece string
	n     int
	ids   [6]int32
}

const (
	places  = 1 << 14
	longest = 32 // bytes of a piece that is cached
)

func newMemory() *memory { return &memory{seed: maphash.MakeSeed(), known: make([]known, places)} }

// encode returns the ids of a piece, which the next call overwrites.
func (m *memory) encode(t *Tokenizer, piece string) []int32 {
	if len(piece) > longest {
		m.loose = t.piece(m.loose, piece)
		return m.loose
	}
	at := &m.known[maphash.String(m.seed, piece)%places]
	if at.piece == piece {
		return at.ids[:at.n]
	}
	m.loose = t.piece(m.loose, piece)
	if len(m.loose) <= len(at.ids) {
		at.piece, at.n = strings.Clone(piece), copy(at.ids[:], m.loose)
	}
	return m.loose
}
