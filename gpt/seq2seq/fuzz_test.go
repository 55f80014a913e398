package seq2seq

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/pedestrian-ml/pedestrian/internal/fuzzed"
)

// FuzzConfig checks that no text makes a configuration panic, and that an accepted one is the same after writing and
// reading it, and equally valid.
func FuzzConfig(f *testing.F) {
	f.Add(
		[]byte(`{"source_size":4,"target_size":3,"source_vocab":7,"target_vocab":6,"n_layer":2,"n_head":2,"n_embd":4}`),
	)
	f.Fuzz(func(t *testing.T, data []byte) {
		var c, again Config
		var err error
		fuzzed.Bounded(t, fuzzed.Linear(len(data)), 10*time.Second, func() { err = c.UnmarshalJSON(data) })
		if err != nil {
			if diff := cmp.Diff(Config{}, c); diff != "" {
				t.Fatalf("changed although refused:\n%s", diff)
			}
			return
		}
		out, err := c.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		if err := again.UnmarshalJSON(out); err != nil {
			t.Fatalf("cannot read what was written: %v", err)
		}
		if diff := cmp.Diff(c, again); diff != "" {
			t.Fatalf("after JSON (-want +got):\n%s", diff)
		}
		if valid := c.Validate(); (valid == nil) != (c.Resolved().Validate() == nil) {
			t.Fatalf("%s: valid with %v, resolved with %v", out, valid, c.Resolved().Validate())
		}
	})
}

// FuzzVocabulary checks that no text makes a vocabulary panic, and that an accepted one encodes each of its tokens as
// that token's id.
func FuzzVocabulary(f *testing.F) {
	f.Add([]byte(`{"unit":"words","tokens":["one","two"]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var v, again Vocabulary
		var err error
		fuzzed.Bounded(t, fuzzed.Linear(len(data)), 10*time.Second, func() { err = v.UnmarshalJSON(data) })
		if err != nil {
			return
		}
		out, err := json.Marshal(&v)
		if err != nil {
			t.Fatal(err)
		}
		if err := again.UnmarshalJSON(out); err != nil || !slices.Equal(again.tokens, v.tokens) {
			t.Fatalf("%s: after writing and reading: got %q, want %q (%v)", data, again.tokens, v.tokens, err)
		}
		for id, token := range v.tokens[specials:] {
			if id += specials; !slices.Equal(v.split(token), []string{token}) {
				t.Fatalf("accepted %q, which no text of %s contains", token, v.unit)
			}
			if got, err := v.Encode(token); err != nil || !slices.Equal(got, []int{id}) || v.Decode(got) != token {
				t.Fatalf("%q: got ids %v, want %d (%v)", token, got, id, err)
			}
		}
		v.Decode([]int{-1, 0, v.Size()})
		if _, err := v.Encode(strings.Repeat("\x00", 3)); err == nil && !bytes.Contains(data, []byte(`u0000`)) {
			t.Fatal("encoded an unknown token")
		}
	})
}
