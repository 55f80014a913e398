package main

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/examples/internal/flagtest"
)

// Every flag has an effect or is refused by name, and so are meaningless numbers.
func TestEveryFlag(t *testing.T) {
	data := quick(t)[2]
	other := filepath.Join(t.TempDir(), "other.txt")
	if err := os.WriteFile(other, []byte(strings.Repeat("A text, and another than the first one was.\n", 20)), 0o644); err != nil {
		t.Fatal(err)
	}
	p := flagtest.Program{
		Run: unmeasured,
		Args: func(string) []string {
			return append(flagtest.Small(), "-quick", "-data", data, "-only", "relu", "-headline", "relu", "-contexts", "4,8", "-seeds", "1", "-rounds", "1")
		},
		Values: flagtest.With(flagtest.Network(), map[string]string{
			"head": "linear", "data": other, "only": "gelu_tanh", "headline": "baseline with -seeds 2", "seeds": "2", "contexts": "4", "json": "true",
			"min_lr": "0.19",
		}),
		Unseen: map[string]string{
			"rounds":          "the same but for the times",
			"quick":           "its sizes are given as flags",
			"threads":         "the same bits",
			"kernels":         "the same but for rounding",
			"recompute":       "the same bits",
			"memory_limit":    "a limit that the run stays below",
			"shard_optimizer": "of several ranks",
		},
	}
	p.Check(t)
	p.Refuse(t)
	p.Unread(t)
}

// unmeasured is run without the times and sizes that differ from run to run.
func unmeasured(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	var out strings.Builder
	err := run(ctx, args, &out, stderr)
	row := regexp.MustCompile(`(?m)( \| [\d,.]+){2} \| (\S+) \| [\d,]+ \|$|( [\d,]+ \|)+ [\d.]+× \|$`)
	_, failed := io.WriteString(stdout, row.ReplaceAllString(out.String(), " | $2 |"))
	if err != nil {
		return err
	}
	return failed
}
