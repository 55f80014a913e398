package trainer

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/examples/book/internal/wasm"
	"github.com/pedestrian-ml/pedestrian/examples/book/trainer/internal/session"
)

// TestWebAssembly builds the program of the page once. It is skipped with -short, because the build takes a minute.
func TestWebAssembly(t *testing.T) {
	if testing.Short() {
		t.Skip("-short is set: this builds the WebAssembly for a minute")
	}
	program, err := Build(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Run("size", func(t *testing.T) { sizeOf(t, program) })
	every, steps, node := 30, 10, []string{"--liftoff-only"} // by day the thirtieth choice, and node's quick compiler
	if os.Getenv("NIGHTLY") != "" {
		every, steps, node = 1, 50, nil
	}
	t.Run("bits", func(t *testing.T) { bitsOf(t, program, everyRequest(t, every, steps), node) })
}

// sizeOf asserts that the program of the page has at most 4 MB, compressed.
func sizeOf(t *testing.T, program []byte) {
	packed, err := wasm.Compress(program)
	if err != nil {
		t.Fatal(err)
	}
	const most = 4_000_000
	if t.Logf("%d bytes, %d compressed", len(program), len(packed)); len(packed) > most {
		t.Errorf("got %d bytes, want at most %d", len(packed), most)
	}
}

// bitsOf asserts that the program of the page answers as the native one does: with equal losses, weights, samples,
// attention and hashes, to every request, and with gradients that agree. So nothing that it needs is cut. Node gets the
// flags.
func bitsOf(t *testing.T, program []byte, requests, flags []string) {
	if _, err := exec.LookPath("node"); err != nil {
		t.Skip("node is not installed, which runs the WebAssembly")
	}
	path := filepath.Join(t.TempDir(), "trainer.wasm")
	if err := os.WriteFile(path, program, 0o644); err != nil {
		t.Fatal(err)
	}
	support, err := wasm.Support(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	glue := filepath.Join(t.TempDir(), "wasm_exec.js")
	if err := os.WriteFile(glue, support, 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "node", append(flags, "testdata/handle.cjs", glue, path)...)
	cmd.Stdin, cmd.Stderr = strings.NewReader(strings.Join(requests, "\n")), os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	answers := strings.Split(strings.TrimSpace(string(out)), "\n")
	if len(answers) != len(requests) {
		t.Fatalf("got %d answers, want %d", len(answers), len(requests))
	}
	var native session.Session
	for i, r := range requests {
		took, got, _ := strings.Cut(answers[i], " ")
		want := string(native.Handle([]byte(r)))
		switch {
		case strings.Contains(want, `"error"`):
			t.Errorf("%s: got %s from the native program", r, want)
		case strings.Contains(r, `"gradient"`):
			compareGradients(t, r, got, want)
		case got != want:
			t.Errorf("%.150s: got %.300s, want %.300s", r, got, want)
		}
		var asked struct{ Steps float64 }
		if err := json.Unmarshal([]byte(r), &asked); err != nil {
			t.Fatal(err)
		}
		if ms, err := strconv.ParseFloat(took, 64); err == nil && asked.Steps > 2 {
			t.Logf("%.1f ms of a processor for a step", ms/asked.Steps)
		}
	}
}

// everyRequest returns requests that begin with one choice in so many, the first with further steps.
func everyRequest(t *testing.T, every, steps int) (list []string) {
	var s session.Session
	var c session.Choices
	if err := json.Unmarshal(s.Handle([]byte(`{"do":"choices"}`)), &c); err != nil {
		t.Fatal(err)
	}
	add := func(format string, arguments ...any) { list = append(list, fmt.Sprintf(format, arguments...)) }
	one := func(key, value string) {
		add(`{"do":"start","choice":{%q:%q}}`, key, value)
		add(`{"do":"step","steps":2}`)
		add(`{"do":"look"}`)
		add(`{"do":"gradient","name":"wte.weight","row":1,"col":2}`)
		add(`{"do":"hash"}`)
	}
	add(`{"do":"choices"}`)
	one("task", "sum")
	add(`{"do":"step","steps":%d}`, steps)
	add(`{"do":"hash"}`)
	one("task", "text")
	for i, name := range c.Attentions {
		if i%every == every-1 {
			one("attention", name)
		}
	}
	for i, name := range append(c.Norms, c.Positions...) {
		key := "norm"
		if i >= len(c.Norms) {
			key = "position"
		}
		if i%every == every-1 {
			one(key, name)
		}
	}
	return list
}

// compareGradients compares gradients in float64, whose last bits depend on the processor, and in float32.
func compareGradients(t *testing.T, request, got, want string) {
	t.Helper()
	var a, b session.Gradient
	if err := json.Unmarshal([]byte(got), &a); err != nil {
		t.Errorf("%s: got %s: %v", request, got, err)
	}
	if err := json.Unmarshal([]byte(want), &b); err != nil {
		t.Fatal(err)
	}
	near := func(x, y float64) bool { return math.Abs(x-y) <= 1e-9*math.Max(1e-3, math.Abs(y)) }
	if !near(a.Hand, b.Hand) || !near(a.Autodiff, b.Autodiff) || a.Trained != b.Trained || a.Symbol != b.Symbol {
		t.Errorf("%s: got %v by hand, %v and %v, want %v, %v and %v", request, a.Hand, a.Autodiff, a.Trained,
			b.Hand, b.Autodiff, b.Trained)
	}
}
