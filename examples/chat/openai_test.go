package main

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// npm's client of OpenAI gets from this server what it gets from OpenAI's: models, chats, streams, stop texts,
// log-probabilities and errors; and it can leave. PEDESTRIAN_OPENAI is the unpacked package.
func TestOpenAIClient(t *testing.T) {
	client := os.Getenv("PEDESTRIAN_OPENAI")
	if client == "" {
		t.Skip("set PEDESTRIAN_OPENAI to the unpacked package openai of npm")
	}
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("node is not installed")
	}
	s, url := served(t, "-key", "secret", "-lanes", "1", "-queue", "0")
	out, err := exec.CommandContext(t.Context(), node, "testdata/openai.js", client, url, s.name).CombinedOutput()
	if err != nil || !strings.Contains(string(out), "all as expected") {
		t.Errorf("%v\n%s", err, out)
	}
}
