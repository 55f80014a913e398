package peft

import (
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/pedestrian-ml/pedestrian/nn"
)

// written returns an open folder with the adapters of a model whose rank is r.
func written(t *testing.T, layers []*nn.LoRA, modelType string, r int) *Folder {
	t.Helper()
	list, rank, fanIn, err := Collect(Group(layers, family(t, modelType)), r)
	if err != nil {
		t.Fatal(err)
	}
	c := Config{Rank: rank, Alpha: 1, FanIn: fanIn}
	for _, m := range list {
		c.Targets = append(c.Targets, m.Name)
	}
	return reopened(t, c, list)
}

// reopened writes a folder and opens it.
func reopened(t *testing.T, c Config, list []Matrix) *Folder {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "adapter")
	if err := Write(dir, c, list); err != nil {
		t.Fatal(err)
	}
	f, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// cleared sets all numbers of the adapters to 0.
func cleared(layers []*nn.LoRA) []*nn.LoRA {
	for _, l := range layers {
		for _, a := range l.Adapters {
			clear(a.Down.Tensor().F64)
			clear(a.Up.Tensor().F64)
		}
	}
	return layers
}

// numbersOf returns the first r ranks of all d and u.
func numbersOf(layers []*nn.LoRA, r int) (list [][]float64) {
	for _, l := range layers {
		for _, a := range l.Adapters {
			d, u := a.Down.Tensor(), a.Up.Tensor()
			var first []float64
			for i := range d.Shape[0] {
				first = append(first, d.F64[i*d.Shape[1]:i*d.Shape[1]+r]...)
			}
			list = append(list, first, u.F64[:r*u.Shape[1]])
		}
	}
	return list
}

// Adapters that are written and read have the same numbers, times the factor, in a model with room for more ranks too.
func TestPairs(t *testing.T) {
	for _, modelType := range []string{"gpt2", "llama"} {
		for _, most := range []int{2, 3} {
			layers, read := layersOf(2), cleared(layersOf(most))
			f := written(t, layers, modelType, 2)
			pairs, err := f.Pairs(Group(read, family(t, modelType)), most)
			if err != nil {
				t.Fatal(err)
			}
			for _, p := range pairs {
				p.Set(-0.5)
			}
			for _, l := range layers {
				for _, a := range l.Adapters {
					u := a.Up.Tensor()
					for i := range u.Len() {
						u.Set(i, -0.5*u.At(i))
					}
				}
			}
			if diff := cmp.Diff(numbersOf(layers, 2), numbersOf(read, 2)); diff != "" {
				t.Errorf("%s with room for %d ranks: -written +read:\n%s", modelType, most, diff)
			}
			if need, err := f.Need(Group(read, family(t, modelType))); err != nil || need != 2 {
				t.Errorf("%s needs a rank of %d, %v, want 2", modelType, need, err)
			}
		}
	}
}

// An adapter that is untrained, u = 0, keeps its d in a model of its rank, and needs that rank.
func TestPairsUntrained(t *testing.T) {
	layers, read := layersOf(3)[2:3], cleared(layersOf(3))[2:3]
	clear(layers[0].Adapters[0].Up.Tensor().F64)
	f, list := written(t, layers, "gpt2", 3), Group(read, family(t, "gpt2"))
	pairs, err := f.Pairs(list, 3)
	if err != nil || len(pairs) != 1 {
		t.Fatalf("got %d pairs, %v, want 1", len(pairs), err)
	}
	pairs[0].Set(1)
	if diff := cmp.Diff(numbersOf(layers, 3), numbersOf(read, 3)); diff != "" {
		t.Errorf("-written +read:\n%s", diff)
	}
	if need, err := f.Need(list); err != nil || need != 3 {
		t.Errorf("got a rank of %d, %v, want 3", need, err)
	}
}

// A folder for some of the model's matrices sets only those.
func TestPairsOfSome(t *testing.T) {
	f, read := written(t, layersOf(2)[1:3], "llama", 2), cleared(layersOf(4))
	pairs, err := f.Pairs(Group(read, family(t, "llama")), 4)
	if err != nil || len(pairs) != 3 {
		t.Fatalf("got %d pairs, %v, want k and v of c_kv, and c_fc", len(pairs), err)
	}
	for i, want := range []nn.Adapter{read[1].Adapters[0], read[1].Adapters[1], read[2].Adapters[0]} {
		if got := pairs[i].to; got.Down.Name() != want.Down.Name() {
			t.Errorf("got %s, want %s", got.Down.Name(), want.Down.Name())
		}
	}
}

