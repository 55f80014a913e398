package text

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/pedestrian-ml/pedestrian/internal/fuzzed"
)

// mustCharacters returns the tokenizer of s.
func mustCharacters(t testing.TB, s string) *Characters {
	t.Helper()
	tok, err := NewCharacters(s)
	if err != nil {
		t.Fatal(err)
	}
	return tok
}

// wantError fails unless err is not nil and contains each of words.
func wantError(t testing.TB, err error, words ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("got no error, want one with %q", words)
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("got error %q, want it to say %q", err, w)
		}
	}
}

func TestTokenizerRoundTrip(t *testing.T) {
	const s = "héllo,\nwörld & <世界>\ufffd"
	tok := mustCharacters(t, s)
	ids, err := tok.Encode(s)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := tok.Size(), 17; got != want {
		t.Errorf("Size: got %d, want %d", got, want)
	}
	if got, want := len(ids), 20; got != want {
		t.Errorf("Encode: got %d ids, want %d, one per character", got, want)
	}
	back, err := tok.Decode(ids)
	if err != nil {
		t.Fatal(err)
	}
	if back != s {
		t.Errorf("Decode(Encode(s)): got %q, want %q", back, s)
	}
}

func TestTokenizerSorted(t *testing.T) {
	ids, err := mustCharacters(t, "cab\nz").Encode("\nabcz")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]int{0, 1, 2, 3, 4}, ids); diff != "" {
		t.Errorf("ids are not in code point order (-want +got):\n%s", diff)
	}
}

func TestTokenizerErrors(t *testing.T) {
	_, err := NewCharacters("")
	wantError(t, err, "empty")
	_, err = NewCharacters("ab\xffc")
	wantError(t, err, "UTF-8", "byte 2")

	tok := mustCharacters(t, "abé")
	_, err = tok.Encode("éaxb")
	wantError(t, err, `'x'`, "U+0078", "position 2", "3 characters")
	_, err = tok.Encode("éa\xc3")
	wantError(t, err, "UTF-8", "byte 3")
	for _, id := range []int{-1, 3} {
		_, err = tok.Decode([]int{0, id})
		wantError(t, err, "position 1", "3 characters")
	}
	ids, err := tok.Encode("")
	if err != nil || len(ids) != 0 {
		t.Errorf("Encode(\"\"): got %v, %v, want no ids and no error", ids, err)
	}
}

func TestTokenizerJSON(t *testing.T) {
	const s = "a&<>\"\\\u2028\x01\n\té世\ufffd\U0001F600"
	tok := mustCharacters(t, s)
	for name, marshal := range map[string]func(any) ([]byte, error){
		"Marshal":       json.Marshal,
		"MarshalIndent": func(v any) ([]byte, error) { return json.MarshalIndent(v, "", "  ") },
	} {
		data, err := marshal(tok)
		if err != nil {
			t.Fatal(name, err)
		}
		var got Characters
		if err := json.Unmarshal(data, &got); err != nil {
			t.Fatalf("%s: %s: %v", name, data, err)
		}
		if diff := cmp.Diff(*tok, got, cmp.AllowUnexported(Characters{}, vocabulary{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	var got Characters // as another program may write it
	if err := json.Unmarshal([]byte(` { "type" : "character", "vocab" : "&<>" } `), &got); err != nil ||
		got.Size() != 3 {
		t.Errorf("with & < > not escaped: got %d characters, %v, want 3", got.Size(), err)
	}
	if _, err := json.Marshal(new(Characters)); err == nil {
		t.Error("marshalling an empty vocabulary: got no error")
	}
}

func TestTokenizerJSONRefused(t *testing.T) {
	for data, reason := range map[string]string{
		``:                                       "unexpected end",
		`null`:                                   "type",
		`[]`:                                     ", want a",
		`{"vocab":"ab"}`:                         "type",
		`{"type":"bpe","vocab":"ab"}`:            `"bpe"`,
		`{"type":"character","vocab":""}`:        "empty",
		`{"type":"character"}`:                   "empty",
		`{"type":"character","vocab":1}`:         ", want a",
		`{"type":"character","vocab":"aab"}`:     `"a" at 1 follows "a"`,
		`{"type":"character","vocab":"acb"}`:     `"b" at 2 follows "c"`,
		`{"type":"character","vocab":"a\ud800"}`: "not the form",
		"{\"type\":\"character\",\"vocab\":\"a\xff\"}":   "not the form",
		`{"type":"character","vocab":"ab","vocab":"cd"}`: "not the form",
		`{"type":"character","Vocab":"ab"}`:              "not the form",
		`{"type":"character","vocab":"ab","merges":[]}`:  "not the form",
		`{"type":"character","vocab":"ab"} {}`:           "invalid character",
	} {
		tok := mustCharacters(t, "xyz")
		err := tok.UnmarshalJSON([]byte(data))
		if err == nil {
			t.Errorf("%s: accepted", data)
			continue
		}
		if !strings.Contains(err.Error(), reason) {
			t.Errorf("%s: got %q, want it to say %q", data, err, reason)
		}
		if tok.Size() != 3 {
			t.Errorf("%s: the tokenizer changed although the data was refused", data)
		}
	}
}

func FuzzTokenizerJSON(f *testing.F) {
	for _, s := range []string{
		`{"type":"character","vocab":"\n !abc"}`, `{"type":"character","vocab":"\u0026<é"}`,
		`{"type":"character","vocab":"ba"}`, `{"type":"character","vocab":"a\ud800"}`, `{}`, `null`, `[1]`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var tok, again Characters
		var err error
		fuzzed.Bounded(t, fuzzed.Linear(len(data)), 10*time.Second, func() { err = tok.UnmarshalJSON(data) })
		if err != nil {
			return
		}
		ids, err := tok.Encode(strings.Join(tok.tokens, ""))
		if err != nil || len(ids) != tok.Size() {
			t.Fatalf("encoding the vocabulary: %d ids of %d, %v", len(ids), tok.Size(), err)
		}
		for want, id := range ids {
			if id != want {
				t.Fatalf("character %d has id %d", want, id)
			}
		}
		out, err := tok.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		if err := again.UnmarshalJSON(out); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tok, again, cmp.AllowUnexported(Characters{}, vocabulary{})); diff != "" {
			t.Fatal(diff)
		}
	})
}
