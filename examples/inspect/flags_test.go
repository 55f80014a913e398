package main

import (
	"path/filepath"
	"testing"

	"github.com/pedestrian-ml/pedestrian/examples/internal/flagtest"
)

// Every flag has an effect or is refused by name, and so are meaningless numbers.
func TestEveryFlag(t *testing.T) {
	dir, data := saved(t, "causal")
	p := flagtest.Program{
		Run: run,
		Args: func(out string) []string {
			return []string{"-checkpoint", dir, "-prompt", "The wheel", "-page", filepath.Join(out, "x.html"),
				"-ablate", "heads",
				"-data", data, "-tokens", "25", "-picture", filepath.Join(out, "x.png")}
		},
		Values: map[string]string{
			"checkpoint": t.TempDir(), "prompt": "Then", "page": filepath.Join(t.TempDir(), "y.html"), "ablate": "mlp",
			"tokens":  "35",
			"picture": filepath.Join(t.TempDir(), "y.png"), "corrupt": "Tha wheel", "right": "n", "wrong": "o",
			"runs": dir, "serve": ":0",
		},
		Unseen: map[string]string{"data": "TestRun", "checkpoint": "TestRun"},
	}
	p.Check(t)
	p.Refuse(t)
	p.Unread(t)
	p.Closed(t)

	p.Args = func(out string) []string {
		return []string{
			"-checkpoint", dir, "-prompt", "The wheel", "-page", filepath.Join(out, "x.html"), "-forms", "-picture",
			filepath.Join(out, "x.png"),
		}
	}
	p.Values = flagtest.With(p.Values, map[string]string{
		"draws": "9", "width": "1", "groups": "1", "drop": "0.9", "epsilon": "0.9", "share": "0.9", "seed": "3",
	})
	p.Unseen["forms"], p.Unseen["curvature"] = "it is given", "the text is another's"
	p.Check(t)
	p.Refuse(t)
}
