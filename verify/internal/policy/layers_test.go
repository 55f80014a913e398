package policy

import (
	"slices"
	"strings"
	"testing"
)

// layers lists the packages of graph, nn and gpt from the bottom to the top. Packages of one line do not import each
// other.
var layers = [][]string{
	{
		"internal/blocks", "internal/elementary", "internal/file", "internal/flags", "internal/heap",
		"internal/spelling", "internal/structured", "graph/internal/memory", "graph/internal/kernel/fma",
	},
	{"graph/internal/kernel/simd", "graph/internal/kernel/cache", "graph/internal/kernel/gen"},
	{"graph/internal/kernel", "graph/internal/kernel/kerneltest"},
	{"graph/internal/kernel/gemm", "graph/internal/plan"},
	{
		"graph/internal/kernel/attention", "graph/internal/kernel/experts", "graph/internal/kernel/quant",
		"graph/internal/kernel/recurrent",
	},
	{"graph/internal/ops"},
	{"graph"},
	{"graph/optim/reduce", "graph/stored", "graph/fused", "graph/internal/graphtest"},
	{"graph/optim"},
	{"nn"},
	{"nn/causal"},
	{"gpt/internal/field", "internal/fuzzed", "gpt/internal/jinja", "gpt/safetensors", "gpt/dist",
		"gpt/lab/paired", "gpt/lab/scaling"},
	{"gpt/checkpoint", "gpt/certificate", "gpt/search", "gpt/internal/made"},
	{"gpt/text", "gpt/grammar"},
	{"gpt/train", "gpt/tasks"},
	{"gpt/parts"},
	{"gpt/decode"},
	{"gpt", "gpt/seq2seq", "gpt/service"},
	{"gpt/inspect", "gpt/lab", "gpt/preference"},
	{"gpt/lab/verdict"},
	{"gpt/published/gguf", "gpt/text/bpe", "gpt/text/chat"},
	{"gpt/published"},
	{"gpt/internal/peft", "gpt/internal/gpttest"},
	{"gpt/peft"},
}

// TestLayers checks that a package of graph, nn or gpt imports packages of lower layers only.
func TestLayers(t *testing.T) {
	level := func(dir string) int {
		return slices.IndexFunc(layers, func(line []string) bool { return slices.Contains(line, dir) })
	}
	seen := map[string]bool{}
	for _, f := range sources(t) {
		if f.test || !slices.Contains([]string{"graph", "nn", "gpt", "internal"}, f.top()) {
			continue
		}
		from := level(f.dir)
		if seen[f.dir] = true; from < 0 {
			t.Errorf("%s: the package is in no layer: list it", f.path)
			continue
		}
		for _, path := range f.imports {
			ours, isOurs := strings.CutPrefix(path, module)
			if to := level(ours); isOurs && to >= from {
				t.Errorf(
					"%s imports %s, of layer %d: package %s, of layer %d, imports lower layers only", f.path, ours, to,
					f.dir, from,
				)
			}
		}
	}
	for _, line := range layers {
		for _, dir := range line {
			if !seen[dir] {
				t.Errorf("%s: there is no such package: remove it from the layers", dir)
			}
		}
	}
}

// TestModelsOfOtherPrograms checks that neither gpt nor what it imports has files of other programs, or formats of
// weights that are not trained.
func TestModelsOfOtherPrograms(t *testing.T) {
	imports := map[string][]string{}
	for _, f := range sources(t) {
		if !f.test {
			imports[f.dir] = append(imports[f.dir], f.imports...)
		}
	}
	seen := map[string]bool{}
	var visit func(dir string)
	visit = func(dir string) {
		if seen[dir] {
			return
		}
		seen[dir] = true
		for _, path := range imports[dir] {
			if ours, isOurs := strings.CutPrefix(path, module); isOurs {
				visit(ours)
			}
		}
	}
	visit("gpt")
	for _, dir := range []string{
		"gpt/published", "gpt/published/gguf", "gpt/internal/jinja", "gpt/text/bpe", "gpt/text/chat", "gpt/peft",
		"gpt/internal/peft", "gpt/service", "graph/stored", "graph/internal/kernel/quant",
	} {
		if len(imports[dir]) == 0 {
			t.Errorf("%s: no imports were found", dir)
		}
		if seen[dir] {
			t.Errorf("gpt imports %s, perhaps through other packages: it stands above gpt", dir)
		}
	}
	if !seen["graph"] || len(imports["gpt/published"]) == 0 {
		t.Error("the imports were not found")
	}
}
