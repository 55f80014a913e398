package main

import (
	"bytes"
	"flag"
	"io"
	"strings"
	"testing"
)

// The table shows the network in the flags, and the picture the given scope; -help lists no training flags.
func TestRun(t *testing.T) {
	for word, args := range map[string][]string{
		"h.2.mlp.c_proj": {"-n_layer", "3"}, "digraph": {"-dot", "h.0", "-kernels=false"},
		"lm_head": {"-dot", "all", "-n_layer", "1"},
	} {
		var out bytes.Buffer
		if err := run(args, &out, io.Discard); err != nil || !strings.Contains(out.String(), word) {
			t.Errorf("%q: %v, got %d bytes, want %q in it", args, err, out.Len(), word)
		}
	}
	var said bytes.Buffer
	if err := run([]string{"-help"}, io.Discard, &said); err != flag.ErrHelp {
		t.Error(err)
	}
	for name, want := range map[string]bool{
		"n_layer": true, "dot": true, "batch_size": true, "learning_rate": false, "max_iters": false, "out_dir": false,
		"seed": false,
	} {
		if got := strings.Contains(said.String(), "\n  -"+name); got != want {
			t.Errorf("-%s is listed: %v, want %v", name, got, want)
		}
	}
	for word, args := range map[string][]string{
		"n_head": {"-n_head", "5"}, "-beta1": {"-beta1", "0.5"}, "h.9": {"-dot", "h.9"},
	} {
		if err := run(args, io.Discard, io.Discard); err == nil || !strings.Contains(err.Error(), word) {
			t.Errorf("%q: got %v", args, err)
		}
	}
}
