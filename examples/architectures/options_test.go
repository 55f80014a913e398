package main

import (
	"io"
	"testing"
)

// An option of an attention applies to the rows whose attention reads it; the other rows stay valid.
func TestOptionsOfAttentions(t *testing.T) {
	c, o, err := parse([]string{"-window", "3", "-only", "attention"}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := chosen(c, o)
	if err != nil {
		t.Fatal(err)
	}
	readers := 0
	for _, r := range rows {
		r.config.VocabSize = 11
		if err := r.config.ValidateModel(); err != nil && r.Variant != "attention=linformer" {
			t.Errorf("%s: %v", r.Variant, err)
		}
		if got := r.config.Resolved().Options.Get("window"); r.reads("window") {
			if readers++; got != 3 {
				t.Errorf("%s: got window %d, want 3", r.Variant, got)
			}
		}
	}
	if readers != 5 {
		t.Errorf("%d rows read the window, want 5", readers)
	}
}
