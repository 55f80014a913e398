package text

import (
	"slices"
	"testing"
)

// Every kind encodes and decodes a text without loss, and opens again from its JSON with the same ids.
func TestKinds(t *testing.T) {
	const s = "It's a déjà-vu:\n\tx1 x2, 世界 — it's \U0001F600!"
	for _, k := range Kinds() {
		t.Run(k.Name, func(t *testing.T) {
			tok, err := k.New(s)
			if err != nil {
				t.Fatal(err)
			}
			ids, err := tok.Encode(s)
			if err != nil {
				t.Fatal(err)
			}
			if back, err := tok.Decode(ids); err != nil || back != s {
				t.Errorf("decoded %q (%v), want %q", back, err, s)
			}
			if top := slices.Max(ids); top >= tok.Size() || slices.Min(ids) < 0 {
				t.Errorf("ids to %d of a vocabulary of %d", top, tok.Size())
			}
			for _, id := range []int{-1, tok.Size()} {
				_, err := tok.Decode([]int{0, id})
				wantError(t, err, "position 1")
			}
			data, err := tok.MarshalJSON()
			if err != nil {
				t.Fatal(err)
			}
			opened, err := Open(data)
			if err != nil {
				t.Fatal(err)
			}
			again, err := opened.Encode(s)
			if err != nil || !slices.Equal(ids, again) || Match(opened, data) != nil {
				t.Errorf("opened again: ids %v (%v), want %v", again, err, ids)
			}
			other := string(data[:len(data)-1]) + `,"more":1}`
			if _, err := Open([]byte(other)); err == nil {
				t.Errorf("%s: opened with an unknown key", other)
			}
		})
	}
}

func TestOpenRefuses(t *testing.T) {
	for data, reason := range map[string]string{
		``:                                       "unexpected end",
		`{"type":"piece"}`:                       `got "piece", want one of ` + KindNames(),
		`{"type":"byte","vocab":"a"}`:            "not the form",
		`{"type":"character","vocab":"ba"}`:      "not ascending",
		`{"type":"character","vocab":"abdc"}`:    `not ascending, "c" at 3 follows "d"`,
		`{"type":"word","vocab":[]}`:             "empty",
		`{"type":"word","vocab":["b","a"]}`:      `"a" at 1 follows "b"`,
		`{"type":"word","vocab":["a","a"]}`:      "not ascending",
		`{"type":"word","vocab":["a","c","b"]}`:  `not ascending, "b" at 2 follows "c"`,
		`{"type":"word","vocab":["a b"]}`:        `"a b" at 0 is 3 words`,
		`{"type":"word","vocab":[""]}`:           "0 words",
		`{"type":"word","vocab":["a"],"x":1}`:    "not the form",
		`{"type":"word","vocab":["a\ud800"]}`:    "2 words",
		`{"type":"word","Vocab":["a"]}`:          "not the form",
		`{"type":"word","vocab":"a"}`:            ", want a ",
		`{"type":"byte"} {}`:                     "invalid character",
		`{"type":"word","vocab":["a"],"type":1}`: ", want a ",
	} {
		_, err := Open([]byte(data))
		if err == nil {
			t.Errorf("%s: accepted", data)
			continue
		}
		wantError(t, err, reason)
	}
}

func TestWords(t *testing.T) {
	tok, err := NewWords("to be, or not to be")
	if err != nil {
		t.Fatal(err)
	}
	ids, err := tok.Encode("not, be")
	if err != nil || !slices.Equal(ids, []int{3, 1, 0, 2}) { // " " "," "be" "not" "or" "to"
		t.Errorf("got %v (%v), want [3 1 0 2]", ids, err)
	}
	_, err = tok.Encode("to bee")
	wantError(t, err, `"bee" at position 2`, "6 words")
	_, err = NewWords("")
	wantError(t, err, "empty")
	_, err = NewWords("a\xff")
	wantError(t, err, "UTF-8", "byte 1")
}

// A list of user-defined kinds is not changed, not even beyond its end.
func TestOwnKindsStay(t *testing.T) {
	own := make([]Kind, 1, 9)
	own[0].Name = "own"
	for _, name := range []string{"own", "character", "none"} {
		if _, err := KindOf(name, own...); (err != nil) != (name == "none") {
			t.Errorf("%s: got %v", name, err)
		}
		if KindNames(own...); own[:2][1].Name != "" {
			t.Fatalf("%s: got %s after the end of the list", name, own[:2][1].Name)
		}
	}
}
