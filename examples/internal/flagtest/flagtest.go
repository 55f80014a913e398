// Package flagtest tries every flag of a program, and fails for a flag that is ignored: one that neither changes
// anything nor is refused.
package flagtest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/pkg/errors"
)

// Program is a program with the arguments of a small run that takes milliseconds.
type Program struct {
	Run func(ctx context.Context, args []string, stdout, stderr io.Writer) error

	// Name is the name of the program, such as graph, or of one of its commands, such as gpt2 tune.
	Name string

	// Args returns the arguments of the small run after the command, whose files go into dir.
	Args func(dir string) []string

	// Values holds values to try for flags where half of a number or the opposite of a bool is unsuitable. " with "
	// separates further arguments, for this run and for the one that it is compared with.
	Values map[string]string

	// Unseen holds the flags that do not affect the output and files of a run, each with the reason.
	Unseen map[string]string
}

// Check runs the program with every flag of its -help, and fails if a run prints and writes the same as without the
// flag. A refusal must name the flag. It tries every flag with NIGHTLY=1, otherwise -precision and one flag of
// 23.
func (p Program) Check(t *testing.T) {
	t.Helper()
	every := 23
	if os.Getenv("NIGHTLY") != "" {
		every = 1
	}
	bases := map[string]string{"": p.run(t, nil)}
	if again := p.run(t, nil); again != bases[""] {
		t.Fatalf("two runs differ without a flag:\n%s\n%s", bases[""], again)
	}
	for i, f := range p.flags(t) {
		if _, unseen := p.Unseen[f.name]; unseen || i%every != 0 && f.name != "precision" {
			continue
		}
		value, context, _ := strings.Cut(p.Values[f.name], " with ")
		if _, given := p.Values[f.name]; !given {
			value = f.other()
		}
		if value == "" && p.Values[f.name] == "" && f.kind != "" && f.value == "" {
			t.Errorf("-%s: no value to try; add one to Values", f.name)
			continue
		}
		if _, ran := bases[context]; !ran {
			bases[context] = p.run(t, strings.Fields(context))
		}
		got := p.run(t, append(strings.Fields(context), "-"+f.name+"="+value))
		switch {
		case strings.HasPrefix(got, "refused: ") && !strings.Contains(got, f.name):
			t.Errorf("-%s=%s %s: %.300s; want the flag's name", f.name, value, context, got)
		case got == bases[context]:
			t.Errorf("-%s=%s %s: got the same as without, want another run, or an error", f.name, value, context)
		}
	}
}

// Refuse sets every numeric flag to meaningless values, and fails if one is not refused by name.
func (p Program) Refuse(t *testing.T) {
	t.Helper()
	for _, f := range p.flags(t) {
		values := map[string][]string{
			"int": {"-5", "4611686018427387904"}, "uint": {"-1"},
			"float": {"NaN", "-0.5", "Inf", "-Inf"}, "duration": {"-1s"},
		}[f.kind]
		if f.kind == "value" && regexp.MustCompile(`^-?\d+$`).MatchString(f.value) {
			values = []string{"-5", "4611686018427387904"}
		}
		for _, value := range values {
			got := p.run(t, []string{"-" + f.name + "=" + value})
			if !strings.HasPrefix(got, "refused: ") || !strings.Contains(got, f.name) {
				t.Errorf("-%s=%s: got %.300s; want an error that names the flag", f.name, value, got)
			}
		}
	}
}

// Unread misspells every flag, and fails if the error does not suggest the flag.
func (p Program) Unread(t *testing.T) {
	t.Helper()
	for _, f := range p.flags(t) {
		want := "; did you mean -" + f.name + "?"
		if got := p.run(t, []string{"-" + f.name + "x=1"}); !strings.Contains(got, want) && len(f.name) > 3 {
			t.Errorf("-%sx: got %.300s, want %q in it", f.name, got, want)
		}
	}
}

// Closed runs the program with an output that is closed after the first line, as by head -n 1, and fails if the run
// leaves other files than one whose output is read to the end.
func (p Program) Closed(t *testing.T) {
	t.Helper()
	var files [2]string
	for i, out := range []io.Writer{io.Discard, &head{}} {
		dir := t.TempDir()
		if err := p.Run(t.Context(), slices.Concat(p.command(), p.Args(dir)), out, io.Discard); err != nil &&
			!errors.Is(err, syscall.EPIPE) {
			t.Fatal(err)
		}
		files[i] = written(t, dir)
	}
	if files[0] == "" || files[0] != files[1] {
		t.Errorf("files of a run whose output is closed:\n%swant\n%s", files[1], files[0])
	}
}

