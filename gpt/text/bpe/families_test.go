package bpe

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// sections holds the parts of a tokenizer.json beside its model.
type sections struct{ normalizer, pre, post, decoder, added, model string }

const (
	byteLevelDecoder = `{"type":"ByteLevel","add_prefix_space":true,"trim_offsets":true,"use_regex":true}`
	blankDecoder     = `{"type":"Sequence","decoders":[{"type":"Replace","pattern":{"String":"▁"},"content":" "},{"type":"ByteFallback"},{"type":"Fuse"}]}`
	stripDecoder     = `{"type":"Sequence","decoders":[{"type":"Replace","pattern":{"String":"▁"},"content":" "},{"type":"ByteFallback"},{"type":"Fuse"},{"type":"Strip","content":" ","start":1,"stop":0}]}`
)

// families returns the published combinations of the parts, by family.
func families() map[string]sections {
	level := `{"type":"ByteLevel","add_prefix_space":false,"trim_offsets":true,"use_regex":true}`
	split := func(pattern, behavior string) string {
		quoted, _ := json.Marshal(pattern)
		return `{"type":"Sequence","pretokenizers":[{"type":"Split","pattern":{"Regex":` + string(quoted) +
			`},` + behavior +
			`},{"type":"ByteLevel","add_prefix_space":false,"trim_offsets":true,"use_regex":false}]}`
	}
	isolated, removed := `"behavior":"Isolated","invert":false`, `"behavior":"Removed","invert":true`
	rest := `| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+`
	endings := `(?i:'s|'t|'re|'ve|'m|'ll|'d)`
	oss := capitalWords + endings + `?|` + capitalEnds + endings + `?|\p{N}{1,3}` + rest
	tekken := capitalWords + `|` + capitalEnds + `|\p{N}` + rest
	words := func(numbers string) string {
		return endings + `|[^\r\n\p{L}\p{N}]?\p{L}+|` + numbers + `| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`
	}
	begin := func(token string) string {
		return `{"type":"TemplateProcessing","single":[{"SpecialToken":{"id":"` + token +
			`","type_id":0}},{"Sequence":{"id":"A","type_id":0}}],` +
			`"pair":[],"special_tokens":{"` + token + `":{"id":"` + token + `","ids":[1],"tokens":["` + token + `"]}}}`
	}
	digits := `{"type":"Sequence","pretokenizers":[{"type":"Digits","individual_digits":true},` + level + `]}`
	end := `{"content":"<|endoftext|>","special":true}`
	start := `{"content":"<s>","special":true,"normalized":false}`
	replace := `{"type":"Replace","pattern":{"String":" "},"content":"▁"}`
	first := `{"type":"Metaspace","replacement":"▁","prepend_scheme":"first","split":false}`
	rules := `{"type":"Sequence","pretokenizers":[`
	for _, pattern := range deepSeek {
		rules += splitSection(pattern, isolated) + `,`
	}
	rules += `{"type":"ByteLevel","add_prefix_space":false,"trim_offsets":true,"use_regex":false}]}`
	return map[string]sections{
		"deepseek v3": {`{"type":"Sequence","normalizers":[]}`, rules, level, byteLevelDecoder, end, ""},
		"another regular expression": {
			`{"type":"NFKC"}`, split(`[\p{L}\p{M}]+|\s`, isolated), level, byteLevelDecoder, end, "",
		},
		"form D": {`{"type":"Sequence","normalizers":[{"type":"NFD"}]}`, level, level, byteLevelDecoder, end, ""},
		"llama, in a form": {`{"type":"Sequence","normalizers":[{"type":"NFKC"},{"type":"Prepend","prepend":"▁"},` +
			replace + `]}`, "null", begin("<s>"), stripDecoder,
			start, `"byte_fallback":true,"fuse_unk":true,"unk_token":"<s>",`},
		"gpt2, gpt_neo, opt": {"null", level, level, byteLevelDecoder, end, ""},
		"gpt_neox": {`{"type":"NFC"}`, level, level, byteLevelDecoder,
			end + `,{"content":"   ","normalized":true,"special":false},` +
				`{"content":"  ","normalized":true,"special":false},{"content":"|||IP_ADDRESS|||","normalized":true,"special":false}`, ""},
		"llama 3, smollm3": {"null", split(words(`\p{N}{1,3}`), isolated), `{"type":"Sequence","processors":[` + level +
			`,` +
			begin("<|begin_of_text|>") + `]}`, byteLevelDecoder, `{"content":"<|begin_of_text|>","special":true}`,
			`"ignore_merges":true,`},
		"olmo2, granite 4": {"null", split(words(`\p{N}{1,3}`), removed), level, byteLevelDecoder, end, ""},
		"qwen2, qwen3": {
			`{"type":"NFC"}`, split(words(`\p{N}`), isolated), level, byteLevelDecoder,
			end + `,{"content":"<think>","special":false,"normalized":false}`, "",
		},
		"mistral, tekken": {
			"null", split(tekken, isolated), begin("<s>"), byteLevelDecoder,
			start + `,{"content":"[INST]","special":true}`, `"ignore_merges":true,`,
		},
		"gpt-oss, phi4":          {"null", split(oss, removed), level, byteLevelDecoder, end, ""},
		"smollm2, granite, olmo": {"null", digits, level, byteLevelDecoder, end, ""},
		"mistral, phi3": {`{"type":"Sequence","normalizers":[{"type":"Prepend","prepend":"▁"},` + replace + `]}`,
			"null", begin("<s>"), stripDecoder,
			start + `,{"content":"<|user|>","special":true,"normalized":false,"rstrip":true},{"content":"</s>","special":false,"normalized":false,"rstrip":true}`, `"byte_fallback":true,"fuse_unk":true,"unk_token":"<s>",`},
		"mistral 0.3": {
			"null", first, begin("<s>"), stripDecoder, start + `,{"content":"[INST]","special":true}`,
			`"byte_fallback":true,"fuse_unk":true,"unk_token":"<s>",`,
		},
		"gemma": {replace, `{"type":"Split","pattern":{"String":" "},"behavior":"MergedWithPrevious","invert":false}`,
			begin("<bos>"), blankDecoder,
			`{"content":"<bos>","special":true},{"content":"\n\n","special":false,"normalized":false},{"content":"\n\n\n","special":false,"normalized":false},` +
				`{"content":"▁▁","special":false,"normalized":false},{"content":"<table>","special":false,"normalized":false}`, `"byte_fallback":true,"fuse_unk":true,"unk_token":"<bos>",`},
	}
}

