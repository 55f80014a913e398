package grammar

// object is the set of objects with properties in their order, or with members of any names.
type object struct {
	properties []property
	member     *node // value of members of any name; nil if there are none
}

// property is a member of an object with a given name.
type property struct {
	name     string // in quotes, with the colon
	value    *node
	required bool
}

// object returns the node of objects.
func (b *builder) object(properties []property, member *node) *node {
	b.need(`{}":,`)
	for _, p := range properties {
		b.need(p.name)
	}
	return b.node(object{properties, member})
}

func (o object) shortest(depth int) int {
	if depth == 0 {
		return infinite
	}
	return sum(1, members{object: &o, depth: depth - 1, first: true}.shortest())
}

func (o object) begin(b byte, depth int, next *state, out []*state) []*state {
	if b != '{' || depth == 0 {
		return out
	}
	m := members{object: &o, depth: depth - 1, first: true}
	return add(out, push(space(mostSpace), push(m, next)))
}

// members is the rest of an object after its beginning or after a member.
type members struct {
	*object
	at    int // the next property
	depth int // of values
	first bool
}

// shortest returns the length of all required properties, of the commas and of the end.
func (m members) shortest() int {
	total, comma := 1, 1
	if m.first {
		comma = 0
	}
	for _, p := range m.properties[m.at:] {
		if p.required {
			total = sum(total, sum(comma+len(p.name), p.value.shortest(m.depth)))
			comma = 1
		}
	}
	return total
}

func (members) empty() bool { return false }

func (m members) step(b byte, s *state, out []*state) []*state {
	switch {
	case b == '}':
		for _, p := range m.properties[m.at:] {
			if p.required {
				return out
			}
		}
		return add(out, s.next)
	case b == '"' && m.first:
		return name{m}.step(b, s, out)
	case b == ',' && !m.first:
		return add(out, push(space(mostSpace), push(name{m}, s.next)))
	}
	return out
}

func (m members) key(to []byte) []byte { return m.keyed(to, 'm') }

func (m members) keyed(to []byte, kind byte) []byte {
	first, id := 0, -1 // objects differ in the nodes of their values
	if m.first {
		first = 1
	}
	if m.member != nil {
		id = m.member.id
	}
	to = keyed(to, kind, m.at, m.depth, first, id, len(m.properties))
	for _, p := range m.properties[m.at:] {
		to = keyed(append(to, p.name...), 0, p.value.id)
	}
	return to
}

// name is a member that must follow.
type name struct{ members }

// after returns what follows the i-th property.
func (n name) after(i int) members { return members{n.object, i + 1, n.depth, false} }

func (n name) shortest() int {
	if n.member != nil {
		return sum(3, sum(n.member.shortest(n.depth), n.after(len(n.properties)-1).shortest()))
	}
	length := infinite
	for i, p := range n.properties[n.at:] {
		rest := sum(p.value.shortest(n.depth), n.after(n.at+i).shortest())
		if length = min(length, sum(len(p.name), rest)); p.required {
			break
		}
	}
	return length
}

func (n name) step(b byte, s *state, out []*state) []*state {
	if b != '"' {
		return out
	}
	follow := func(of *node, m members) *state {
		return push(space(mostSpace), push(value{of, n.depth}, push(space(mostSpace), push(m, s.next))))
	}
	if n.member != nil {
		rest := push(literal(":"), follow(n.member, n.after(len(n.properties)-1)))
		return add(out, push(characters{text: text{0, -1}}, rest))
	}
	for i, p := range n.properties[n.at:] {
		out = add(out, push(literal(p.name[1:]), follow(p.value, n.after(n.at+i))))
		if p.required {
			break
		}
	}
	return out
}

func (n name) key(to []byte) []byte { return n.keyed(to, 'p') }

// list is the set of lists of a number of values; most is −1 without a limit.
type list struct {
	items        *node
	fewest, most int
}

// list returns the node of lists.
func (b *builder) list(items *node, fewest, limit int) *node {
	b.need("[],")
	return b.node(list{items, fewest, limit})
}

func (l list) shortest(depth int) int {
	if depth == 0 {
		return infinite
	}
	return sum(1, elements{list: l, depth: depth - 1, first: true}.shortest())
}

func (l list) begin(b byte, depth int, next *state, out []*state) []*state {
	if b != '[' || depth == 0 {
		return out
	}
	return add(out, push(space(mostSpace), push(elements{list: l, depth: depth - 1, first: true}, next)))
}

// elements is the rest of a list after its beginning or after a value.
type elements struct {
	list
	n     int // values so far
	depth int // of values
	first bool
}

func (e elements) shortest() int {
	missing := e.fewest - e.n
	if missing <= 0 {
		return 1
	}
	value := sum(1, e.items.shortest(e.depth))
	if value > infinite/missing {
		return infinite
	}
	total := missing*value + 1
	if e.first {
		total--
	}
	return min(infinite, total)
}

func (elements) empty() bool { return false }

func (e elements) step(b byte, s *state, out []*state) []*state {
	next := elements{e.list, e.n + 1, e.depth, false}
	if e.most < 0 {
		next.n = min(next.n, e.fewest)
	}
	after := func() *state { return push(space(mostSpace), push(next, s.next)) }
	more := e.most < 0 || e.n < e.most
	switch {
	case b == ']':
		if e.n >= e.fewest {
			out = add(out, s.next)
		}
		return out
	case e.first && more:
		return e.items.begin(b, e.depth, after(), out)
	case b == ',' && !e.first && more:
		return add(out, push(space(mostSpace), push(value{e.items, e.depth}, after())))
	}
	return out
}

func (e elements) key(to []byte) []byte {
	first := 0
	if e.first {
		first = 1
	}
	return keyed(to, 'e', e.items.id, e.fewest, e.most, e.n, e.depth, first)
}
