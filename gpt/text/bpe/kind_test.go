package bpe

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/pedestrian-ml/pedestrian/gpt/text"
)

// For byte pairs a text is cut at nine tenths of its characters and then encoded; otherwise the tokens are cut.
func TestCorpusOfBytePairs(t *testing.T) {
	s := strings.Repeat("the round wheel is around ", 20) + strings.Repeat("éé日本 the round ", 9)
	tok, err := Train(s, 300)
	if err != nil {
		t.Fatal(err)
	}
	letters := []rune(s)
	cut := len(string(letters[:len(letters)*9/10]))
	for _, c := range []struct {
		tok        text.Tokenizer
		train, val string
	}{{tok, s[:cut], s[cut:]}, {text.Bytes{}, s[:len(s)*9/10], s[len(s)*9/10:]}} {
		corpus, err := text.NewCorpus(s, c.tok, 3)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range []struct {
			part text.Split
			want string
		}{{corpus.Train(), c.train}, {corpus.Val(), c.val}} {
			want, _ := c.tok.Encode(p.want)
			got := make([]int, p.part.Len())
			if err := p.part.Read(got, 0); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%T: (-want +got):\n%s", c.tok, diff)
			}
		}
	}
	_, err = text.NewCorpus(strings.Repeat("a", 1000), tok, 3)
	if err == nil || !strings.Contains(err.Error(), `the text is "a" repeated (1000 tokens)`) {
		t.Errorf("one letter: got %v", err)
	}
}

// The kind opens what it writes, a file of Hugging Face's form, and its name may give the number of tokens.
func TestKind(t *testing.T) {
	const s = "It's a déjà-vu:\n\tx1 x2, 世界 — it's \U0001F600!"
	for _, name := range []string{"bpe", "bpe:256", "bpe:270"} {
		k, err := text.KindOf(name, Kind())
		if err != nil {
			t.Fatal(err)
		}
		tok, err := k.New(strings.Repeat(s, 9))
		if err != nil {
			t.Fatal(err)
		}
		ids, err := tok.Encode(s)
		if err != nil {
			t.Fatal(err)
		}
		data, err := tok.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		opened, err := text.Open(data, Kind())
		if err != nil {
			t.Fatal(err)
		}
		if again, err := opened.Encode(s); err != nil || !slices.Equal(ids, again) || text.Match(opened, data) != nil {
			t.Errorf("%s: opened again: ids %v (%v), want %v", name, again, err, ids)
		}
		if got, err := text.BytesPerToken(text.Tokens(ids), tok); err != nil ||
			got != float64(len(s))/float64(len(ids)) {
			t.Errorf("%s: got %v bytes per token, %v", name, got, err)
		}
		if _, err := text.Open(data); err == nil || !strings.Contains(err.Error(), `got "bpe", want one of`) {
			t.Errorf("%s: without the kind: got %v", name, err)
		}
	}
	for _, name := range []string{"bpe:255", "bpe:", "bpe:x", "byte:300"} {
		if _, err := text.KindOf(name, Kind()); err == nil {
			t.Errorf("%s: got no error", name)
		}
	}
}

// Who opens a file of byte pairs without their kind learns which kind to pass.
func TestOpenNamesTheKind(t *testing.T) {
	tok, err := Train("a b", 256)
	if err != nil {
		t.Fatal(err)
	}
	data, err := tok.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	const want = `got "bpe", want one of character, byte, word; ` +
		`another kind, such as bpe.Kind of gpt/text/bpe, must be passed`
	if _, err := text.Open(data); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %s", err, want)
	}
	if _, err := text.Open(data, Kind()); err != nil {
		t.Error(err)
	}
}
