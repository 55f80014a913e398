package seq2seq

import "testing"

// The sizes of texts and vocabularies start at 1.
func TestFieldBorders(t *testing.T) {
	c := small()
	for _, name := range []string{"source_size", "target_size", "source_vocab", "target_vocab"} {
		f, found := c.fields().Find(name)
		for v, ok := range map[string]bool{"1": true, "268435456": true, "0": false, "-1": false, "268435457": false} {
			if err := f.Decode([]byte(v)); !found || err != nil || (f.Check() == nil) != ok {
				t.Errorf("%s of %s: got %v, %v", name, v, err, f.Check())
			}
		}
	}
}
