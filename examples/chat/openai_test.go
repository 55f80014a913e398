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

// More of npm's client, in the forms of its examples: several answers, JSON, tools, embeddings and responses.
func TestOpenAIFeatures(t *testing.T) {
	clients(t, "PEDESTRIAN_OPENAI", "features.js")
}

// Vercel's client gets texts, streams, objects, tools and embeddings, by chats and by responses. PEDESTRIAN_AISDK is
// the folder of modules with the packages ai and @ai-sdk/openai of npm.
func TestAISDK(t *testing.T) {
	clients(t, "PEDESTRIAN_AISDK", "aisdk.mjs")
}

// clients runs a script with the client that a variable names.
func clients(t *testing.T, variable, script string) {
	t.Helper()
	client := os.Getenv(variable)
	if client == "" {
		t.Skipf("set %s to the client", variable)
	}
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("node is not installed")
	}
	s, url := served(t, "-key", "secret", "-template", "testdata/tools.jinja", "-tokens", "120", "-block_size", "800")
	out, err := exec.CommandContext(t.Context(), node, "testdata/"+script, client, url, s.name).CombinedOutput()
	if err != nil || !strings.Contains(string(out), "all as expected") {
		t.Errorf("%v\n%s", err, out)
	}
}
