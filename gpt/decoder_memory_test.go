package gpt

import (
	"bytes"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/gpt/internal/field"
	"github.com/pedestrian-ml/pedestrian/gpt/train"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/nn"
)

// For any memory limit, a decoder is refused or decodes.
func TestDecoderWithinItsMemory(t *testing.T) {
	for _, c := range []Config{odd(), ours()} { // cached, and rerun
		m := model64(t, c, true, 1)
		var refused, built int
		for limit := int64(1 << 9); limit < 1<<22; limit += limit / 8 {
			m.Graph.SetMemoryLimit(limit)
			d, err := NewDecoder(m, 1)
			if err != nil {
				refused++
				continue
			}
			built++
			feed(t, d, 3, 4, 5, 6, 7)
		}
		if refused == 0 || built == 0 {
			t.Errorf("%d decoders refused, %d built, want some of both", refused, built)
		}
		m.Graph.SetMemoryLimit(1 << 20)
		_, err := NewDecoder(m, 1<<12) // the caches alone are more
		mustContain(t, err, "decoder: memory: got about", "for the keys and values of sequences 4096", "want at most 0.0009766 GiB")
	}
}

func TestBatchesAtTheirBorder(t *testing.T) {
	for _, batch := range []int{0, field.MaxSize + 1} {
		_, err := New(emptyGraph(), tiny(), batch)
		mustContain(t, err, "gpt: got a batch of ", ", want 1 to 268435456")
	}
}

// The memory limit of the saved run does not apply to a loaded model, and a state of the largest size is read.
func TestLoadedStates(t *testing.T) {
	c := tiny()
	c.MemoryLimit = 3
	list := files(t, newTrainer(t, c))
	m, err := LoadModel(emptyGraph(), saved(t, 0, list))
	if err != nil {
		t.Fatal(err)
	}
	if m.Config.MemoryLimit != 0 {
		t.Errorf("memory_limit is %v, want 0", m.Config.MemoryLimit)
	}
	for size, want := range map[int]string{maxState: "", maxState + 1: "state.json: got 1048577 bytes, want at most 1048576"} {
		list := slices.Clone(list)
		for i, f := range list {
			if f.Name == train.StateFile {
				list[i].Write = func(w io.Writer) error {
					var b bytes.Buffer
					if err := f.Write(&b); err != nil {
						return err
					}
					_, err := io.WriteString(w, b.String()+strings.Repeat(" ", size-b.Len()))
					return err
				}
			}
		}
		if _, err := LoadModel(emptyGraph(), saved(t, 0, list)); want != "" {
			mustContain(t, err, want)
		} else if err != nil {
			t.Error(err)
		}
	}
}

// large has a Step that needs more memory than allowed.
type large struct {
	nn.Cached
	steps *int
}

func (l large) Step(x, at graph.Expr) graph.Expr {
	*l.steps++
	y := l.Cached.Step(x, at)
	wide := y
	for range 14 {
		wide = wide.Join(wide)
	}
	return wide.Cols(0, y.Shape()[1])
}

// After the first program that cannot be compiled, no other is built.
func TestDecoderOfALargeStep(t *testing.T) {
	var steps int
	m := model64(t, withOwn(7, func(_ nn.Site, l nn.Layer) nn.Layer { return large{l.(nn.Cached), &steps} }), true, 1)
	m.Graph.SetMemoryLimit(1 << 20)
	_, err := NewDecoder(m, 1)
	mustContain(t, err, "decoder: ", "memory: got ", "want at most 0.0009766 GiB")
	if steps != m.Config.NLayer {
		t.Errorf("Step was called %d times, want once for each of %d blocks", steps, m.Config.NLayer)
	}
}
