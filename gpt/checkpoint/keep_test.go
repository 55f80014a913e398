package checkpoint

import "testing"

// Save keeps as many earlier checkpoints as Keep says, and one by default.
func TestKeep(t *testing.T) {
	for keep, want := range map[int][]int{-1: {4, 5}, 0: {4, 5}, 1: {4, 5}, 3: {2, 3, 4, 5}, 9: {1, 2, 3, 4, 5}} {
		path := t.TempDir()
		d := open(t, path)
		d.Keep = keep
		for step := 1; step <= 5; step++ {
			save(t, d, step, 1)
		}
		var names []string
		for _, step := range want {
			names = append(names, stepName(step))
		}
		wantNames(t, path, names...)
		d.Close()
	}
}
