package text

import "testing"

// A nil split and shards that are not open are errors, which are yielded once or returned.
func TestNothingIsAnError(t *testing.T) {
	n := 0
	for _, err := range All(nil) {
		if n++; err == nil {
			t.Error("nil split: got no error")
		}
	}
	if n != 1 {
		t.Errorf("nil split: got %d errors, want 1", n)
	}
	if err := new(Shards).Verify(); err == nil {
		t.Error("shards that are not open: got no error")
	}
}

// The type names a kind, even if there is a model; byte pairs have at least 256 tokens.
func TestKindNames(t *testing.T) {
	for data, want := range map[string]string{
		`{"type":"byte","model":{"type":"BPE"}}`: "byte", `{"model":{"type":"BPE"}}`: "bpe",
		`{"type":"word","model":{}}`: "word",
	} {
		if k, err := KindIn([]byte(data)); err != nil || k.Name != want {
			t.Errorf("%s: got %q, %v, want %s", data, k.Name, err, want)
		}
	}
	for name, ok := range map[string]bool{"bpe:256": true, "bpe:255": false, "bpe:": false, "bpe:x": false} {
		if _, err := KindOf(name); (err == nil) != ok {
			t.Errorf("%s: got %v", name, err)
		}
	}
}
