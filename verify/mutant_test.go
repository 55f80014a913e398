package verify

import (
	"bytes"
	"encoding/gob"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// handFiles are the sources that hold formulas. They import the standard library
// only and compile without the rest of the package.
func handFiles() []string {
	return []string{
		"activation.go", "arithmetic.go", "attention.go", "block.go", "crossentropy.go", "dropout.go", "elman.go", "embedding.go",
		"fixture.go", "fixture_variants.go", "function.go", "gpt.go", "latent.go", "layernorm.go", "layernorm_plain.go", "layernorm_sigma.go", "linear.go",
		"linear_attention.go", "longformer.go", "lora.go", "mask.go", "mask_sparse.go", "matrix.go", "mixing.go", "parameters.go", "positions.go", "recurrent.go", "rope.go", "run.go", "taylor.go",
		"variants.go",
	}
}

// Every file is by hand, but for these, which ask the library.
func TestHandFilesStandAlone(t *testing.T) {
	asking := []string{"build.go", "case.go", "case_form.go", "check.go", "model.go"}
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	checked := 0
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") || strings.HasPrefix(name, "cases_") || slices.Contains(asking, name) {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		checked++
		for _, spec := range file.Imports {
			if path, _ := strconv.Unquote(spec.Path.Value); strings.Contains(path, ".") {
				t.Errorf("%s imports %s, want the standard library only", name, path)
			}
		}
	}
	if checked < 40 {
		t.Errorf("got %d files by hand, want at least 40", checked)
	}
}

// Each wrong version of a formula or of the set-up is caught in the generic
// fixture, each equivalent one passes. A mutant is the package's own source with a
// few words replaced; all of them are compiled into one program that answers with the
// gradients of each, and the judge is the complex step of the source as it stands.
func TestMutations(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles a program")
	}
	t.Parallel()
	all := mutations()
	answers := runMutants(t, all)
	truth := map[string]Parameters[float64]{}
	for name, variants := range fixtures() {
		truth[name] = byComplexStep(t, Generic(variants...))
	}
	caught, passed, weakest, noise := 0, 0, math.Inf(1), 0.0
	for _, m := range all {
		want := truth[m.fixture]
		d := worst(t, shaped(answers[m.name], want), want)
		t.Logf("%-32s %-8s %8.1e  %s", m.name, m.fixture, d.Distance, d.Name)
		switch {
		case m.equivalent && d.OK():
			passed, noise = passed+1, max(noise, d.Distance)
		case m.equivalent:
			t.Errorf("%s is no mistake: got distance %.1e at %s, want at most %.0e", m.name, d.Distance, d.Name, Tolerance)
		case d.OK():
			t.Errorf("%s is a mistake: got distance %.1e, want more than %.0e", m.name, d.Distance, Tolerance)
		default:
			caught++
			if d.Distance < weakest { // never for a NaN
				weakest = d.Distance
			}
		}
	}
	t.Logf("caught %d, weakest %.1e; passed %d, noisiest %.1e", caught, weakest, passed, noise)
	if caught != 57+13 || passed != 5+1+8 {
		t.Errorf("caught %d and passed %d, want 70 and 5 beside the nine originals", caught, passed)
	}
	if !(weakest > 1e5*Tolerance) {
		t.Errorf("weakest mistake %.1e, want five orders above %.0e", weakest, Tolerance)
	}
}

// fixtures in which mutants answer, by the names in the table.
func fixtures() map[string][]Variant {
	return map[string][]Variant{
		"Generic": nil, "WithTying": {WithTying}, "WithLoRA": {WithLoRA}, "WithPadding": {WithPadding}, "WithReLU": {WithReLU},
		"WithLatents": {WithLatents}, "WithLinear": {WithLinear}, "WithTaylor": {WithTaylor}, "WithElman": {WithElman}, "WithSigma": {WithSigma},
		"WithPlain": {WithPlain}, "WithSinusoids": {WithSinusoids}, "WithLongformer": {WithLongformer},
	}
}

// runMutants builds and runs the program and returns the gradients by mutant and parameter.
func runMutants(t *testing.T, all []mutation) map[string]map[string][]float64 {
	t.Helper()
	dir := t.TempDir()
	for name, text := range merge(t, all) {
		write(t, filepath.Join(dir, name), strings.Replace(text, "package verify", "package main", 1))
	}
	var list strings.Builder
	for i, m := range all {
		fmt.Fprintf(&list, "\t\t{%d, %q, func() Fixture { return Generic(%s) }},\n", i, m.name, strings.TrimPrefix(m.fixture, "Generic"))
	}
	write(t, filepath.Join(dir, "go.mod"), "module mutants\n\ngo 1.26\n")
	write(t, filepath.Join(dir, "main.go"), program)
	write(t, filepath.Join(dir, "list.go"), fmt.Sprintf(listing, list.String()))

	cmd := exec.Command("go", "run", "-trimpath", ".") // trimmed paths let the build cache know the mutants again
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=")
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s", err, stderr.String())
	}
	var out map[string]map[string][]float64
	if err := gob.NewDecoder(&stdout).Decode(&out); err != nil {
		t.Fatal(err)
	}
	return out
}

