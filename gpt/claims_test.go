package gpt

import (
	"encoding/binary"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/gpt/text"
	"github.com/pedestrian-ml/pedestrian/gpt/train"
)

// claiming writes a safetensors file of these tensors, whose numbers are a hole of the claimed size.
func claiming(t *testing.T, path string, shapes map[string][]int) {
	t.Helper()
	var header []string
	end := 0
	for _, name := range slices.Sorted(maps.Keys(shapes)) {
		begin, shape := end, shapes[name]
		end += 4 * shape[0] * shape[1]
		header = append(header, fmt.Sprintf(`%q: {"dtype": "F32", "shape": [%d, %d], "data_offsets": [%d, %d]}`, name, shape[0], shape[1], begin, end))
	}
	all := "{" + strings.Join(header, ",") + "}"
	data := append(binary.LittleEndian.AppendUint64(nil, uint64(len(all))), all...)
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, int64(len(data)+end)); err != nil {
		t.Skip("this file system has no files with holes:", err)
	}
}

// Every reader of files refuses one that claims an excessive size before it allocates memory for it.
func TestClaimedSizes(t *testing.T) {
	const tera = 1 << 40
	m := scrambled(t, tiny())
	tuned := scrambled(t, lora(2, 3, "c_attn"))
	adapter := func(shapes map[string][]int, rank int) func(dir string) error {
		return func(dir string) error {
			dir = filepath.Join(dir, "adapter")
			if err := tuned.SaveAdapter(dir, "base"); err != nil {
				return err
			}
			config, err := os.ReadFile(filepath.Join(dir, "adapter_config.json"))
			if err != nil {
				return err
			}
			config = []byte(strings.Replace(string(config), `"r": 6`, fmt.Sprintf(`"r": %d`, rank), 1))
			if err := os.WriteFile(filepath.Join(dir, "adapter_config.json"), config, 0o644); err != nil {
				return err
			}
			claiming(t, filepath.Join(dir, "adapter_model.safetensors"), shapes)
			a, err := OpenAdapter(dir)
			if err != nil {
				return err
			}
			_, err = m.Adapted(1, a)
			return err
		}
	}
	long := func(name string) func(dir string) error { // a file of a folder that is too long
		return func(string) error {
			_, _, files := publishedGPT2(t)
			dir := folder(t, files)
			if err := os.Truncate(filepath.Join(dir, name), tera); err != nil {
				t.Skip("this file system has no files with holes:", err)
			}
			_, _, err := Open(dir)
			return err
		}
	}
	const q = "base_model.model.transformer.h.0.attn.c_attn.lora_"
	c := m.Config.Resolved()
	width, in := 2*c.NHead*c.QKSize+c.NHead*c.VSize, c.NEmbd
	for want, open := range map[string]func(dir string) error{
		"got one for a matrix (1000000000,": adapter(map[string][]int{q + "A.weight": {6, 1_000_000_000}, q + "B.weight": {1_000_000_000, 6}}, 6),
		"r: got 100000000, want at most 4096": adapter(map[string][]int{
			q + "A.weight": {100_000_000, in}, q + "B.weight": {width, 100_000_000}}, 100_000_000),
		"config.json: got 1099511627776 bytes, want at most":    long(configFile),
		"tokenizer.json: got 1099511627776 bytes, want at most": long(tokenizerFile),
		"the tensors have": long(train.WeightsFile),
		"shards.json: got 1099511627776 bytes, want at most 67108864": func(dir string) error {
			path := filepath.Join(dir, text.ShardsFile)
			if err := os.WriteFile(path, []byte("{}"), 0o644); err != nil {
				return err
			}
			if err := os.Truncate(path, tera); err != nil {
				return err
			}
			_, err := text.OpenShards(dir)
			return err
		},
		"NUL byte at offset 6": func(dir string) error {
			path := filepath.Join(dir, "text.txt")
			if err := os.WriteFile(path, []byte("verses"), 0o644); err != nil {
				return err
			}
			if err := os.Truncate(path, text.MaxBytes); err != nil {
				return err
			}
			_, err := text.ReadCorpus(dir)
			return err
		},
	} {
		dir := t.TempDir()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		err := open(dir)
		runtime.ReadMemStats(&after)
		mustContain(t, err, want)
		if got := after.TotalAlloc - before.TotalAlloc; got > 16<<20 {
			t.Errorf("%s: %d bytes allocated", want, got)
		}
	}
}
