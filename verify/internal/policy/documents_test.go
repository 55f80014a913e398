package policy

import (
	"go/ast"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestDocumentsNameWhatExists checks that the paths and tests named in the documents of the root exist. A path is the
// target of a link, or text in code that begins with one of our folders. A path with … or with a part called name is an
// example.
func TestDocumentsNameWhatExists(t *testing.T) {
	tests := map[string]bool{}
	for _, f := range sources(t) {
		for _, d := range f.syntax.Decls {
			if d, ok := d.(*ast.FuncDecl); ok && f.test {
				tests[d.Name.Name] = true
			}
		}
	}
	link := regexp.MustCompile(`\]\(([^)#:]+)\)`)
	code := regexp.MustCompile("`((?:graph|nn|gpt|verify|examples|\\.ci)/[^` ]+)`")
	command := regexp.MustCompile(`\./((?:graph|nn|gpt|verify|examples)[\w/.]*)`)
	name := regexp.MustCompile(`\bTest[A-Z]\w+`)
	example := regexp.MustCompile(`…|\b(name|lines|jsonlines)\.go$|text\.jsonl$`)
	found := 0
	for _, document := range []string{"CONTRIBUTING.md", "README.md", "GLOSSARY.md", "PROMISES.md", "TRUST.md"} {
		data, err := os.ReadFile(filepath.Join(root, document))
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range []*regexp.Regexp{link, code, command} {
			for _, m := range e.FindAllStringSubmatch(string(data), -1) {
				path := strings.TrimSuffix(m[1], "/...")
				if found++; example.MatchString(path) {
					continue
				}
				if _, err := os.Stat(filepath.Join(root, path)); err != nil {
					t.Errorf("%s names %s, which does not exist", document, path)
				}
			}
		}
		for _, test := range name.FindAllString(string(data), -1) {
			if found++; !tests[test] {
				t.Errorf("%s names %s, which is not a test", document, test)
			}
		}
	}
	if found < 40 {
		t.Errorf("%d paths and tests found, want more", found)
	}
}

// TestEveryPackageSaysWhatToStartWith checks that the first paragraph of a package's doc names an exported name to
// start with.
func TestEveryPackageSaysWhatToStartWith(t *testing.T) {
	first, exported := map[string]string{}, map[string]bool{}
	for _, f := range sources(t) {
		if f.test || f.dir == "." || f.top() == "examples" || strings.Contains("/"+f.dir+"/", "/internal/") {
			continue
		}
		paragraph, _, _ := strings.Cut(f.syntax.Doc.Text(), "\n\n")
		if first[f.dir] == "" {
			first[f.dir] = strings.Join(strings.Fields(paragraph), " ")
		}
		for _, d := range f.syntax.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				exported[f.dir+" "+d.Name.Name] = exported[f.dir+" "+d.Name.Name] || d.Recv == nil
			case *ast.GenDecl:
				for _, s := range d.Specs {
					if s, ok := s.(*ast.TypeSpec); ok {
						exported[f.dir+" "+s.Name.Name] = true
					}
				}
			}
		}
	}
	start := regexp.MustCompile(`Start with ([A-Z]\w+)`)
	for dir, doc := range first {
		m := start.FindStringSubmatch(doc)
		if m == nil || !exported[dir+" "+m[1]] {
			t.Errorf("%s: the first paragraph names no exported name to start with: %s", dir, doc)
		}
	}
	if len(first) < 10 {
		t.Errorf("%d packages found", len(first))
	}
}

// TestReadmeIsShort checks that the README has at most 120 lines, and a tree with every top folder.
func TestReadmeIsShort(t *testing.T) {
	data, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(data), "\n"); n > 120 {
		t.Errorf("README.md: got %d lines, want at most 120", n)
	}
	for _, f := range sources(t) {
		if top := f.top(); top != "." && !strings.Contains(string(data), "\n"+top+"/ ") && top != "internal" {
			t.Fatalf("README.md: the tree lacks %s/", top)
		}
	}
}

// TestFiguresNameTheMachine checks that the README's figures of time and memory are in tables whose heads name the
// processor and the day, or, for the durations beside commands, that it says which machine took them.
func TestFiguresNameTheMachine(t *testing.T) {
	data, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	figure := regexp.MustCompile(`\d (ms|s|MiB|GiB)\b|\d %|tokens a second|\d ×|times (as|faster|slower)|minute`)
	machine := regexp.MustCompile(`\((Zen|Intel|Apple|Xeon)[^)]*\).* \d+ [A-Z][a-z]+ 20\d\d`)
	durations := strings.Contains(string(data), "All durations here are those on the machine below")
	head, found := "", 0
	for _, line := range strings.Split(string(data), "\n") {
		if !strings.HasPrefix(line, "|") {
			head = ""
		} else if head == "" {
			head = line
		}
		if !figure.MatchString(line) {
			continue
		}
		command := durations && strings.HasPrefix(line, "go ")
		if found++; !machine.MatchString(head) && !command && !strings.Contains(line, "on the machine below") {
			t.Errorf("a figure without processor and day: %s", line)
		}
	}
	if found < 5 {
		t.Errorf("%d lines with figures found", found)
	}
}

// block returns the lines of a file after the line begin, up to the line end.
func block(t *testing.T, path, begin, end string) []string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(data), "\n")
	from := slices.Index(lines, begin)
	if from < 0 {
		t.Fatalf("%s has no line %q", path, begin)
	}
	n := slices.Index(lines[from:], end)
	if n < 0 {
		t.Fatalf("%s has no line %q behind %q", path, end, begin)
	}
	return lines[from+1 : from+n]
}

// The README's program is the Example, with at most twenty lines, and a newcomer's commands have at most eight lines.
func TestFirstPage(t *testing.T) {
	example := block(t, filepath.Join(root, "gpt/example_test.go"), "func Example() {", "}")
	readme := block(t, filepath.Join(root, "README.md"), "```go", "```")
	for i, line := range example {
		example[i] = strings.TrimPrefix(line, "\t")
	}
	if !slices.Equal(example, readme) {
		t.Errorf(
			"the README's program is not the Example of gpt: got\n%s\nwant\n%s", strings.Join(readme, "\n"),
			strings.Join(example, "\n"),
		)
	}
	if len(example) > 20 {
		t.Errorf("the program has %d lines, want at most 20", len(example))
	}
	commands := block(t, filepath.Join(root, "README.md"), "```sh", "```")
	clone := slices.IndexFunc(commands, func(line string) bool { return strings.HasPrefix(line, "git clone ") })
	first := slices.IndexFunc(
		commands, func(line string) bool { return strings.HasPrefix(line, "go run ./examples/tinyshakespeare") },
	)
	if clone < 0 || first < clone || first-clone >= 8 {
		t.Errorf(
			"git clone is line %d of the first commands, the first sample line %d: want at most 8 lines from one to "+
				"the other",
			clone, first,
		)
	}
}

// TestPaperIsLinked: documents that name the paper by its title link it.
func TestPaperIsLinked(t *testing.T) {
	const title, link = "*Deep learning for pedestrians: backpropagation in " +
		"Transformers*", "](https://arxiv.org/abs/2512.23329)"
	for _, name := range []string{"README.md", "verify/ERRATA.md"} {
		text, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(string(text), title); n == 0 || strings.Count(string(text), "["+title+link) != n {
			t.Errorf("%s: the paper is named %d times, want a link each time", name, n)
		}
	}
}
