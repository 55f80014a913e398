// Command fused finds the places where the compiler fuses a product and a sum into one instruction, which rounds once,
// on the processors that have it. Other processors round twice and compute other bits. A conversion of the product, as
// in float32(x*y) + z, keeps the compiler from fusing it.
//
//	go run ./verify/internal/fused arm64 riscv64
//
// It looks at the code of examples/verify, and exits with status 1 if it finds a place in a package whose numbers reach
// a weight or a token. Calls of math.FMA, and package fma, are meant to be fused.
package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/pkg/errors"
)

const module = "github.com/pedestrian-ml/pedestrian/"

var (
	// packages are the packages that compute what reaches a weight or a token.
	packages = regexp.MustCompile(`^(graph($|/)|nn$|gpt/(train|search|seq2seq|preference|tasks)($|/)|internal/)`)
	fusion   = regexp.MustCompile(`^\s+(\S+\.go):(\d+)\s.*\s(V?FN?M(ADD|SUB)[A-Z0-9]*|M[AS][DE]BR)\s`)
	function = regexp.MustCompile(`^TEXT (\S+)\(SB\)`)
)

// place is a line of the source.
type place struct {
	path string
	line string
}

// places reads what go tool objdump prints and returns the lines of these packages whose operations are fused.
func places(r io.Reader, source func(path string, line string) string) (list []place, err error) {
	scanner := bufio.NewScanner(r)
	scanner.Buffer(nil, 1<<20)
	in := ""
	for scanner.Scan() {
		text := scanner.Text()
		if m := function.FindStringSubmatch(text); m != nil {
			name, ours := strings.CutPrefix(m[1], module)
			dir, last := path.Split(name)
			in = dir + strings.SplitN(last, ".", 2)[0]
			if !ours || !packages.MatchString(in) || in == "graph/internal/kernel/fma" {
				in = ""
			}
			continue
		}
		m := fusion.FindStringSubmatch(text)
		if in == "" || m == nil || m[1] == "fused.go" {
			continue
		}
		at := place{path.Join(in, m[1]), m[2]}
		if !slices.Contains(list, at) && !strings.Contains(source(at.path, at.line), "math.FMA(") {
			list = append(list, at)
		}
	}
	return list, scanner.Err()
}

// sourceLine returns a line of a file, or "" if the function is inlined from another package.
func sourceLine(file, line string) string {
	data, err := os.ReadFile(filepath.FromSlash(file))
	var n int
	if _, bad := fmt.Sscan(line, &n); err != nil || bad != nil {
		return ""
	}
	lines := strings.Split(string(data), "\n")
	return lines[min(max(n, 1), len(lines))-1]
}

// check prints the places in the code for a processor.
func check(w io.Writer, arch string) (found int, err error) {
	dir, err := os.MkdirTemp("", "fused")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	binary := filepath.Join(dir, "verify")
	build := exec.Command("go", "build", "-o", binary, "./examples/verify")
	build.Env = append(os.Environ(), "GOOS=linux", "GOARCH="+arch, "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return 0, errors.Wrapf(err, "%s: %s", arch, out)
	}
	dump := exec.Command("go", "tool", "objdump", "-s", "^"+regexp.QuoteMeta(module), binary)
	out, err := dump.StdoutPipe()
	if err != nil {
		return 0, err
	}
	if err := dump.Start(); err != nil {
		return 0, err
	}
	list, err := places(out, sourceLine)
	if err != nil {
		return 0, err
	}
	for _, p := range list {
		fmt.Fprintf(w, "%s: %s:%s: a product and a sum are fused: %s\n", arch, p.path, p.line,
			strings.TrimSpace(sourceLine(p.path, p.line)))
	}
	return len(list), dump.Wait()
}

func main() {
	total := 0
	for _, arch := range os.Args[1:] {
		found, err := check(os.Stdout, arch)
		if err != nil {
			fmt.Fprintln(os.Stderr, "fused:", err)
			os.Exit(1)
		}
		fmt.Printf("%s: %d fused\n", arch, found)
		total += found
	}
	if total > 0 {
		os.Exit(1)
	}
}