// head is a pipe whose reader closes it after the first line.
type head struct{ closed bool }

func (h *head) Write(p []byte) (int, error) {
	if h.closed {
		return 0, syscall.EPIPE
	}
	h.closed = bytes.Contains(p, []byte("\n"))
	return len(p), nil
}

type listed struct{ name, kind, value string }

// other returns a value that is not the default: half of a number, the opposite of a bool.
func (f listed) other() string {
	if f.kind == "" {
		return strconv.FormatBool(f.value != "true")
	}
	x, err := strconv.ParseFloat(f.value, 64)
	switch {
	case f.value == "":
		return map[string]string{"int": "1", "float": "0.5", "uint": "3", "value": "2", "duration": "1s"}[f.kind]
	case err != nil:
		return ""
	case f.kind == "float":
		return strconv.FormatFloat(x/2, 'g', -1, 64)
	case x == 1:
		return "2"
	}
	return strconv.Itoa(int(x / 2))
}

// flags reads the flags in -help, with their kind, "" for a bool, and the default if it is not zero.
func (p Program) flags(t *testing.T) (list []listed) {
	t.Helper()
	help := p.help(t, "all")
	entry := regexp.MustCompile(`(?m)^  -(\S+)(?: (int|uint|float|string|duration|list|value))?((?:\s+\S.*)?\n(?:   ` +
		` .*\n)*)`)
	for _, m := range entry.FindAllStringSubmatch(help, -1) {
		f := listed{name: m[1], kind: m[2]}
		text := strings.Join(strings.Fields(m[3]), " ")
		if d := regexp.MustCompile(`\(default (.*?)\)$`).FindStringSubmatch(text); d != nil {
			f.value = d[1]
		}
		list = append(list, f)
	}
	if len(list) < 2 {
		t.Fatalf("-help lists %d flags:\n%s", len(list), help)
	}
	return list
}

// command returns the arguments before the flags.
func (p Program) command() []string { return strings.Fields(p.Name)[1:] }

// help returns the help, of a topic if the word is not empty.
func (p Program) help(t *testing.T, word string) string {
	t.Helper()
	var help bytes.Buffer
	args := append(p.command(), "-help")
	if word != "" {
		args = append(args, word)
	}
	if err := p.Run(t.Context(), args, io.Discard, &help); !errors.Is(err, flag.ErrHelp) {
		t.Fatalf("%q: got %v", args, err)
	}
	return help.String()
}

// run returns what a run prints and writes, without times and the names of directories, or its error.
func (p Program) run(t *testing.T, more []string) string {
	t.Helper()
	dir, err := os.MkdirTemp(t.TempDir(), "run")
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	args := slices.Concat(p.command(), p.Args(dir), more)
	if err := p.Run(t.Context(), args, &out, io.Discard); err != nil {
		return "refused: " + strings.ReplaceAll(err.Error(), dir, "DIR")
	}
	out.WriteString(written(t, dir))
	return timeless(strings.ReplaceAll(out.String(), dir, "DIR"))
}

// timeless returns a text with an x in place of every time and speed.
func timeless(s string) string {
	s = regexp.MustCompile(`,"eta_s":[\d.e+-]+`).ReplaceAllString(s, "") // which is left out below a second
	for _, pattern := range []string{
		`[\d,.]+ (ms|MiB|tok/s|GFLOP/s)`, `\beta \S+`, `\d[\d.]*m?s\b`,
		`"(ms|tok_per_s|gflops|[a-z_]*_mib|\w*ms\w*)":[\d.e+-]+`, `after \d+ ms`,
	} {
		s = regexp.MustCompile(pattern).ReplaceAllString(s, "x")
	}
	return s
}

// written returns the files in dir with their hashes, except for those that only repeat the settings.
func written(t *testing.T, dir string) string {
	t.Helper()
	var list strings.Builder
	hashes := map[string]string{}
	settings := []string{".lock", "config.json", "state.json", "manifest.json", "recipe.json"}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || slices.Contains(settings, d.Name()) {
			return err
		}
		data, err := os.ReadFile(path)
		if strings.HasSuffix(path, ".jsonl") || strings.HasSuffix(path, ".html") {
			data = []byte(timeless(string(data)))
		}
		sum := sha256.Sum256(bytes.ReplaceAll(data, []byte(dir), []byte("DIR")))
		hashes[strings.TrimPrefix(path, dir)] = fmt.Sprintf("%x", sum)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range slices.Sorted(maps.Keys(hashes)) {
		fmt.Fprintf(&list, "%s %s\n", path, hashes[path])
	}
	return list.String()
}
