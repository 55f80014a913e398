package gguf

import (
	"bytes"
	"encoding/json"
	"io"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/gpt/safetensors"
)

// sentencePieces returns the keys of a tokenizer of SentencePiece's with the words "▁", "a", "b", "ab", "▁a", "▁ab".
func sentencePieces() []Key {
	tokens, types, scores := []string{"<unk>", "<s>", "</s>"}, []int{unknownToken, controlToken, controlToken}, []float32{0, 0, 0}
	for b := range 256 {
		tokens, types, scores = append(tokens, "<0x"+strings.ToUpper(string("0123456789abcdef"[b>>4])+string("0123456789abcdef"[b&15]))+">"), append(types, byteToken), append(scores, 0)
	}
	for i, word := range []string{"ab", "▁a", "▁ab", "▁", "a", "b"} {
		tokens, types, scores = append(tokens, word), append(types, normalToken), append(scores, -float32(i))
	}
	return []Key{
		{tokenizerPrefix + "model", OfText("llama")}, {tokenizerPrefix + "tokens", OfStrings(tokens)},
		{tokenizerPrefix + "token_type", OfInts(types)}, {tokenizerPrefix + "scores", OfFloats(scores)},
		{tokenizerPrefix + "eos_token_id", OfInt(2)}, {tokenizerPrefix + "eot_token_id", OfInt(7)},
	}
}

// content returns the object in a file of a folder.
func content(t *testing.T, files map[string]*io.SectionReader, name string) (object map[string]any) {
	t.Helper()
	data, err := io.ReadAll(files[name])
	if err == nil {
		err = json.Unmarshal(data, &object)
	}
	if err != nil {
		t.Fatal(err)
	}
	return object
}

// The merges of SentencePiece's tokens are all ways to split them, those of the highest score first.
func TestPieces(t *testing.T) {
	keys := append([]Key{{architectureKey, OfText("llama")}}, sentencePieces()...)
	f, err := Read(encode(t, keys, nil))
	if err != nil {
		t.Fatal(err)
	}
	files, err := f.Folder()
	if err != nil {
		t.Fatal(err)
	}
	model := content(t, files, tokenizerFile)["model"].(map[string]any)
	got, _ := json.Marshal(model["merges"])
	if want := `[["a","b"],["▁","a"],["▁a","b"],["▁","ab"]]`; string(got) != want {
		t.Errorf("merges: got %s, want %s", got, want)
	}
	if ends, _ := json.Marshal(content(t, files, generationFile)["eos_token_id"]); string(ends) != "[2,7]" {
		t.Errorf("ends: got %s, want [2,7]", ends)
	}
}

// tokenizer_config.json has the file's first and last token, whether texts begin with the first, and the template of
// conversations.
func TestSettings(t *testing.T) {
	of := func(more ...Key) (map[string]*io.SectionReader, error) {
		keys := append(append([]Key{{architectureKey, OfText("llama")}}, sentencePieces()...), more...)
		f, err := Read(encode(t, keys, nil))
		if err != nil {
			t.Fatal(err)
		}
		return f.Folder()
	}
	const chat, begin, first = tokenizerPrefix + "chat_template", tokenizerPrefix + "add_bos_token", tokenizerPrefix + "bos_token_id"
	for want, more := range map[string][]Key{
		`{"add_bos_token":true,"eos_token":"</s>"}`:                                              nil,
		`{"add_bos_token":false,"bos_token":"<s>","chat_template":"{{ x }}","eos_token":"</s>"}`: {{first, OfInt(1)}, {chat, OfText("{{ x }}")}, {begin, OfBool(false)}},
	} {
		files, err := of(more...)
		if err != nil {
			t.Fatal(err)
		}
		got, _ := json.Marshal(content(t, files, settingsFile))
		if got := strings.NewReplacer(`\u003c`, "<", `\u003e`, ">").Replace(string(got)); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	for want, key := range map[string]Key{"bos_token_id: got 265, want one of 265": {first, OfInt(265)}, "add_bos_token: got": {begin, OfInt(1)}, "chat_template: got": {chat, OfInt(1)}} {
		if _, err := of(key); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got error %v, want %q in it", err, want)
		}
	}
}

