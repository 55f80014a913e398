package main

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/examples/internal/flagtest"
	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/checkpoint"
	"github.com/pedestrian-ml/pedestrian/gpt/published"
	"github.com/pedestrian-ml/pedestrian/gpt/text/chat"
	"github.com/pedestrian-ml/pedestrian/graph"
)

// Every flag changes a conversation, or is refused by name, and so is a number that means nothing.
func TestEveryFlag(t *testing.T) {
	model := made(t)
	file := filepath.Join(t.TempDir(), "template")
	must(t, os.WriteFile(file, []byte(strings.ReplaceAll(chat.ChatML, "<|im_end|>", "<|end|>")), 0o644))
	p := flagtest.Program{
		Name: "chat",
		Run: func(ctx context.Context, args []string, stdout, stderr io.Writer) error {
			return inputs{stdin: strings.NewReader("Hi\nAnd what then?\n")}.run(ctx, args, stdout, stderr)
		},
		Args: func(string) []string {
			return []string{
				"-model", model, "-template", "chatml", "-seed", "5", "-tokens", "30", "-temperature", "2",
				"-block_size", "200",
			}
		},
		Values: map[string]string{
			"model": another(t, model), "adapter": t.TempDir(), "template": file, "weights": "int4",
			"block_size": "60",
			"top_k":      "2", "top_p": "0.1", "min_p": "0.9", "repetition_penalty": "3", "system": "Be brief.",
			"serve": "nowhere", "key": "k", "alias": "a", "cors": "*", "pooling": "last", "tokens": "3",
			"seed": "9", "cut": "true with -block_size 60",
		},
	}
	p.Check(t)
	p.Refuse(t)
	p.Help(t)
	p.Unread(t)
}

// another returns a folder with other weights.
func another(t *testing.T, dir string) string {
	t.Helper()
	m, tok, err := published.Open(dir)
	must(t, err)
	other, err := gpt.New(graph.New(graph.Float32, 7), m.Config, 1)
	must(t, err)
	files, err := other.Files(tok)
	must(t, err)
	path := filepath.Join(t.TempDir(), "other")
	must(t, checkpoint.WriteFolder(path, files))
	return path
}

// A typing mistake is answered by what was meant, or by what is wanted.
func TestTypingMistakes(t *testing.T) {
	flagtest.Program{Run: func(ctx context.Context, args []string, stdout, stderr io.Writer) error {
		return inputs{stdin: strings.NewReader("Hi\nAnd what then?\n")}.run(ctx, args, stdout, stderr)
	}}.Mistakes(t, [][2]string{
		{"-weights int9", "did you mean int8?"},
		{"-lane 3", "did you mean -lanes?"},
	})
}
