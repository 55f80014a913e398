package hostile

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"testing"

	"github.com/pedestrian-ml/pedestrian/internal/heap"
)

// TestMain runs the tests in a program that contains the exported names.
func TestMain(m *testing.M) {
	if functions != nil {
		heap.Limit()
		os.Exit(m.Run())
	}
	err := rebuilt()
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		os.Exit(exit.ExitCode())
	case err != nil:
		fmt.Fprintln(os.Stderr, "hostile:", err)
		os.Exit(1)
	}
}

// rebuilt compiles these tests with the exported names in names_test.go and runs them.
func rebuilt() error {
	if os.Getenv("MUTANT") != "" || os.Getenv("MUTANT_BLOCKS") != "" {
		return errors.New("got mutants, want none: they are not in the program that TestMain compiles")
	}
	dir, err := os.MkdirTemp("", "hostile")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	names, err := list()
	if err != nil {
		return err
	}
	replaced, err := filepath.Abs("names_test.go")
	if err != nil {
		return err
	}
	written := filepath.Join(dir, "names_test.go")
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{replaced: written}})
	if err != nil {
		return err
	}
	program, overlayFile := filepath.Join(dir, "hostile.exe"), filepath.Join(dir, "overlay.json") // Windows wants .exe
	err = errors.Join(os.WriteFile(written, []byte(names.source()), 0o644), os.WriteFile(overlayFile, overlay, 0o644))
	if err != nil {
		return err
	}
	args := []string{"test", "-c", "-vet=off", "-overlay", overlayFile, "-o", program}
	if build, ok := debug.ReadBuildInfo(); ok {
		for _, s := range build.Settings {
			if s.Key == "-tags" || s.Key == "-race" {
				args = append(args, s.Key+"="+s.Value)
			}
		}
	}
	if out, err := exec.Command("go", append(args, ".")...).CombinedOutput(); err != nil {
		return fmt.Errorf("%w\n%s", err, out)
	}
	tests := exec.Command(program, os.Args[1:]...)
	tests.Stdout, tests.Stderr = os.Stdout, os.Stderr
	return tests.Run()
}
