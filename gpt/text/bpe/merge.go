package bpe

import (
	"container/heap"
	"math"
	"slices"
)

// pair is two neighbouring tokens.
type pair uint64

func pairOf(left, right int32) pair { return pair(left)<<32 | pair(uint32(right)) }

// merge describes how a pair is joined: of all pairs in a piece the one of the lowest rank is joined first.
type merge struct{ rank, id int32 }

// unmerged is the merge of a pair that is never joined.
var unmerged = merge{rank: math.MaxInt32}

// merges is the table of an encoding, in the order in which it was learnt (Sennrich et al. 2016, section 3.2).
type merges map[pair]merge

func (m merges) of(left, right int32) merge {
	if found, ok := m[pairOf(left, right)]; ok {
		return found
	}
	return unmerged
}

// short is the length in tokens up to which a piece is searched for its lowest rank from end to end.
const short = 48

// apply joins neighbours until no pair is in the table: always the pair of the lowest rank, and of equal ranks the
// leftmost. The result overwrites ids.
func (m merges) apply(ids []int32) []int32 {
	if len(ids) > short {
		return m.applyLong(ids)
	}
	var right [short]merge // of a token and the next one
	for i := range len(ids) - 1 {
		right[i] = m.of(ids[i], ids[i+1])
	}
	for n := len(ids); n > 1; n-- {
		at := 0
		for i := 1; i < n-1; i++ {
			if right[i].rank < right[at].rank {
				at = i
			}
		}
		if right[at] == unmerged {
			break
		}
		ids[at] = right[at].id
		copy(ids[at+1:], ids[at+2:])
		copy(right[at:], right[at+1:n-1])
		ids = ids[:n-1]
		if at > 0 {
			right[at-1] = m.of(ids[at-1], ids[at])
		}
		if at+1 < len(ids) {
			right[at] = m.of(ids[at], ids[at+1])
		}
	}
	return ids
}

// gone marks a token that was joined to the one before it.
const gone = -1

// applyLong does the same as apply in linear time, however long the piece: pairs wait in one queue for each rank.
func (m merges) applyLong(ids []int32) []int32 {
	p := newPiece(m, ids)
	p.joinAll()
	return slices.DeleteFunc(ids, func(id int32) bool { return id == gone })
}

// piece is a long piece while its neighbours are joined.
type piece struct {
	table         merges
	ids           []int32 // gone where there is no token any more
	before, after []int32 // the indices of a token's neighbours
	ranks         ranks   // the ranks that have a queue
	queues        map[int32][]int32
	waited        int // total number of pairs ever queued
}

func newPiece(table merges, ids []int32) *piece {
	p := &piece{table: table, ids: ids, queues: map[int32][]int32{}}
	p.before, p.after = make([]int32, len(ids)), make([]int32, len(ids))
	for i := range ids {
		p.before[i], p.after[i] = int32(i-1), int32(i+1)
	}
	return p
}

func (p *piece) joinAll() {
	for i := range p.ids {
		p.wait(int32(i))
	}
	for len(p.ranks) > 0 {
		p.join(heap.Pop(&p.ranks).(int32))
	}
}

// merge returns the merge of the token at i with the one after it.
func (p *piece) merge(i int32) merge {
	if i < 0 || p.ids[i] == gone || int(p.after[i]) >= len(p.ids) {
		return unmerged
	}
	return p.table.of(p.ids[i], p.ids[p.after[i]])
}

// wait puts the pair at i into the queue of its rank and returns the rank.
func (p *piece) wait(i int32) int32 {
	found := p.merge(i)
	if found == unmerged {
		return unmerged.rank
	}
	queue, there := p.queues[found.rank]
	if !there {
		heap.Push(&p.ranks, found.rank)
	}
	p.queues[found.rank] = append(queue, i)
	p.waited++
	return found.rank
}

// join joins the pairs of that rank until a pair of a lower rank appears. If two of them overlap, the left one waits
// first: equal tokens next to each other were created in one pass, from left to right.
func (p *piece) join(rank int32) {
	queue := p.queues[rank]
	delete(p.queues, rank)
	for k, i := range queue {
		found := p.merge(i)
		if found.rank != rank { // a neighbour has been joined elsewhere meanwhile
			continue
		}
		next := p.after[i]
		p.ids[i], p.ids[next], p.after[i] = found.id, gone, p.after[next]
		if after := p.after[i]; int(after) < len(p.ids) {
			p.before[after] = i
		}
		if min(p.wait(p.before[i]), p.wait(i)) < rank {
			p.queues[rank] = append(queue[k+1:len(queue):len(queue)], p.queues[rank]...)
			heap.Push(&p.ranks, rank)
			return
		}
	}
}

// ranks is a heap with the lowest rank first.
type ranks []int32

func (r ranks) Len() int           { return len(r) }
func (r ranks) Less(i, j int) bool { return r[i] < r[j] }
func (r ranks) Swap(i, j int)      { r[i], r[j] = r[j], r[i] }
func (r *ranks) Push(x any)        { *r = append(*r, x.(int32)) }
func (r *ranks) Pop() any {
	last := len(*r) - 1
	x := (*r)[last]
	*r = (*r)[:last]
	return x
}
