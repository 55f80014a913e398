package bpe

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

const rhyme = "The wheels on the bus go round and round,\nround and round, round and round.\n\nIt's 1234 o'clock;  " +
	"they're all aboard!\nAnd so on\n\n"

func trained(t testing.TB, size int, special ...string) *Tokenizer {
	t.Helper()
	tok, err := Train(strings.Repeat(rhyme, 3), size, special...)
	if err != nil {
		t.Fatal(err)
	}
	return tok
}

// encodeOneByOne is Encode by definition, without a cache and without queues.
func encodeOneByOne(t *Tokenizer, text string) (ids []int) {
	pieces(t.form.before(text, true), t.split, time.Time{}, func(piece string) {
		for _, id := range oneByOne(t.merges, t.form.symbols(nil, piece)) {
			ids = append(ids, int(id))
		}
	})
	return ids
}

// texts returns random texts of words, white space, other scripts and arbitrary bytes.
func texts(n int) (list []string) {
	rng := rand.New(rand.NewPCG(3, 4))
	atoms := []string{
		"the", "round", " and", "\n", "  ", "日本語", "naïve", "🙂", "\xff", "\xc3", "\x7f", "\x00", "'s", "99", "<|end|>",
		"▁", "\ufffd",
	}
	for range n {
		var s strings.Builder
		for range rng.IntN(40) {
			if rng.IntN(3) == 0 {
				s.WriteByte(byte(rng.IntN(256)))
			} else {
				s.WriteString(atoms[rng.IntN(len(atoms))])
			}
		}
		list = append(list, s.String())
	}
	return append(list, "", strings.Repeat("round", 200), strings.Repeat(" ", 300))
}

// Any bytes come back and are encoded as by merging one by one, even by a Tokenizer that has encoded many texts.
func TestRoundTrip(t *testing.T) {
	tok := trained(t, 320, "<|end|>")
	for _, text := range texts(2000) {
		ids, err := tok.Encode(text)
		if err != nil {
			t.Fatal(err)
		}
		if want := encodeOneByOne(tok, text); !slices.Equal(ids, want) {
			t.Fatalf("%q: got %v, want %v", text, ids, want)
		}
		if back, err := tok.Decode(ids); err != nil || back != text {
			t.Fatalf("%q comes back as %q, %v", text, back, err)
		}
	}
}

// More pieces than the cache has places get the correct ids.
func TestManyPieces(t *testing.T) {
	tok := trained(t, 300)
	var s strings.Builder
	for i := range 2 * places {
		fmt.Fprintf(&s, " x%dy", i)
	}
	for range 2 {
		ids, err := tok.Encode(s.String())
		if err != nil || !slices.Equal(ids, encodeOneByOne(tok, s.String())) {
			t.Fatal("the ids differ from those of merging one by one: ", err)
		}
	}
}

// A special token acts only in EncodeSpecial, and is ordinary text otherwise.
func TestSpecial(t *testing.T) {
	tok := trained(t, 300, "<|end|>", "<|end|>!")
	end, _ := tok.Special("<|end|>")
	loud, _ := tok.Special("<|end|>!")
	if end != 298 || loud != 299 {
		t.Fatalf("special tokens %d and %d, want the last two of 300", end, loud)
	}
	if _, ok := tok.Special("the"); ok {
		t.Error("an ordinary token was found as special")
	}
	plain, _ := tok.Encode("a<|end|>b")
	if slices.Contains(plain, end) {
		t.Errorf("a text was encoded to the special token: %v", plain)
	}
	got, err := tok.EncodeSpecial("a<|end|>!<|end|>b<|end")
	a, _ := tok.Encode("a")
	rest, _ := tok.Encode("b<|end")
	if want := slices.Concat(a, []int{loud, end}, rest); err != nil || !slices.Equal(got, want) {
		t.Errorf("got %v, %v, want %v", got, err, want)
	}
	if text, err := tok.Decode(got); err != nil || text != "a<|end|>!<|end|>b<|end" {
		t.Errorf("comes back as %q, %v", text, err)
	}
}

// A written encoding is read as the same encoding and written again as the same bytes.
func TestWritten(t *testing.T) {
	tok := trained(t, 350, "<|end|>")
	data, err := json.Marshal(tok)
	if err != nil {
		t.Fatal(err)
	}
	var again Tokenizer
	if err := json.Unmarshal(data, &again); err != nil {
		t.Fatal(err)
	}
	if twice, err := json.Marshal(&again); err != nil || string(twice) != string(data) {
		t.Errorf("written twice it differs: %v", err)
	}
	for _, text := range texts(100) {
		a, _ := tok.EncodeSpecial(text)
		b, _ := again.EncodeSpecial(text)
		if !slices.Equal(a, b) {
			t.Fatalf("%q: %v before, %v read again", text, a, b)
		}
	}
}

// A Tokenizer is safe for concurrent use.
func TestTogether(t *testing.T) {
	tok := trained(t, 320)
	var wait sync.WaitGroup
	for range 4 {
		wait.Go(func() {
			for _, text := range texts(50) {
				if ids, err := tok.Encode(text); err != nil || !slices.Equal(ids, encodeOneByOne(tok, text)) {
					t.Errorf("%q: got %v, %v", text, ids, err)
				}
			}
		})
	}
	wait.Wait()
}

// Without a vocabulary every method fails, and an error names an id outside the vocabulary.
func TestNoVocabulary(t *testing.T) {
	for _, tok := range []*Tokenizer{nil, new(Tokenizer)} {
		if _, err := tok.Encode("a"); err == nil {
			t.Error("a text was encoded without a vocabulary")
		}
		if _, err := tok.EncodeSpecial("a"); err == nil {
			t.Error("a text was encoded without a vocabulary")
		}
		if _, err := tok.MarshalJSON(); err == nil {
			t.Error("a missing vocabulary was written")
		}
		if _, err := tok.Decode([]int{0}); err == nil {
			t.Error("an id was decoded without a vocabulary")
		}
		if _, ok := tok.Special("a"); ok || tok.Size() != 0 {
			t.Error("there are tokens without a vocabulary")
		}
	}
	if err := (*Tokenizer)(nil).UnmarshalJSON(tiny(t)); err == nil {
		t.Error("read into nil")
	}
	_, err := trained(t, 300).Decode([]int{1, 300})
	if want := "tokenizer: id 300 at position 1 is outside the vocabulary of 300 tokens"; err == nil ||
		err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}
