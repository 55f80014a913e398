package train

import (
	"bytes"
	"cmp"
	"encoding/json"
	"io"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pedestrian-ml/pedestrian/gpt/checkpoint"
	"github.com/pedestrian-ml/pedestrian/gpt/safetensors"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/internal/fuzzed"
)

// shards returns two files of tensors and an index, in a folder.
func shards(t testing.TB, index string) *checkpoint.Checkpoint {
	t.Helper()
	dir := t.TempDir()
	write := func(name string, data []byte) {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for i, name := range []string{"a", "b"} {
		var b bytes.Buffer
		if err := WriteTensors(&b, []Named{named(name, float32(i+1), 3), named(name+
			"2", float32(i+5))}, nil, ""); err != nil {
			t.Fatal(err)
		}
		write(name+".safetensors", b.Bytes())
	}
	write("config.json", []byte("{}"))
	if index != "" {
		write(IndexFile, []byte(index))
	}
	cp, err := checkpoint.Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cp.Close() })
	return cp
}

const goodIndex = `{"metadata": {"total_size": 24}, "weight_map": {"a": "a.safetensors", "a2": "a.safetensors", "b": "b.safetensors", "b2": "b.safetensors"}}`

// Tensors are found in the files that the index names, and read as from one file.
func TestOpenWeights(t *testing.T) {
	f, err := OpenWeights(shards(t, goodIndex))
	if err != nil {
		t.Fatal(err)
	}
	list := []Named{named("b2", 0), named("a", 0, 0), named("a2", 0), named("b", 0, 0)}
	if err := Fill(list, f); err != nil {
		t.Fatal(err)
	}
	if list[0].At(0) != 6 || list[1].At(1) != 3 || list[1].At(0) != 1 || list[2].At(0) != 5 || list[3].At(0) != 2 {
		t.Errorf("got %v", list)
	}
}

// An index with a wrong file for a tensor is an error that names the tensor and the file.
func TestOpenWeightsRefuses(t *testing.T) {
	for index, want := range map[string]string{
		``:                   ": model.safetensors: file does not exist",
		`{`:                  IndexFile + ": line 1, column 1: unexpected end",
		`[]`:                 IndexFile + ": line 1, column 1: got a list, want an object",
		`{"weight_map": {}}`: "weight_map: got no tensors",
		`{"weight_map": {"a": "../a.safetensors"}}`:   "weight_map: a: got file ../a.safetensors, want the name of one in the same folder",
		`{"weight_map": {"a": "/etc/passwd"}}`:        "got file /etc/passwd, want",
		`{"weight_map": {"a": "sub\\a.safetensors"}}`: "want the name of one in the same folder",
		`{"weight_map": {"a": ""}}`: "want the name of " +
			"one in the same folder",
		`{"weight_map": {"a": 7}}`: "line 1, column 22: " +
			"weight_map: got a number, want a string",
		`{"weight_map": {"a": "c.safetensors"}}`:                                              "c.safetensors: file does not exist",
		`{"weight_map": {"a": "config.json"}}`:                                                "config.json: safetensors",
		`{"weight_map": {"a": "a.safetensors"}}`:                                              `weight_map: a2: got file "", want a.safetensors, which holds it`,
		`{"weight_map": {"a": "b.safetensors", "a2": "a.safetensors"}}`:                       `weight_map: a: got file "b.safetensors", want a.safetensors`,
		`{"weight_map": {"a": "a.safetensors", "a2": "a.safetensors", "c": "a.safetensors"}}`: "weight_map: c: got file a.safetensors, which does not hold it",
	} {
		_, err := OpenWeights(shards(t, index))
		contains(t, err, want)
	}
	_, err := OpenWeights(shards(t, goodIndex+strings.Repeat(" ", checkpoint.MaxFile)))
	contains(t, err, "bytes, want at most 33554432")
}

