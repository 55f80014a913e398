package live

// series holds lines of one kind in the order of their arrival. It is thinned as it grows, so its size is limited
// however long a run is.
type series struct {
	most, bytes int // the numbers of lines and bytes at which it is full
	lines       []sized
	size        int // bytes
}

// sized is a line with a number whose extremes are kept.
type sized struct {
	text  []byte
	value float64
}

func (s *series) add(text []byte, value float64) {
	s.lines = append(s.lines, sized{text, value})
	s.size += len(text)
}

// full reports whether the series should be thinned.
func (s *series) full() bool { return len(s.lines) > 4 && (len(s.lines) > s.most || s.size > s.bytes) }

// burst reports whether the series must be thinned at once.
func (s *series) burst() bool {
	return len(s.lines) > 4 && (len(s.lines) > 2*s.most || s.size > 2*s.bytes)
}

// thin keeps the first line and the last, and of every four lines between them the two with the smallest and the
// greatest value.
func (s *series) thin() {
	old := s.lines
	s.clear()
	for i, l := range old {
		if i == 0 || i == len(old)-1 || extreme(old, i) {
			s.add(l.text, l.value)
		}
	}
}

// extreme reports whether line i has the smallest or the greatest value among its group of four lines.
func extreme(lines []sized, i int) bool {
	first := i / 4 * 4
	low, high := first, first
	for k := first; k < min(first+4, len(lines)); k++ {
		if lines[k].value < lines[low].value {
			low = k
		}
		if lines[k].value >= lines[high].value {
			high = k
		}
	}
	return i == low || i == high
}

func (s *series) clear() { s.lines, s.size = nil, 0 }