// file returns the tokenizer.json of a family with the vocabulary of tok, which is over bytes; for an encoding over
// characters its tokens of whole characters are written with ▁ for the space.
func (s sections) file(t *testing.T, tok *Tokenizer) json.RawMessage {
	t.Helper()
	var learnt fileJSON
	data, err := json.Marshal(tok)
	if err == nil {
		err = json.Unmarshal(data, &learnt)
	}
	if err != nil {
		t.Fatal(err)
	}
	var own vocabulary
	if err := json.Unmarshal(learnt.Model.Vocab, &own); err != nil {
		t.Fatal(err)
	}
	tokens, err := own.tokens(0)
	if err != nil {
		t.Fatal(err)
	}
	list := vocabulary{}
	merges := learnt.Model.Merges
	add := func(token string) {
		if !slices.ContainsFunc(list, func(e entry) bool { return e.token == token }) {
			list = append(list, entry{token, len(list)})
		}
	}
	if strings.Contains(s.model, "byte_fallback") {
		for b := range 256 {
			add(fmt.Sprintf("<0x%02X>", b))
		}
		merges = nil
		blanks := func(visible string) string {
			b, _ := bytesOf(visible)
			return strings.ReplaceAll(b, " ", blank)
		}
		for _, e := range tokens[:256] {
			if c := blanks(e); c == blank || len(c) == 1 && c[0] < 0x80 {
				add(c)
			}
		}
		for _, m := range append(
			learnt.Model.Merges, [2]string{visible(" "), visible(" ")}, [2]string{visible("\n"), visible("\n")},
		) {
			if left, right := blanks(m[0]), blanks(m[1]); utf8.ValidString(left) && utf8.ValidString(right) {
				add(left + right)
				if !slices.Contains(merges, [2]string{left, right}) {
					merges = append(merges, [2]string{left, right})
				}
			}
		}
	} else {
		for _, token := range tokens {
			add(token)
		}
	}
	var added []map[string]any
	if err := json.Unmarshal([]byte("["+s.added+"]"), &added); err != nil {
		t.Fatal(err)
	}
	inside := strings.Contains(s.model, "byte_fallback")
	for i, a := range added {
		content := a["content"].(string)
		at := slices.IndexFunc(list, func(e entry) bool { return e.token == content })
		switch {
		case at >= 0:
			a["id"] = at
		case inside:
			add(content)
			a["id"] = len(list) - 1
		default:
			a["id"] = len(list) + i
		}
	}
	quote := func(v any) string {
		data, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	return json.RawMessage(`{"version":"1.0","truncation":null,"padding":null,"added_tokens":` + quote(added) +
		`,"normalizer":` + s.normalizer +
		`,"pre_tokenizer":` + s.pre + `,"post_processor":` + s.post + `,"decoder":` + s.decoder +
		`,"model":{"type":"BPE","dropout":null,` + s.model +
		`"vocab":` + quote(list) + `,"merges":` + quote(merges) + `}}`)
}

// TestHuggingFaceTokenizersFamilies compares the ids and the decoded texts of every published combination with Hugging
// Face's program for browsers, for Shakespeare and for random texts, with NIGHTLY for all of Shakespeare and 20,000.
// PEDESTRIAN_VOCABULARIES names a folder with published files, tokenizer.json at any depth, which it compares too.
func TestHuggingFaceTokenizersFamilies(t *testing.T) {
	n, most := 400, 60_000
	if os.Getenv("NIGHTLY") != "" {
		n, most = 20_000, 1<<30
	}
	var texts []string
	for _, text := range mixed(n) {
		if !strings.ContainsAny(text, "\u0085\ufeff") {
			texts = append(texts, text)
		}
	}
	shakespeare, err := os.ReadFile(os.Getenv("PEDESTRIAN_TEXT"))
	if err != nil {
		shakespeare = []byte(strings.Repeat(rhyme, 100))
	}
	texts = append(texts, strings.SplitAfter(string(shakespeare[:min(len(shakespeare), most)]), "\n\n")...)
	texts = append(
		texts, "▁a ▁▁ b▁", "x.append(12345) 日本語テスト\r\n", "ｆｕｌｌ ①²\u00a0x", "a<s>\n b", "  \n\n\n x<|user|> \n y",
		"don't DON'T iPhone's HTTPServer/x\n", "<think>e\u0301</think>", "[INST] a [INST]b",
	)
	learnt, err := Train(string(shakespeare[:min(len(shakespeare), 200_000)]), 1200)
	if err != nil {
		t.Fatal(err)
	}
	tokenizers := map[string]json.RawMessage{}
	for name, s := range families() {
		tokenizers[name] = s.file(t, learnt)
	}
	if dir := os.Getenv("PEDESTRIAN_VOCABULARIES"); dir != "" {
		filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
			if err == nil && filepath.Base(path) == "tokenizer.json" {
				tokenizers[path], err = os.ReadFile(path)
			}
			return err
		})
	}
	for name, data := range tokenizers {
		t.Run(name, func(t *testing.T) {
			tok, err := Read(data)
			if err != nil {
				t.Fatal(err)
			}
			var file struct {
				Decoder      json.RawMessage
				PreTokenizer json.RawMessage `json:"pre_tokenizer"`
			}
			if err := json.Unmarshal(data, &file); err != nil {
				t.Fatal(err)
			}
			stripped := bytes.Contains(file.Decoder, []byte(`"Strip"`)) // of the space that a text begins with
			asked := texts
			if bytes.Contains(file.PreTokenizer, []byte(`"Digits"`)) {
				asked = slices.DeleteFunc(
					slices.Clone(texts), func(s string) bool { return strings.ContainsFunc(s, foreign) },
				)
			}
			var answers []struct {
				IDs  []int  `json:"ids"`
				Text string `json:"text"`
			}
			node(t, "PEDESTRIAN_TOKENIZERS", "@huggingface/tokenizers", `
				const { Tokenizer } = require(dir + "/dist/tokenizers.cjs");
				const tok = new Tokenizer(asked.Tokenizer, {clean_up_tokenization_spaces: false});
				return asked.Texts.map(s => {
					const ids = Array.from(tok.encode(s, { add_special_tokens: false }).ids);
					return { ids, text: ids.length ? tok.decode(ids) : "" };
				})`, map[string]any{"Tokenizer": data, "Texts": asked}, &answers)
			different, tokens := 0, 0
			for i, text := range asked {
				got, err := tok.EncodeSpecial(text)
				back, wrong := tok.Decode(got)
				if stripped {
					back = strings.TrimPrefix(back, " ")
				}
				tokens += len(got)
				if err != nil || wrong != nil || !slices.Equal(got, answers[i].IDs) || back != answers[i].Text {
					if different++; different < 4 {
						t.Errorf(
							"%q: got %v of %q (%v), want %v of %q", text, got, back, err, answers[i].IDs,
							answers[i].Text,
						)
					}
				}
			}
			t.Logf("%d tokens of %d texts; %d differ", tokens, len(asked), different)
		})
	}
}