// The folder's tensors have the numbers of the file: rows of queries and keys in halves of a head instead of pairs, and
// matrices of a GPT-2 as (in, out). They may be read from any byte on.
func TestFolderTensors(t *testing.T) {
	llama := []Key{
		{architectureKey, OfText("llama")}, {"llama.attention.head_count", OfInt(2)},
		{"llama.attention.head_count_kv", OfInt(1)}, {"llama.embedding_length", OfInt(16)},
	}
	entries := []Entry{
		{"blk.3.attn_q.weight", []int{16, 3}, F32}, {"blk.3.attn_k.weight", []int{8, 3}, F32},
		{"blk.3.attn_v.weight", []int{8, 3}, F32}, {"output_norm.weight", []int{5}, F32},
	}
	for name, order := range map[string][]int{
		"model.layers.3.self_attn.q_proj.weight": {0, 2, 4, 6, 1, 3, 5, 7, 8, 10, 12, 14, 9, 11, 13, 15},
		"model.layers.3.self_attn.k_proj.weight": {0, 2, 4, 6, 1, 3, 5, 7},
		"model.layers.3.self_attn.v_proj.weight": {0, 1, 2, 3, 4, 5, 6, 7},
	} {
		tensor, original := derivedTensor(t, llama, entries, name)
		for row, from := range order {
			if got, want := tensor.F32[3*row:3*row+3], original[3*from:3*from+3]; !slices.Equal(got, want) {
				t.Errorf("%s: row %d: got %v, want %v", name, row, got, want)
			}
		}
	}
	gpt2 := []Key{{architectureKey, OfText("gpt2")}}
	matrices := []Entry{{"blk.0.ffn_up.weight", []int{5, 3}, F32}, {"position_embd.weight", []int{4, 3}, F32}, {"blk.0.ffn_down.weight", []int{3, 5}, F16}}
	tensor, original := derivedTensor(t, gpt2, matrices, "h.0.mlp.c_fc.weight")
	if !slices.Equal(tensor.Shape, []int{3, 5}) {
		t.Fatalf("got shape %v, want [3 5]", tensor.Shape)
	}
	for i := range 15 {
		if got, want := tensor.F32[i], original[i%5*3+i/5]; got != want {
			t.Errorf("number %d: got %v, want %v", i, got, want)
		}
	}
	f, err := Read(encode(t, gpt2, matrices))
	if err != nil {
		t.Fatal(err)
	}
	files, err := f.Folder()
	if err != nil {
		t.Fatal(err)
	}
	w := files[weightsFile]
	all, err := io.ReadAll(w)
	if err != nil {
		t.Fatal(err)
	}
	for from := range all {
		part := make([]byte, min(7, len(all)-from))
		if _, err := w.ReadAt(part, int64(from)); err != nil || !bytes.Equal(part, all[from:from+len(part)]) {
			t.Fatalf("from byte %d on: got %x and error %v, want %x", from, part, err, all[from:from+len(part)])
		}
	}
}

// derivedTensor returns a tensor of the folder of a file, and the numbers of the file's tensor.
func derivedTensor(t *testing.T, keys []Key, entries []Entry, name string) (safetensors.Tensor, []float32) {
	t.Helper()
	f, err := Read(encode(t, keys, entries))
	if err != nil {
		t.Fatal(err)
	}
	files, err := f.Folder()
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(files[weightsFile])
	if err != nil {
		t.Fatal(err)
	}
	tensors, _, err := safetensors.Read(data)
	if err != nil {
		t.Fatal(err)
	}
	m, ok := f.matrix(name)
	if !ok {
		t.Fatalf("no matrix %s", name)
	}
	x := make([]float32, m.Len())
	if err := m.Values(x, 0); err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(tensors, func(x safetensors.Tensor) bool { return x.Name == name })
	return tensors[i], x
}

// The factors of rotary positions of Llama 3 become its scaling; others are refused.
func TestLlama3Factors(t *testing.T) {
	const theta, factor = 500_000, 32
	write := func(change float32) ([]byte, error) {
		var b bytes.Buffer
		keys := []Key{{architectureKey, OfText("llama")}, {"llama.rope.freq_base", OfFloat(theta)}}
		err := Write(&b, keys, []Entry{{factorsName, []int{32}, F32}}, func(int) ([]float32, error) {
			x := make([]float32, 32)
			for i := range x {
				length := 2 * math.Pi * math.Pow(theta, float64(i)/32)
				switch {
				case length < 8192/4:
					x[i] = 1
				case length > 8192:
					x[i] = factor
				default:
					s := (8192/length - 1) / 3
					x[i] = float32(1 / ((1-s)/factor + s))
				}
			}
			x[3] += change
			return x, nil
		})
		return b.Bytes(), err
	}
	for change, ok := range map[float32]bool{0: true, 0.1: false} {
		data, err := write(change)
		if err != nil {
			t.Fatal(err)
		}
		f, err := Read(data)
		if err != nil {
			t.Fatal(err)
		}
		files, err := f.Folder()
		if (err == nil) != ok {
			t.Fatalf("changed by %v: got error %v", change, err)
		}
		if !ok {
			continue
		}
		scaling, _ := content(t, files, configFile)["rope_scaling"].(map[string]any)
		if scaling["rope_type"] != "llama3" || scaling["factor"] != float64(factor) {
			t.Errorf("got %v, want llama3 with factor %d", scaling, factor)
		}
	}
}
