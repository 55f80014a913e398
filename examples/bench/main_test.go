package main

import (
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/pedestrian-ml/pedestrian/graph/stored"
)

// TestProcessor reads Linux's description of a processor, also an empty one.
func TestProcessor(t *testing.T) {
	const info = "processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 173\nmodel name\t: " +
		"Intel(R) Xeon(R)\nstepping\t: 1\n\nprocessor\t: 1\nvendor_id\t: other\n"
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
	const at = "sys/devices/system/cpu/cpu0/cache/index"
	root := fstest.MapFS{
		"proc/cpuinfo": file(info),
		at + "0/level": file("1\n"), at + "0/type": file("Data\n"), at + "0/size": file("48K\n"),
		at + "1/level": file("1\n"), at + "1/type": file("Instruction\n"), at + "1/size": file("64K\n"),
		at + "2/level": file("2\n"), at + "2/type": file("Unified\n"), at + "2/size": file("2048K\n"),
	}
	want := "Intel(R) Xeon(R) (GenuineIntel, family 6, model 173, stepping 1), L1 48K, L2 2048K"
	if got := processor(root); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := processor(fstest.MapFS{}); got == "" {
		t.Error("nothing is said of a processor that Linux does not describe")
	}
}

// TestTorchIsNotFlattered checks for a warning if PyTorch is slower than it could be.
func TestTorchIsNotFlattered(t *testing.T) {
	const good = "/usr/lib/x86_64-linux-gnu/openblas-openmp/libblas.so.3"
	for _, c := range []struct {
		blas    string
		threads float64
		want    string
	}{
		{good, 2, "PyTorch 2.6, 2 threads, BLAS " + good},
		{good, 1, "PyTorch 2.6, 1 threads, BLAS " + good + ": 2 threads were requested"},
		{"/usr/lib/blas/libblas.so.3", 2, "PyTorch 2.6, 2 threads, BLAS /usr/lib/blas/libblas.so.3: the " +
			"reference, many times slower than OpenBLAS (Debian: apt-get install libopenblas0-openmp)"},
	} {
		if got := describeTorch(measurement{"torch": "2.6", "threads": c.threads, "blas": c.blas}); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}

// TestTimesFaster compares with the faster precision of every round.
func TestTimesFaster(t *testing.T) {
	ms := func(x float64) measurement { return measurement{"ms_median": x} }
	ours, theirs, rounded := []measurement{ms(10), ms(20)}, []measurement{ms(15), ms(80)}, []measurement{ms(25), ms(60)}
	if got, want := timesFaster(ours, theirs, nil), []float64{1.5, 4}; !slices.Equal(got, want) {
		t.Errorf("float32: got %v, want %v", got, want)
	}
	if got, want := timesFaster(ours, theirs, rounded), []float64{1.5, 3}; !slices.Equal(got, want) {
		t.Errorf("the better of two: got %v, want %v", got, want)
	}
}

func TestThreadCounts(t *testing.T) {
	if got, err := threadCounts("1,2,16"); err != nil || !slices.Equal(got, []int{1, 2, 16}) {
		t.Errorf("got %v, %v, want [1 2 16]", got, err)
	}
	for _, bad := range []string{"", "1,", "two", "-1", "5000"} {
		if got, err := threadCounts(bad); err == nil {
			t.Errorf("%q: got %v, want an error", bad, got)
		}
	}
}

// TestSettings checks that contradicting flags are refused with a text that names the right ones.
func TestSettings(t *testing.T) {
	for _, c := range []struct {
		shape, precision string
		weights          stored.Packing
		want             string
	}{
		{"char", "bf16", "", ""},
		{"decode-baby", "float32", "int8", ""},
		{
			"decode", "bf16", "",
			`-precision: got "bf16" with -shape decode, want float32: for decoding with fewer bits use -weights`,
		},
		{"char", "float32", "int8", `-weights: got "int8" with -shape char`},
		{"decode", "float32", "int2", `-weights: got "int2"`},
		{"modern", "float32", "", ""}, {"decode-modern", "float32", "int8", ""},
		{"lora_tuning", "float32", "", `-shape: got "lora_tuning"`},
		{
			"decode-giant", "float32", "",
			`-shape: got "decode-giant", want one of baby, char, gpt2, a preset such as modern, or decode`,
		},
	} {
		o := options{shape: c.shape, steps: 1, weights: c.weights, comparison: comparison{precision: c.precision}}
		config, decode, err := o.settings()
		switch {
		case c.want == "" && (err != nil || decode != strings.HasPrefix(c.shape, "decode") || config.VocabSize != 65):
			t.Errorf("%+v: got %v", c, err)
		case c.want != "" && (err == nil || !strings.HasPrefix(err.Error(), c.want)):
			t.Errorf("got %v, want %s", err, c.want)
		}
	}
	if _, _, err := (options{shape: "char", comparison: comparison{precision: "float32"}}).settings(); err == nil {
		t.Error("0 steps: want an error")
	}
}
