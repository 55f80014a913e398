package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pedestrian-ml/pedestrian/examples/internal/program"
	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/peft"
	"github.com/pedestrian-ml/pedestrian/gpt/published"
	"github.com/pedestrian-ml/pedestrian/gpt/text/chat"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/internal/heap"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestMain keeps the folder with random weights in a cache of the tests.
func TestMain(m *testing.M) {
	heap.Limit()
	os.Exit(func() int {
		cache, err := os.MkdirTemp("", "chat")
		if err != nil {
			panic(err)
		}
		defer os.RemoveAll(cache)
		for _, name := range []string{"XDG_CACHE_HOME", "HOME", "LocalAppData"} { // by system
			os.Setenv(name, cache)
		}
		return m.Run()
	}())
}

// made returns the folder with random weights, which the first test makes.
func made(t testing.TB) string {
	t.Helper()
	dir, err := random(io.Discard)
	must(t, err)
	return dir
}

// says returns the output of the program for an input, with a short context unless args have another.
func says(t *testing.T, input string, args ...string) string {
	t.Helper()
	args = append([]string{"-block_size", "200"}, args...)
	var stdout bytes.Buffer
	err := inputs{stdin: strings.NewReader(input)}.run(t.Context(), args, &stdout, io.Discard)
	if err != nil {
		t.Fatalf("%q: %v", args, err)
	}
	return stdout.String()
}

// A conversation depends on its history, which /reset and /system begin again; other commands answer, and an unknown
// one does not reach the model. The model decides what is written, by its weights and the seed.
func TestTerminal(t *testing.T) {
	dir := made(t)
	args := []string{"-model", dir, "-template", "chatml", "-tokens", "5", "-seed", "3"}
	one := says(t, "Hi\n", args...)
	if strings.TrimSpace(one) == "" || one != says(t, "Hi\n", "-tokens", "5", "-seed", "3") {
		t.Errorf("got %q and another answer without -model", one)
	}
	two := strings.TrimPrefix(says(t, "Hi\nHi\n", args...), one)
	if two == one || two == "" {
		t.Errorf("the second answer: got %q, want another than %q", two, one)
	}
	system := says(t, "Hi\n", append(args, "-system", "Be brief.")...)
	for input, want := range map[string]string{
		"Hi\n/reset\nHi\n":              one + one,
		"/system Be brief.\nHi\n":       system,
		"/system x\n/system\n\nHi\n":    one,
		"/help\n":                       help,
		"/quit\nHi\n":                   "",
		"/never\nHi\n":                  "no command /never; /help lists them\n" + one,
		"Hi":                            one,
		"/system Be brief.\n/reset\nHi": system,
	} {
		if got := says(t, input, args...); got != want {
			t.Errorf("%q: got %q, want %q", input, got, want)
		}
	}
	if long := says(t, "/etc/hosts names hosts\n", args...); strings.Contains(long, "no command") {
		t.Errorf("a path is taken for a command: %q", long)
	}
}

// A conversation that is longer than the context is reported, and goes on without the message; with -cut it loses its
// earliest messages instead.
func TestLongConversation(t *testing.T) {
	dir := made(t)
	args := []string{"-model", dir, "-template", "chatml", "-tokens", "4", "-seed", "3", "-block_size", "48"}
	one := says(t, "Hi\n", args...)
	long := strings.Repeat("a long message ", 9)
	got := says(t, long+"\nHi\n", args...)
	if want := "tokens, more than the context of 48 (block_size); /reset begins a new conversation, " +
		"-cut leaves"; !strings.Contains(got, want) || !strings.HasSuffix(got, one) {
		t.Errorf("got %q, want %q, and then %q", got, want, one)
	}
	talk := strings.Repeat("Hi\n", 6)
	if got := says(t, talk, args...); !strings.Contains(got, "more than the context") {
		t.Errorf("six messages: got %q, want them to be too long", got)
	}
	if got := says(t, talk, append(args, "-cut")...); strings.Contains(got, "more than the context") ||
		strings.Count(got, "\n") < 6 {
		t.Errorf("six messages with -cut: got %q, want six answers", got)
	}
	if got := says(t, long+"\n", append(args, "-cut")...); !strings.Contains(got, "more than the context") ||
		strings.Contains(got, "-cut") {
		t.Errorf("a single message with -cut: got %q, want it to be too long, and -cut not advised", got)
	}
}

// pipe is an input whose lines come when they are sent.
type pipe struct{ lines chan string }

func (p pipe) Read(b []byte) (int, error) {
	s, ok := <-p.lines
	if !ok {
		return 0, io.EOF
	}
	return copy(b, s), nil
}

// seen reports each write of the program.
type seen struct{ wrote chan string }

func (s seen) Write(p []byte) (int, error) {
	s.wrote <- string(p)
	return len(p), nil
}