// merge returns the sources with every mutant in them: beside each function that mutation i changes stands the changed
// one, with _i behind its name, and the function begins with "if mutant == i, do what that one does".
func merge(t *testing.T, all []mutation) map[string]string {
	t.Helper()
	source := map[string]string{}
	for _, name := range handFiles() {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		source[name] = string(text)
	}
	first, more := map[string]string{}, map[string]string{} // by file and function: the first lines; by file: what is new
	for i, m := range all {
		changed := 0
		for name, text := range m.apply(t, source) {
			if text == source[name] {
				continue
			}
			before := functions(t, name, source[name])
			for key, f := range functions(t, name, text) {
				old, known := before[key]
				switch {
				case !known:
					more[name] += "\n" + f.text + "\n"
				case old.text != f.text:
					changed++
					first[name+" "+key] += f.divert(i)
					more[name] += "\n" + f.named(fmt.Sprintf("%s_%d", f.name, i)) + "\n"
				}
			}
		}
		if (changed == 0) != (len(m.edits) == 0) {
			t.Errorf("%s: %d edits change %d functions", m.name, len(m.edits), changed)
		}
	}
	for name, text := range source {
		for key, f := range functions(t, name, text) {
			if lines := first[name+" "+key]; lines != "" {
				source[name] = strings.Replace(source[name], f.text, f.text[:f.body]+lines+f.text[f.body:], 1)
			}
		}
		source[name] += more[name]
	}
	return source
}

// function is a function of a source.
type function struct {
	name, text string
	body       int    // offset in text behind the brace that opens the body
	at         int    // offset in text of the name
	call       string // of a function with this %s name and the same arguments
}

// functions are those of a source, by receiver and name.
func functions(t *testing.T, name, text string) map[string]function {
	t.Helper()
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, name, text, 0)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]function{}
	for _, decl := range file.Decls {
		d, ok := decl.(*ast.FuncDecl)
		if !ok {
			continue
		}
		offset := func(p token.Pos) int { return fset.Position(p).Offset }
		start := offset(d.Pos())
		f := function{name: d.Name.Name, text: text[start:offset(d.End())], body: offset(d.Body.Lbrace) + 1 - start, at: offset(d.Name.Pos()) - start, call: "%s"}
		key := f.name
		if d.Recv != nil {
			f.call = d.Recv.List[0].Names[0].Name + ".%s"
			key = text[offset(d.Recv.Pos()):offset(d.Recv.End())] + key
		}
		if d.Type.TypeParams != nil {
			f.call += "[" + strings.Join(names(d.Type.TypeParams), ", ") + "]"
		}
		f.call += "(" + strings.Join(names(d.Type.Params), ", ") + ")"
		if d.Type.Results != nil {
			f.call = "return " + f.call
		} else {
			f.call += "; return"
		}
		out[key] = f
	}
	return out
}

// names are what a list of parameters is passed on by.
func names(list *ast.FieldList) (out []string) {
	for _, field := range list.List {
		for _, name := range field.Names {
			text := name.Name
			if _, variadic := field.Type.(*ast.Ellipsis); variadic {
				text += "..."
			}
			out = append(out, text)
		}
	}
	return out
}

// named is the function under another name.
func (f function) named(name string) string { return f.text[:f.at] + name + f.text[f.at+len(f.name):] }

// divert is what the function begins with for mutant i.
func (f function) divert(i int) string {
	return fmt.Sprintf("\n\tif mutant == %d {\n\t\t"+f.call+"\n\t}\n", i, fmt.Sprintf("%s_%d", f.name, i))
}

const program = `package main

import (
	"encoding/gob"
	"os"
)

var mutant int

func main() {
	out := map[string]map[string][]float64{}
	for _, c := range list() {
		mutant = c.number
		out[c.name] = answer(c.fixture())
	}
	if err := gob.NewEncoder(os.Stdout).Encode(out); err != nil {
		panic(err)
	}
}

func answer(f Fixture) map[string][]float64 {
	a, err := GPTForward(f.GPT, f.Parameters, f.Tokens, f.Targets)
	if err != nil {
		panic(err)
	}
	g, err := GPTBackward(f.GPT, f.Parameters, f.Tokens, f.Targets, a)
	if err != nil {
		panic(err)
	}
	out := map[string][]float64{}
	for name, m := range g.Parameters {
		out[name] = m.Data
	}
	return out
}
`

const listing = `package main

type answering struct {
	number  int
	name    string
	fixture func() Fixture
}

func list() []answering {
	return []answering{
%s	}
}
`

// shaped gives flat answers the shapes of the truth.
func shaped(flat map[string][]float64, like Parameters[float64]) Parameters[float64] {
	out := Parameters[float64]{}
	for name, data := range flat {
		out[name] = Matrix[float64]{Rows: like[name].Rows, Cols: like[name].Cols, Data: data}
	}
	return out
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// mutation is a change to the source: in the named file, old becomes new wherever
// it stands, which has to be as often as times says.
type mutation struct {
	name, fixture string
	equivalent    bool
	edits         []edit
}

type edit struct {
	file, old, new string
	times          int
}

// apply returns the files with the edits made. An edit that no longer applies, or
// applies elsewhere too, is an error: the table has to follow the source.
func (m mutation) apply(t *testing.T, source map[string]string) map[string]string {
	t.Helper()
	out := maps.Clone(source)
	for _, e := range m.edits {
		if got := strings.Count(out[e.file], e.old); got != max(1, e.times) {
			t.Errorf("%s: %s has %q %d times, want %d", m.name, e.file, e.old, got, max(1, e.times))
		}
		out[e.file] = strings.ReplaceAll(out[e.file], e.old, e.new)
	}
	return out
}

func TestMutationNames(t *testing.T) {
	var names []string
	for _, m := range mutations() {
		names = append(names, m.name)
		if _, ok := fixtures()[m.fixture]; !ok {
			t.Errorf("%s: no fixture %s", m.name, m.fixture)
		}
	}
	if slices.Sort(names); len(slices.Compact(names)) != 57+13+5+1+8 {
		t.Errorf("got %d different mutations, want 84", len(names))
	}
}