// A folder that does not belong to the model is refused, with the matrix and both numbers.
func TestPairsRefuses(t *testing.T) {
	list := Group(layersOf(1), family(t, "gpt2"))
	const name = "transformer.h.0.mlp.c_fc"
	fits := Matrix{name, numbers(2*inputs, 1), numbers(9*2, 1), nil}
	notFinite := Matrix{name, numbers(2*inputs, 1), numbers(9*2, 1), nil}
	notFinite.B[4] = float32(math.Inf(1))
	for words, list2 := range map[string][]Matrix{
		name + ": r: got 2, want at most the model's lora_r 1": {fits},
		name + ": got one for a matrix (4, 9), want (5, 9)":    {{name, numbers(2*4, 1), numbers(9*2, 1), nil}},
		name + ": got one for a matrix (5, 8), want (5, 9)": {
			{name, numbers(2*inputs, 1), numbers(8*2, 1), nil},
		},
		"h.1.mlp.c_fc: the model has no adapter there":                {fits, {"h.1.mlp.c_fc", fits.A, fits.B, nil}},
		"lora_B.weight: entry 4 is +Inf":                              {notFinite},
		name + ": in target_modules c_fc,h.1, but the file has no ma": {{"h.1", fits.A, fits.B, nil}},
	} {
		f := reopened(t, Config{Rank: 2, Alpha: 1, Targets: []string{"c_fc", "h.1"}}, list2)
		pairs, err := f.Pairs(list, 1)
		wantError(t, err, words)
		if pairs != nil {
			t.Errorf("%v: got %d pairs, want none", err, len(pairs))
		}
	}
	f := reopened(t, Config{Rank: 2, Alpha: 1, Targets: []string{"c_fc"}}, []Matrix{notFinite})
	_, err := f.Need(list)
	wantError(t, err, "entry 4 is +Inf")
}

// A rank may be 4096, or three times the matrix's own, whichever is larger.
func TestRankIsLimited(t *testing.T) {
	for _, c := range []struct{ in, out, most int }{{5, 7, 4096}, {1401, 1500, 4203}, {1500, 1403, 4209}} {
		list := []Adapters{{name: "c_fc", in: c.in, out: c.out}}
		f := &Folder{Config: Config{Rank: c.most, Targets: []string{"c_fc"}}, Shapes: []Shape{{"c_fc", c.in, c.out, 0}}}
		if err := f.fits(list); err != nil {
			t.Errorf("rank %d: %v", c.most, err)
		}
		f.Rank++
		wantError(t, f.fits(list), "c_fc: r: got ", ", want at most ")
	}
}

// A file that is cut after it was opened is an error.
func TestMatricesCut(t *testing.T) {
	f := written(t, layersOf(1), "gpt2", 1)
	info, err := f.values.Stat()
	if err == nil {
		err = os.Truncate(f.values.Name(), info.Size()-1)
	}
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.Matrices()
	wantError(t, err, weightsFile)
}

// Files are closed once their numbers are read, and after an error.
func TestFilesAreGivenBack(t *testing.T) {
	const own = "/proc/self/fd"
	if runtime.GOOS != "linux" {
		t.Skip("only Linux lists the open files of a process, in", own)
	}
	f := written(t, layersOf(1), "gpt2", 1)
	dir := filepath.Dir(f.values.Name())
	// Only files of this folder count: the garbage collector may close other tests' files meanwhile.
	open := func() (count int) {
		list, err := os.ReadDir(own)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range list {
			name, err := os.Readlink(filepath.Join(own, e.Name()))
			if err == nil && strings.HasPrefix(name, dir) {
				count++
			}
		}
		return count
	}
	if got := open(); got != 1 {
		t.Fatalf("%d files are open before the numbers are read, want 1", got)
	}
	if _, err := f.Matrices(); err != nil {
		t.Fatal(err)
	}
	put(t, dir, weightsFile, []byte("x"))
	if _, err := Open(dir); err == nil {
		t.Fatal("a broken file was opened")
	}
	if got := open(); got != 0 {
		t.Errorf("%d files are open after the numbers were read, want 0", got)
	}
	runtime.KeepAlive(f)
}

// A configuration that JSON cannot express is an error, and nothing is written.
func TestWriteRefuses(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "adapter")
	wantError(t, Write(dir, Config{Rank: 1, Alpha: math.Inf(1)}, nil), configFile)
	if _, err := os.Stat(dir); err == nil {
		t.Errorf("%s is there", dir)
	}
}