// Ctrl-C ends an answer and not the program; twice while a message is awaited, the program.
func TestInterrupts(t *testing.T) {
	dir := made(t)
	interrupts, in, out := make(chan os.Signal), pipe{make(chan string)}, seen{make(chan string)}
	done := make(chan error, 1)
	go func() {
		args := []string{"-model", dir, "-template", "chatml", "-tokens", "900", "-temperature", "0"}
		done <- inputs{in, interrupts}.run(t.Context(), args, out, io.Discard)
		close(out.wrote)
	}()
	all := make(chan string, 1)
	wrote := func(want string) {
		t.Helper()
		late := time.After(20 * time.Second)
		for s := ""; ; {
			select {
			case p := <-out.wrote:
				if s += p; strings.Contains(s, want) {
					return
				}
			case <-late:
				t.Fatalf("got %q, want %q in it", s, want)
			}
		}
	}
	in.lines <- "Hi\n"
	<-out.wrote // the answer begins
	go func() { interrupts <- syscall.SIGINT }()
	wrote("[interrupted]")
	interrupts <- syscall.SIGINT
	wrote("Ctrl-C again ends the program")
	in.lines <- "/help\n"
	wrote("Ctrl-C")
	interrupts <- syscall.SIGINT
	wrote("Ctrl-C again ends the program")
	interrupts <- syscall.SIGINT
	go func() {
		s := ""
		for p := range out.wrote {
			s += p
		}
		all <- s
	}()
	var interrupt program.Interrupt
	if err := <-done; !errors.As(err, &interrupt) {
		t.Errorf("got error %v, want the interrupt", err)
	}
	<-all
	close(in.lines)
}

// What cannot be done is refused by name.
func TestRefused(t *testing.T) {
	dir := made(t)
	file := filepath.Join(t.TempDir(), "file")
	must(t, os.WriteFile(file, []byte("{% unknown %}"), 0o644))
	for want, args := range map[string][]string{
		"-template chatml or -template FILE may": {"-model", dir},
		"chat_template: ":                        {"-model", dir, "-template", file},
		"-template: want chatml or a file":       {"-model", dir, "-template", file + "s"},
		"-key: read with -serve alone":           {"-key", "x"},
		"-system: not read with -serve":          {"-system", "x", "-serve", ":0"},
		"-serve: got \"x\", want a port":         {"-serve", "x"},
		"-lanes: got 0, want 1 to 1024":          {"-lanes", "0", "-serve", ":0"},
		"block_size: got 2048, want 1 to 1024":   {"-block_size", "2048"},
		"int8":                                   {"-weights", "int3"},
		"adapter_config.json":                    {"-adapter", filepath.Dir(file)},
		"no checkpoint":                          {"-model", filepath.Dir(file)},
	} {
		args = append([]string{"-block_size", "200"}, args...)
		err := inputs{stdin: strings.NewReader("")}.run(t.Context(), args, io.Discard, io.Discard)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got error %v, want %q in it", args, err, want)
		}
	}
	ctx, stop := context.WithCancelCause(t.Context())
	stop(program.Interrupt{Signal: syscall.SIGTERM})
	args := []string{"-template", "chatml", "-block_size", "200"}
	err := inputs{stdin: pipe{make(chan string)}}.run(ctx, args, io.Discard, io.Discard)
	if !errors.As(err, &program.Interrupt{}) {
		t.Errorf("got error %v, want the signal", err)
	}
}

// Weights in fewer bits, adapters and GGUF files work.
func TestModels(t *testing.T) {
	dir := made(t)
	m, tok, err := published.Open(dir)
	must(t, err)
	path := filepath.Join(t.TempDir(), "small.gguf")
	must(t, published.Export(t.Context(), path, m, tok, "F32", chat.Template{}))
	want := says(t, "Hi\n", "-template", "chatml", "-model", dir, "-tokens", "6", "-temperature", "0")
	if got := says(t, "Hi\n", "-template", "chatml", "-model", path, "-tokens", "6", "-temperature", "0"); got != want {
		t.Errorf("a GGUF file: got %q, want %q", got, want)
	}
	packed, adapter := filepath.Join(t.TempDir(), "packed.gguf"), filepath.Join(t.TempDir(), "adapter")
	must(t, published.Export(t.Context(), packed, m, tok, "BF16", chat.Template{}))
	c := m.Config
	c.LoraR, c.LoraAlpha = 2, 4
	tuned, err := gpt.New(graph.New(graph.Float32, 3), c, 1)
	must(t, err)
	for _, p := range tuned.Trainable() {
		for i := range p.Tensor().F32 {
			p.Tensor().F32[i] = float32(i%7) - 3
		}
	}
	must(t, peft.Save(adapter, tuned, packed))
	base := says(t, "Hi\n", "-model", packed, "-template", "chatml", "-tokens", "6", "-temperature", "0")
	if got := says(
		t, "Hi\n", "-model", packed, "-adapter", adapter, "-template", "chatml", "-tokens", "6", "-temperature", "0",
	); got == base || got == "" {
		t.Errorf("with an adapter beside packed weights: got %q as without", got)
	}
	if got := says(t, "Hi\n", "-model", dir, "-template", "chatml", "-tokens", "6", "-weights", "int8"); got == "" {
		t.Error("int8 weights: got nothing")
	}
}
