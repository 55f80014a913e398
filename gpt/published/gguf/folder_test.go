package gguf

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/gpt/safetensors"
	"github.com/pedestrian-ml/pedestrian/gpt/text/bpe"
)

// sentencePieces returns the keys of a tokenizer of SentencePiece's with the words "▁", "a", "b", "ab", "▁a", "▁ab".
func sentencePieces() []Key {
	tokens, types := []string{"<unk>", "<s>", "</s>"}, []int{unknownToken, controlToken, controlToken}
	scores := []float32{0, 0, 0}
	for b := range 256 {
		tokens, types, scores = append(
			tokens, "<0x"+strings.ToUpper(string("0123456789abcdef"[b>>4])+string("0123456789abcdef"[b&15]))+">",
		), append(types, byteToken), append(scores, 0)
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

// complete returns the keys of a file of the named architecture: those given, and the others that it needs.
func complete(t *testing.T, name string, keys ...Key) []Key {
	t.Helper()
	a, err := architectureOf(name, false, func(a architecture) string { return a.name })
	if err != nil {
		t.Fatal(err)
	}
	list := append([]Key{{architectureKey, OfText(name)}}, keys...)
	for _, p := range a.keys {
		if has(list, name+"."+p.ours) || p.ours == "vocab_size" {
			continue
		}
		list = append(list, Key{name + "." + p.ours, OfInt(2)})
	}
	return list
}

func has(keys []Key, name string) bool {
	return slices.ContainsFunc(keys, func(k Key) bool { return k.Name == name })
}

// A file without a key that has no default is refused, for every architecture; one without a key that has a default has
// llama.cpp's.
func TestMissingKeys(t *testing.T) {
	defaults := map[string]any{
		"attention.head_count_kv": "2", "attention.key_length": "3", "rope.freq_base": "10000",
		"rope.freq_base_swa":       "10000",
		"attention.sliding_window": "<nil>", "attn_logit_softcapping": "<nil>", "final_logit_softcapping": "<nil>",
	}
	for _, a := range architectures() {
		keys := []Key{{architectureKey, OfText(a.name)}}
		for _, k := range a.fixed {
			keys = append(keys, Key{a.name + "." + k.Name, k.Value})
		}
		for _, p := range a.keys {
			value := map[string]int{"embedding_length": 6, "rope.freq_base": 7, "rope.freq_base_swa": 7}[p.ours]
			keys = append(keys, Key{a.name + "." + p.ours, OfInt(max(2, value))})
		}
		for i, k := range keys[1:] {
			name := strings.TrimPrefix(k.Name, a.name+".")
			f := &File{Keys: slices.Delete(slices.Clone(keys), i+1, i+2)}
			config, err := f.config(a)
			theirs, _ := find(a.keys, name)
			switch want, ok := defaults[name]; {
			case name == "vocab_size":
			case !ok || a.name == "starcoder" && name == "attention.head_count_kv":
				if want := fmt.Sprintf("key %q is missing", k.Name); err == nil ||
					!strings.Contains(err.Error(), want) {
					t.Errorf("%s: got error %v, want %s", a.modelType(), err, want)
				}
			case err != nil:
				t.Errorf("%s without %s: %v", a.modelType(), name, err)
			case a.name == "phi3" && name == "attention.key_length":
			default:
				if got := fmt.Sprint(config[theirs]); got != want {
					t.Errorf("%s without %s: got %s, want %s", a.modelType(), name, got, want)
				}
			}
		}
	}
}

// A factor of rotary positions without a type is linear scaling, as in llama.cpp.
func TestFactorWithoutType(t *testing.T) {
	for factor, want := range map[float64]string{4: "map[factor:4 rope_type:linear]", 1: "<nil>"} {
		f := &File{Keys: complete(t, "llama", Key{"llama.rope.scaling.factor", OfFloat(factor)})}
		a, err := f.architecture()
		if err != nil {
			t.Fatal(err)
		}
		config, err := f.config(a)
		if got := fmt.Sprint(config["rope_scaling"]); err != nil || got != want {
			t.Errorf("factor %v: got %s (%v), want %s", factor, got, err, want)
		}
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

// The merges of SentencePiece's tokens are all ways to split them, the ways of the highest score first.
func TestPieces(t *testing.T) {
	keys := complete(t, "llama", sentencePieces()...)
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

// A tokenizer of a folder becomes a file's, which becomes the same again: of characters with its merges in the order of
// their tokens, and of bytes with each way to split a text.
func TestTokenizersThereAndBack(t *testing.T) {
	again := func(tokenizer any) (first, second object, err error) {
		data, _ := json.Marshal(tokenizer)
		keys, err := tokenizerKeys(data, 0)
		if err != nil {
			return nil, nil, err
		}
		f := &File{Keys: keys}
		made, err := f.tokenizer()
		if err != nil {
			t.Fatal(err)
		}
		written, _ := json.Marshal(made)
		if err := json.Unmarshal(data, &first); err != nil {
			t.Fatal(err)
		}
		return first, second, json.Unmarshal(written, &second)
	}
	files := map[string]any{}
	for _, of := range append(splits(), splits()[3]) {
		f := &File{Keys: []Key{{tokenizerPrefix + "model", OfText("gpt2")},
			{tokenizerPrefix + "pre", OfText(of.names[len(of.names)-1])},
			{tokenizerPrefix + "tokens", OfStrings([]string{"a", "b", "ab", "<|end|>"})},
			{tokenizerPrefix + "merges", OfStrings([]string{"a b"})},
			{tokenizerPrefix + "token_type", OfInts([]int{normalToken, normalToken, normalToken, controlToken})}}}
		file, err := f.tokenizer()
		if err != nil {
			t.Fatal(err)
		}
		files[of.names[0]] = file
	}
	for _, prefix := range []bool{true, false} {
		f := &File{Keys: append(sentencePieces(), Key{tokenizerPrefix + "add_space_prefix", OfBool(prefix)})}
		file, err := f.tokenizer()
		if err != nil {
			t.Fatal(err)
		}
		file["model"].(object)["unk_token"] = "<unk>"
		files[map[bool]string{true: "llama", false: "gemma"}[prefix]] = file
	}
	for name, file := range files {
		want, got, err := again(file)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		delete(want["model"].(object), "unk_token")
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %v, want %v", name, got, want)
		}
	}
	change := func(name string, change func(file, model object)) object {
		data, _ := json.Marshal(files[name])
		var file object
		if err := json.Unmarshal(data, &file); err != nil {
			t.Fatal(err)
		}
		change(file, file["model"].(object))
		return file
	}
	for want, file := range map[string]object{
		`got model "WordPiece", want BPE`: change("llama", func(_, m object) { m["type"] = "WordPiece" }),
		"in the order of the scores": change("llama", func(_, m object) {
			m["merges"] = [][2]string{{"a", "b"}, {"▁a", "b"}, {"▁", "a"}, {"▁", "ab"}}
		}),
		`merges: got 3, want also ["▁" "ab"]`: change(
			"llama", func(_, m object) { m["merges"] = [][2]string{{"a", "b"}, {"▁", "a"}, {"▁a", "b"}} },
		),
		"want a space before every text": change(
			"llama", func(f, _ object) { f["normalizer"] = object{"type": "NFC"} },
		),
		"ignore_merges true": change("qwen2", func(_, m object) { m["ignore_merges"] = true }),
		"normalizer {\"type\":\"Lowercase\"}": change(
			"gpt-2", func(f, _ object) { f["normalizer"] = object{"type": "Lowercase"} },
		),
		"got rstrip": change("gpt-2", func(f, _ object) {
			f["added_tokens"] = []object{{"id": 3, "content": "<|end|>", "rstrip": true}}
		}),
	} {
		want = strings.Replace(want, "got rstrip", "got lstrip false, rstrip true", 1)
		if _, _, err := again(file); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got error %v, want %q in it", err, want)
		}
	}
}

// A row of the embedding without a token has padding, which is no token again, and a hole among the ids is filled.
func TestPadding(t *testing.T) {
	for _, tokenizer := range []string{
		`{"model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2}, "merges": ["a b"]}, "added_tokens": [{"id": 3, "content": "<|end|>", "special": true}],
			"pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false, "use_regex": true}}`,
		`{"model": {"type": "BPE", "byte_fallback": true, "vocab": {"a": 0, "b": 1, "ab": 2, "▁": 3}, "merges": [["a", "b"]]},
			"normalizer": {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}}`,
	} {
		keys, err := tokenizerKeys([]byte(tokenizer), 6)
		if err != nil {
			t.Fatal(err)
		}
		f := &File{Keys: keys}
		list, _ := f.Find(tokenizerPrefix + "tokens")
		if tokens, err := list.Strings(); err != nil || len(tokens) != 6 || tokens[4] != "[PAD4]" ||
			tokens[5] != "[PAD5]" {
			t.Errorf("got tokens %q, %v, want 6, the last two [PAD4] and [PAD5]", tokens, err)
		}
		of, _ := f.Find(tokenizerPrefix + "token_type")
		if types, err := of.Ints(); err != nil || len(types) != 6 || types[4] != unusedToken ||
			types[5] != unusedToken {
			t.Errorf("got types %v, %v, want 6, the last two of unused tokens", types, err)
		}
		back, err := f.tokenizer()
		if err != nil {
			t.Fatal(err)
		}
		if vocab := back["model"].(object)["vocab"].(object); len(vocab) != 4 {
			t.Errorf("read again, the vocabulary is %v, want four tokens", vocab)
		}
		hole := strings.Replace(tokenizer, `"ab": 2`, `"ab": 4`, 1)
		if keys, err = tokenizerKeys([]byte(hole), 5); err != nil {
			t.Fatal(err)
		}
		list, _ = (&File{Keys: keys}).Find(tokenizerPrefix + "tokens")
		if tokens, err := list.Strings(); err != nil || len(tokens) != 5 || tokens[2] != "[PAD2]" || tokens[4] != "ab" {
			t.Errorf("got tokens %q, %v, want [PAD2] in the hole", tokens, err)
		}
		taken := strings.Replace(tokenizer, `"ab": 2`, `"[PAD4]": 2`, 1)
		if _, err := tokenizerKeys([]byte(taken), 6); err == nil ||
			!strings.Contains(err.Error(), `"[PAD4]" is a token`) {
			t.Errorf("got error %v, want one about [PAD4]", err)
		}
	}
}

// Published vocabularies become keys of a file, and these a tokenizer that encodes alike. PEDESTRIAN_VOCABULARIES is a
// folder with packages of npm, tokenizer-NAME.
func TestPublishedVocabularies(t *testing.T) {
	dir := os.Getenv("PEDESTRIAN_VOCABULARIES")
	if dir == "" {
		t.Skip("set PEDESTRIAN_VOCABULARIES to a folder with packages of npm, such as tokenizer-llama2")
	}
	texts := []string{
		"a  b   c          d\n\n\n\te", "The wheel turns, doesn't it?\n\n  12345 HELLOworld naïve été 你好 🙂",
		"x = [i for i in range(10)]\t# 3.14\n",
	}
	paths, err := filepath.Glob(filepath.Join(dir, "tokenizer-*", "package", "models", "tokenizer.json"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("%s: no vocabularies (%v)", dir, err)
	}
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		want, err := bpe.Read(data)
		if err != nil {
			t.Logf("%s: %v", path, err)
			continue
		}
		keys, err := tokenizerKeys(data, 0)
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		f := &File{Keys: keys}
		made, err := f.tokenizer()
		if err != nil {
			t.Fatal(err)
		}
		written, _ := json.Marshal(made)
		got, err := bpe.Read(written)
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		for _, text := range texts {
			ids, _ := want.Encode(text)
			if again, err := got.Encode(text); err != nil || !slices.Equal(again, ids) {
				t.Errorf("%s: %q: got %v (%v), want %v", path, text, again, err, ids)
			}
		}
		t.Logf("%s: %d tokens", path, got.Size())
	}
}

// tokenizer_config.json has the file's first and last token, whether texts begin with the first, and the template of
// conversations.
func TestSettings(t *testing.T) {
	of := func(more ...Key) (map[string]*io.SectionReader, error) {
		keys := complete(t, "llama", append(sentencePieces(), more...)...)
		f, err := Read(encode(t, keys, nil))
		if err != nil {
			t.Fatal(err)
		}
		return f.Folder()
	}
	const chat, begin, first = tokenizerPrefix + "chat_template", tokenizerPrefix + "add_bos_token", tokenizerPrefix +
		"bos_token_id"
	for want, more := range map[string][]Key{
		`{"add_bos_token":true,"eos_token":"</s>"}`: nil,
		`{"add_bos_token":false,"bos_token":"<s>","chat_template":"{{ x }}","eos_token":"</s>"}`: {
			{first, OfInt(1)}, {chat, OfText("{{ x }}")}, {begin, OfBool(false)},
		},
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
	for want, key := range map[string]Key{
		"bos_token_id: got 265, want one of 265": {first, OfInt(265)}, "add_bos_token: got": {begin, OfInt(1)},
		"chat_template: got": {chat, OfInt(1)},
	} {
		if _, err := of(key); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got error %v, want %q in it", err, want)
		}
	}
}

// The folder's tensors have the numbers of the file: rows of queries and keys in halves of a head instead of pairs, and
// matrices of a GPT-2 as (in, out). They may be read from any byte on.
func TestFolderTensors(t *testing.T) {
	llama := complete(t, "llama", Key{"llama.attention.head_count", OfInt(2)},
		Key{"llama.attention.head_count_kv", OfInt(1)},
		Key{"llama.embedding_length", OfInt(16)}, Key{"llama.attention.key_length", OfInt(8)})
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
	neoX := complete(
		t, "gptneox", Key{"gptneox.attention.head_count", OfInt(2)}, Key{"gptneox.embedding_length", OfInt(4)},
	)
	fused, original := derivedTensor(
		t, neoX, []Entry{{"blk.1.attn_qkv.weight", []int{12, 3}, F32}},
		"gpt_neox.layers.1.attention.query_key_value.weight",
	)
	for row, from := range []int{0, 1, 4, 5, 8, 9, 2, 3, 6, 7, 10, 11} { // [q | k | v] of each head
		if got, want := fused.F32[3*row:3*row+3], original[3*from:3*from+3]; !slices.Equal(got, want) {
			t.Errorf("%s: row %d: got %v, want %v", fused.Name, row, got, want)
		}
	}
	olmoe := complete(t, "olmoe", Key{"olmoe.expert_count", OfInt(3)})
	expert, original := derivedTensor(
		t, olmoe, []Entry{{"blk.2.ffn_up_exps.weight", []int{3, 5, 2}, F32}},
		"model.layers.2.mlp.experts.1.up_proj.weight",
	)
	if !slices.Equal(expert.F32, original) || !slices.Equal(expert.Shape, []int{5, 2}) {
		t.Errorf("%s: got %v of shape %v, want %v", expert.Name, expert.F32, expert.Shape, original)
	}
	gpt2 := complete(t, "gpt2")
	matrices := []Entry{
		{"blk.0.ffn_up.weight", []int{5, 3}, F32}, {"position_embd.weight", []int{4, 3}, F32},
		{"blk.0.ffn_down.weight", []int{3, 5}, F16},
	}
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
		keys := complete(t, "llama", Key{"llama.rope.freq_base", OfFloat(theta)})
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
