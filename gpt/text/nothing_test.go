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

// The type names a kind, even if there is a model.
func TestKindNames(t *testing.T) {
	for data, want := range map[string]string{
		`{"type":"byte","model":{"type":"BPE"}}`: "byte", `{"type":"word","model":{}}`: "word",
	} {
		if k, err := KindIn([]byte(data)); err != nil || k.Name != want {
			t.Errorf("%s: got %q, %v, want %s", data, k.Name, err, want)
		}
	}
}
