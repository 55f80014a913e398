package checkpoint

import (
	"slices"
	"testing"
)

// The newest checkpoint comes first, and a backup after its successor. The given names are unchanged.
func TestNewestFirst(t *testing.T) {
	old := stepName(5) + backupSuffix
	names := []string{"notes", old, stepName(3), stepName(5), stepName(12), ".x"}
	given := slices.Clone(names)
	if got, want := newestFirst(names), []string{
		stepName(12), stepName(5), old, stepName(3),
	}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if !slices.Equal(names, given) {
		t.Errorf("got %v, want %v as they were", names, given)
	}
}
