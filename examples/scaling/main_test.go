package main

import (
	"bytes"
	"image/png"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The table begins with one machine, which computes all the time; a faster network gives a higher efficiency, and the
// picture is valid.
func TestTable(t *testing.T) {
	file := filepath.Join(t.TempDir(), "new", "scaling.png")
	var last string
	for _, network := range []string{"1gbit", "100gbit"} {
		var out bytes.Buffer
		if err := run(t.Context(), []string{"-shape", "baby", "-micro_ms", "345", "-gradient_accumulation_steps", "8",
			"-network", network,
			"-plot", file}, &out, &out); err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(out.String(), "\n")
		if len(lines) != 8 || !strings.Contains(lines[0], "10,745,088 parameters, 42.98 MB") ||
			!strings.HasSuffix(lines[2], " 100.0%") || lines[5] == last {
			t.Errorf("%s:\n%s", network, &out)
		}
		last = lines[5]
	}
	var out bytes.Buffer
	if err := run(t.Context(), []string{"-micro_ms", "22210", "-plot", ""}, &out, &out); err != nil ||
		!strings.Contains(out.String(), "1,421,000 ms") ||
		strings.Contains(out.String(), "e+") {
		t.Errorf("%v: got an exponent, want 1,421,000 ms:\n%s", err, &out)
	}
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := png.Decode(f); err != nil {
		t.Error(err)
	}
}

// A network is recovered from its times, the model agrees with measured links of known speed, and impossible times are
// refused.
func TestFit(t *testing.T) {
	net, err := fit("1:3,2:5,4:9")
	if err != nil || math.Abs(net.Latency-0.5e-3) > 1e-12 || math.Abs(net.Bandwidth/0.5e9-1) > 1e-9 {
		t.Errorf("got %v, %v", net, err)
	}
	for size, want := range map[float64]float64{3.3e6: 26.7e-3, 50e6: 422e-3} { // two namespaces at 1 Gbit/s
		if got := networks()["1gbit"].allReduce(2, size); math.Abs(got/want-1) > 0.07 {
			t.Errorf("%v bytes: got %v s, want %v", size, got, want)
		}
	}
	for _, wrong := range []string{"", "1", "1:2", "1:x", "-1:2,3:4", "1:4,2:3", "1:NaN,2:3"} {
		if net, err := fit(wrong); err == nil {
			t.Errorf("%q: got %v", wrong, net)
		}
	}
}

// The default of -micro_ms is char's alone: another shape without a time is refused, whatever else is given.
func TestTimeBelongsToShape(t *testing.T) {
	for _, args := range [][]string{{"-shape", "gpt2"}, {"-shape", "baby", "-network", "memory"}} {
		var out bytes.Buffer
		err := run(t.Context(), append(args, "-plot", ""), &out, &out)
		if err == nil || !strings.HasPrefix(err.Error(), "-micro_ms: got none with -preset "+args[1]) || out.Len() > 0 {
			t.Errorf("%v: got %v, want -micro_ms refused, and\n%s", args, err, &out)
		}
	}
	for _, args := range [][]string{{}, {"-shape", "char"}, {"-shape", "gpt2", "-micro_ms", "567"}} {
		if err := run(t.Context(), append(args, "-plot", ""), new(bytes.Buffer), new(bytes.Buffer)); err != nil {
			t.Errorf("%v: got %v", args, err)
		}
	}
}

// An impossible job is an error that names the flag.
func TestRefused(t *testing.T) {
	for _, args := range [][]string{{"-preset", "giant"}, {"-network", "pigeons"}, {"-micro_ms", "0"},
		{"-gradient_accumulation_steps", "0"},
		{"-measured", "3"}} {
		if err := run(t.Context(), args, new(bytes.Buffer), new(bytes.Buffer)); err == nil ||
			!strings.Contains(err.Error(), args[0][1:]) {
			t.Errorf("%v: got %v", args, err)
		}
	}
	if err := run(t.Context(), []string{"-measure"}, new(bytes.Buffer), new(bytes.Buffer)); err == nil ||
		!strings.Contains(err.Error(), "got 1 ranks, want 2") {
		t.Errorf("got %v", err)
	}
}
