package main

import (
	"context"
	"io"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/examples/internal/flagtest"
	"github.com/pedestrian-ml/pedestrian/examples/internal/program"
)

// Every flag has an effect or is refused by name, and so are meaningless numbers.
func TestEveryFlag(t *testing.T) {
	dir, data := saved(t, "causal")
	line := []byte(`{"step":1,"loss":2}` + "\n")
	if err := os.WriteFile(filepath.Join(dir, program.MetricsFile), line, 0o644); err != nil {
		t.Fatal(err)
	}
	page, picture := filepath.Join(t.TempDir(), "y.html"), filepath.Join(t.TempDir(), "y.png")
	values := map[string]string{
		"model": filepath.Join(t.TempDir(), "model"), "prompt": "Then", "page": page, "picture": picture,
		"data_tokens": "35", "parts": "mlp",
		"corrupt": "Tha wheel", "right": "n", "wrong": "o", "serve": ":none",
		"draws": "9", "width": "1", "groups": "1", "drop": "0.9", "epsilon": "0.9", "share": "0.9", "seed": "3",
	}
	for name, args := range map[string]string{
		"look":      "-prompt Thewheel -page DIR/x.html",
		"forms":     "-prompt Thewheel -picture DIR/x.png",
		"ablate":    "-data TEXT -data_tokens 25 -picture DIR/x.png",
		"patch":     "-prompt Thewheel -corrupt Thawheel -right n -wrong t -picture DIR/x.png",
		"curvature": "-data TEXT -data_tokens 25",
		"runs":      "-page DIR/x.html",
		"explore":   "-prompt Thewheel -data TEXT -serve 127.0.0.1:0",
	} {
		values := maps.Clone(values)
		if name == "patch" {
			values["corrupt"], values["prompt"], values["right"] = "Thiwheel", "Thowheel", "e"
		}
		ctx, cancel := context.WithCancel(t.Context())
		if name == "explore" {
			cancel() // the server ends when it has begun
		}
		defer cancel()
		p := flagtest.Program{
			Run: func(_ context.Context, args []string, stdout, stderr io.Writer) error {
				return run(ctx, args, stdout, stderr)
			},
			Name: "inspect " + name,
			Args: func(out string) []string {
				return strings.Fields("-model " + dir + " " + strings.NewReplacer("DIR", out, "TEXT",
					data).Replace(args))
			},
			Values: values,
			Unseen: map[string]string{"data": "TestRun", "serve": "TestRuns"},
		}
		p.Check(t)
		p.Refuse(t)
		p.Unread(t)
		p.Help(t)
		if name == "look" || name == "ablate" {
			p.Closed(t)
		}
	}
}

// A typing mistake is answered by what was meant, or by what is wanted.
func TestTypingMistakes(t *testing.T) {
	flagtest.Program{Run: run}.Mistakes(t, [][2]string{
		{"abalte", "did you mean ablate?"},
		{"ablate -parts head", "did you mean heads?"},
		{"look -mean", "./examples/inspect ablate has it"},
		{"ablate -chekpoint x", "did you mean -model?"},
	})
}
