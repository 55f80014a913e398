package main

import (
	"path/filepath"
	"slices"
	"testing"
)

// With -keep_checkpoints earlier checkpoints stay, also when the run is resumed without the flag.
func TestKeepCheckpoints(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "out")
	checkpoints := func(args ...string) (list []string) {
		t.Helper()
		mustDo(t, append([]string{"-out_dir", dir, "-tokens", "0"}, args...)...)
		paths, err := filepath.Glob(filepath.Join(dir, "step-*"))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			list = append(list, filepath.Base(path)[len("step-0000000"):])
		}
		return list
	}
	first := small(t, dir, "-max_iters", "5", "-eval_interval", "1", "-keep_checkpoints", "4")
	if got := checkpoints(first...); !slices.Equal(got, []string{"1", "2", "3", "4", "5"}) {
		t.Errorf("got the checkpoints %v", got)
	}
	if got := checkpoints("-resume", "-max_iters", "7"); !slices.Equal(got, []string{"3", "4", "5", "6", "7"}) {
		t.Errorf("resumed: got the checkpoints %v", got)
	}
	got := checkpoints("-resume", "-max_iters", "8", "-keep_checkpoints", "1")
	if !slices.Equal(got, []string{"7", "8"}) {
		t.Errorf("resumed with 1: got the checkpoints %v", got)
	}
}
