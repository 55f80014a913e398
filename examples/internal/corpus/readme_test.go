package corpus

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestReadme checks that the README contains, before its first program, a command with the address that the examples
// download the text from.
func TestReadme(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("..", "..", "..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	command := "\ncurl -O " + tinyshakespeare().url + "\n"
	before, _, found := strings.Cut(string(data), `text.Load("input.txt"`)
	if !found || !strings.Contains(before, command) || !strings.HasSuffix(tinyshakespeare().url, "/input.txt") {
		t.Errorf("README.md has no line %q before the program that loads input.txt", command)
	}
}