// FuzzIndex: no index makes the reader panic, or refers to a file outside the folder.
func FuzzIndex(f *testing.F) {
	f.Add([]byte(goodIndex))
	f.Add([]byte(`{"weight_map": {"a": ".."}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var index map[string]string
		var err error
		fuzzed.Bounded(t, fuzzed.Linear(len(data)), 10*time.Second, func() { index, err = readIndex(data) })
		if err != nil {
			return
		}
		for tensor, name := range index {
			if filepath.Base(name) != name || name == ".." || name == "." {
				t.Errorf("%q: accepted file %q", tensor, name)
			}
		}
		text, err := json.Marshal(map[string]any{"weight_map": index})
		if err != nil {
			t.Fatal(err)
		}
		if again, err := readIndex(text); err != nil || len(again) != len(index) {
			t.Errorf("cannot read what was written: %v", err)
		}
	})
}

// One of our tensors may be several in a file, each with some of its columns in another order, transposed or not. It is
// the same after writing and reading, in either type, also in pieces.
func TestNamedColumns(t *testing.T) {
	const rows, width = 131, 300 // several chunks of a file
	for _, dtype := range []graph.Dtype{graph.Float32, graph.Float64} {
		x, y := graph.Tensor{Shape: []int{rows, width}}, graph.Tensor{Shape: []int{rows, width}}
		if dtype == graph.Float32 {
			x.F32, y.F32 = make([]float32, rows*width), make([]float32, rows*width)
		} else {
			x.F64, y.F64 = make([]float64, rows*width), make([]float64, rows*width)
		}
		if dtype == graph.Float64 {
			x.Set(7, 1e300)
			contains(
				t, WriteTensors(new(bytes.Buffer), []Named{{Name: "x", Tensor: x}}, nil, safetensors.F32),
				"x: entry 7 is +Inf",
			)
		}
		for i := range x.Len() {
			x.Set(i, float64(i))
		}
		var left, right []int
		for c := range width {
			if c%3 == 0 {
				left = append([]int{c}, left...)
			} else {
				right = append(right, c)
			}
		}
		lie := func(t graph.Tensor) []Named {
			return []Named{
				{Name: "l", Tensor: t, View: turned(rows, len(left)), Columns: left},
				{Name: "r", Tensor: t, Columns: right},
			}
		}
		for _, as := range []string{"", safetensors.F32, safetensors.F64} {
			var b bytes.Buffer
			if err := WriteTensors(&b, lie(x), nil, as); err != nil {
				t.Fatal(err)
			}
			f := opened(t, b.Bytes())
			i := slices.IndexFunc(f.Entries, func(e safetensors.Entry) bool { return e.Name == "l" })
			if !slices.Equal(f.Entries[i].Shape, []int{len(left), rows}) {
				t.Errorf("l has shape %v", f.Entries[i].Shape)
			}
			err := f.Values(f.Entries[i], func(at int, part safetensors.Tensor) error {
				if at == 0 && len(part.F32) > 5 && part.F32[5] != float32(5*width+left[0]) {
					t.Errorf("row 0, column 5 of l is %v", part.F32[5])
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			for i := range y.Len() {
				y.Set(i, -1)
			}
			if err := Restore(lie(y), f); err != nil {
				t.Fatal(err)
			}
			if as == "" {
				contains(
					t, Restore([]Named{{Name: "r", Tensor: y, Columns: right}}, damaged(t, x, right)),
					"r: entry 26199 is NaN",
				)
			}
			if !slices.Equal(x.Floats(), y.Floats()) {
				t.Errorf("%v written as %q: read back it is another", dtype, as)
			}
		}
	}
}

// damaged returns a file of these columns of x, whose last number is NaN.
func damaged(t *testing.T, x graph.Tensor, columns []int) *safetensors.File {
	t.Helper()
	x = x.Clone()
	x.Set(x.Len()-1, math.NaN())
	return filed(t, Named{Name: "r", Tensor: x, Columns: columns})
}

// The matrices of several experts lie in one tensor of a file, the columns of two in turn, or the rows of their
// transposes. They are the same after writing and reading in pieces, in every type, and the file has one tensor.
func TestExpertsInOneTensor(t *testing.T) {
	const experts, rows, inner = 3, 70, 90
	named := func(turned bool, columns []int, shift float64, dtype graph.Dtype) (list []Named) {
		for e := range experts {
			for part := range 2 {
				x := Named{Name: "w", Columns: columns, Shift: shift, Tensor: graph.Tensor{Shape: []int{rows, inner}}}
				if dtype == graph.Float32 {
					x.F32 = make([]float32, rows*inner)
				} else {
					x.F64 = make([]float64, rows*inner)
				}
				x.View = View{[]int{experts, rows, 2 * inner}, e*rows*2*inner + part, 2 * inner, 2}
				if turned {
					x.View = View{[]int{experts, 2 * inner, rows}, e*rows*2*inner + part*rows, 1, 2 * rows}
				}
				list = append(list, x)
			}
		}
		return list
	}
	order := make([]int, inner)
	for j := range order {
		order[j] = (j*7 + 3) % inner
	}
	for _, turned := range []bool{false, true} {
		for _, columns := range [][]int{nil, order} {
			for _, shift := range []float64{0, 1} {
				for _, dtype := range []graph.Dtype{graph.Float32, graph.Float64} {
					list := named(turned, columns, shift, dtype)
					want := make([]float64, 2*experts*rows*inner) // of the file
					for i, x := range list {
						for row := range rows {
							for j := range inner {
								column := j
								if columns != nil {
									column = columns[j]
								}
								at := ((i/2)*rows+row)*2*inner + 2*j + i%2
								if turned {
									at = ((i/2)*2*inner+2*j+i%2)*rows + row
								}
								want[at] = float64(at)
								x.Set(row*inner+column, float64(at)+shift)
							}
						}
					}
					var b bytes.Buffer
					if err := WriteTensors(&b, list, nil, ""); err != nil {
						t.Fatal(err)
					}
					f := opened(t, b.Bytes())
					flat := Named{
						Name: "w", Tensor: graph.Tensor{Shape: list[0].View.Shape, F64: make([]float64, len(want))},
					}
					again := named(turned, columns, shift, dtype)
					if err := cmp.Or(Fill([]Named{flat}, f), Restore(again, f)); err != nil {
						t.Fatal(err)
					}
					if !slices.Equal(flat.F64, want) {
						t.Errorf(
							"turned %t, columns %t, shift %v, %v: the file has other numbers", turned, columns != nil,
							shift, dtype,
						)
					}
					for i, x := range again {
						if !slices.Equal(x.Floats(), list[i].Floats()) {
							t.Errorf(
								"turned %t, columns %t, shift %v, %v: matrix %d is another", turned, columns != nil,
								shift, dtype, i,
							)
						}
					}
				}
			}
		}
	}
}

// reads counts the bytes that are read from a file.
type reads struct {
	io.ReaderAt
	n int
}

// ReadAt reads and counts.
func (r *reads) ReadAt(p []byte, at int64) (int, error) {
	n, err := r.ReaderAt.ReadAt(p, at)
	r.n += n
	return n, err
}

// A tensor that holds many matrices is read once, and never as a whole.
func TestExpertsAreReadOnce(t *testing.T) {
	const experts, rows, columns = 64, 64, 48
	var list []Named
	for e := range experts {
		x := graph.Tensor{Shape: []int{rows, columns}, F32: make([]float32, rows*columns)}
		view := View{[]int{experts, rows, columns}, e * rows * columns, columns, 1}
		list = append(list, Named{Name: "w", Tensor: x, View: view})
	}
	var b bytes.Buffer
	if err := WriteTensors(&b, list, nil, ""); err != nil {
		t.Fatal(err)
	}
	r := &reads{ReaderAt: bytes.NewReader(b.Bytes())}
	f, err := safetensors.Open(r, int64(b.Len()))
	if err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if err := Fill(list, f); err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	if more := after.TotalAlloc - before.TotalAlloc; more > uint64(b.Len()/4) {
		t.Errorf("reading %d bytes allocates %d", b.Len(), more)
	}
	if r.n != b.Len() {
		t.Errorf("got %d bytes read, want the file's %d", r.n, b.Len())
	}
}

// A view in which a number has no place in the file's tensor is an error, when reading and when writing.
func TestViewsRefused(t *testing.T) {
	x := graph.Tensor{Shape: []int{2, 3}, F32: make([]float32, 6)}
	f := filed(t, Named{Name: "x", Tensor: x})
	for want, v := range map[string]Named{
		"x: got the view {[2 3] 1 3 1}, want the places of 2·3 numbers": {Tensor: x, View: View{[]int{2, 3}, 1, 3, 1}},
		"x: got the view {[2 3] -1 3 1}, want the places of 2·3 numbers": {
			Tensor: x, View: View{[]int{2, 3}, -1, 3, 1},
		},
		"x: got the view {[2 3] 0 0 1}, want the places of 2·3 numbers": {Tensor: x, View: View{[]int{2, 3}, 0, 0, 1}},
		"x: got the view {[2 3] 0 3 0}, want the places of 2·3 numbers": {Tensor: x, View: View{[]int{2, 3}, 0, 3, 0}},
		"x: got column 3, want one of 3":                                {Tensor: x, Columns: []int{0, 3}},
		"x: got column -1, want one of 3":                               {Tensor: x, Columns: []int{-1}},
		"x: got no shape, want one of a tensor": {
			Tensor: graph.Tensor{F32: []float32{1}}, Columns: []int{0},
		},
		"x: got no shape, want one of a tensor to rearrange or shift": {
			Tensor: graph.Tensor{F32: []float32{1}}, Shift: 1,
		},
	} {
		v.Name = "x"
		contains(t, Fill([]Named{v}, f), want)
		contains(t, WriteTensors(new(bytes.Buffer), []Named{v}, nil, ""), want)
	}
}

// If a file has more rows, the first ones are read, in every type.
func TestNamedRows(t *testing.T) {
	long := Named{Name: "p", Tensor: graph.Tensor{Shape: []int{3, 2}, F32: []float32{1, 2, 3, 4, 5, 6}}}
	for _, short := range []graph.Tensor{
		{Shape: []int{2, 2}, F32: make([]float32, 4)}, {Shape: []int{2, 2}, F64: make([]float64, 4)},
	} {
		if err := Restore(
			[]Named{{Name: "p", Tensor: short, View: View{[]int{3, 2}, 0, 2, 1}}}, filed(t, long),
		); err != nil || !slices.Equal(short.Floats(), []float64{1, 2, 3, 4}) {
			t.Errorf("got %v, %v", short.Floats(), err)
		}
		contains(
			t, Restore([]Named{{Name: "p", Tensor: short, View: View{[]int{4, 2}, 0, 2, 1}}}, filed(t, long)),
			"p has shape [3 2] in the file, [4 2] in the model",
		)
	}
	contains(t, Restore(
		[]Named{
			{
				Name: "p", Tensor: graph.Tensor{Shape: []int{2, 2}, F32: make([]float32, 4)},
				View: View{[]int{1, 2}, 0, 2, 1},
			},
		},
		filed(t, long),
	),
		"p: got the view {[1 2] 0 2 1}, want the places of 2·2 numbers")
}
