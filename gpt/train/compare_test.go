package train

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// The size of a text that another rank sends is bounded before anything is allocated for it.
func TestTextSize(t *testing.T) {
	for n, want := range map[[2]float32]int{{0, 0}: 0, {0, 7}: 7, {3, 5}: 3*4096 + 5, {4095, 4095}: 1<<24 - 1} {
		if got, err := textSize(n[:]); got != want || err != nil {
			t.Errorf("%v: got %d, %v, want %d", n, got, err, want)
		}
	}
	for _, n := range [][]float32{
		{4096, 0}, {0, 4096}, {-1, 0}, {0, -1}, {1e30, 0}, {float32(math.NaN()), 0}, {0, float32(math.Inf(1))},
	} {
		if _, err := textSize(n); err == nil {
			t.Errorf("%v: got no error", n)
		} else {
			contains(t, err, "bytes from rank 0, want")
		}
	}
}

// sent is rank 1 of two, which receives the given texts from rank 0. What is nil cannot be received.
type sent struct{ texts [][]float32 }

func (*sent) Rank() int                      { return 1 }
func (*sent) Size() int                      { return 2 }
func (*sent) Part() int                      { return 1 }
func (*sent) Sum([]float32) error            { return errLost }
func (*sent) Scatter([]float32, []int) error { return errLost }
func (*sent) Gather([]float32, []int) error  { return errLost }
func (*sent) Barrier() error                 { return errLost }
func (*sent) Close() error                   { return nil }

func (s *sent) Share(x []float32, _ int) error {
	text := s.texts[0]
	if s.texts = s.texts[1:]; text == nil {
		return errLost
	}
	copy(x, text)
	return nil
}

var errLost = errors.New("lost")

// A text that does not arrive from rank 0, or whose size is not one, is an error.
func TestFromRank0(t *testing.T) {
	for _, c := range []struct {
		texts      [][]float32
		want, text string
	}{
		{[][]float32{{0, 2}, {'o', 'k'}}, "", "ok"}, {[][]float32{nil}, "lost", ""},
		{[][]float32{{0, 4096}}, "bytes from rank 0", ""}, {[][]float32{{0, 2}, nil}, "lost", ""},
	} {
		core := &Core{Group: &sent{c.texts}}
		text, err := core.fromRank0("mine")
		if text != c.text || (err == nil) != (c.want == "") {
			t.Errorf("%v: got %q and error %v, want %q", c.texts, text, err, c.text)
		}
		if c.want != "" {
			contains(t, err, c.want)
			core.Group = &sent{c.texts}
			contains(t, core.compare(), "compare: ")
		}
	}
}

// Ranks agree on everything that changes a number, and on the program only before the first step.
func TestFacts(t *testing.T) {
	core, _ := descent(t, Training{GradientAccumulationSteps: 1}, adamw, func(int, int) float64 { return 0 },
		func(task *Task) {
			task.Facts, task.Batches = []string{"layers 7"}, rand.NewPCG(1, 2)
			task.Corpus = func() string { return "sum" }
		})
	names := func() (list []string) {
		for _, line := range core.facts() {
			name, _, _ := strings.Cut(line, " ")
			list = append(list, name)
		}
		return list
	}
	first := names()
	core.same = true
	later := names()
	if !slices.Equal(first[:2], []string{"build", "program's"}) || !slices.Equal(first[2:], later) {
		t.Errorf("got %q first, and %q later", first, later)
	}
	for _, name := range []string{"steps", "learning_rate", "layers", "corpus_sha256", "batches", "w", "m.w", "v.w"} {
		if !slices.Contains(later, name) {
			t.Errorf("no line of %s in %q", name, later)
		}
	}
	for added, want := range map[string]string{"": "", "\nmore 1": "got nothing, rank 0 has more 1"} {
		text := strings.Join(core.facts(), "\n") + added
		sizes, letters := []float32{float32(len(text) / 4096), float32(len(text) % 4096)}, []float32(nil)
		for _, b := range []byte(text) {
			letters = append(letters, float32(b))
		}
		core.Group = &sent{[][]float32{sizes, letters}}
		if err := core.compare(); want == "" && err != nil || want != "" && (err == nil || err.Error() != want) {
			t.Errorf("rank 0 adds %q: got error %v, want %q", added, err, want)
		}
	}
	core.Group = nil
	for _, name := range private {
		if slices.Contains(later, name) {
			t.Errorf("a line of %s, which may differ", name)
		}
	}
}
