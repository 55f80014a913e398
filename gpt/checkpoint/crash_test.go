package checkpoint

import (
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// scene is the state of the disk, all flushed, when a Save begins that the power cut ends.
type scene struct {
	name  string
	disk  func(t *testing.T) (*Dir, *memDisk)
	step  int    // saved as attempt 2
	old   [2]int // the step, and attempt, that loads before
	spare int    // number of flushes that this scene alone would not need
}

func scenes() []scene {
	saved := func(steps ...int) func(t *testing.T) (*Dir, *memDisk) {
		return func(t *testing.T) (*Dir, *memDisk) {
			d, m := newMemDir()
			for _, step := range steps {
				save(t, d, step, 1)
			}
			return d, m
		}
	}
	return []scene{
		{"second", saved(1), 2, [2]int{1, 1}, 0},
		{"third, the first is removed", saved(1, 2), 3, [2]int{2, 1}, 1}, // pruning flushes the new name once more
		{"the same again", saved(1, 2), 2, [2]int{2, 1}, 0},
		{"the only one again", saved(1), 1, [2]int{1, 1}, 0},
		{"the same again, cut short before", func(t *testing.T) (*Dir, *memDisk) {
			d, m := saved(1, 2)(t)
			files := state(2, 0)
			slices.Reverse(files) // stage wants ascending names
			if err := d.stage("/.tmp-x", files); err != nil {
				t.Fatal(err)
			}
			if err := d.publish("/.tmp-x", stepName(2)); err != nil { // and no prune
				t.Fatal(err)
			}
			return d, m
		}, 2, [2]int{2, 0}, 0},
	}
}

// TestCrashStates enumerates every state that a power cut at any moment of a Save can leave, in the worst model:
// anything that was not flushed may be on the disk or not, each change of a name and each piece of a file
// independently, in any order. Each state must load the old checkpoint or the new one, and no name may belong to half a
// checkpoint; after Save has returned, it must be the new one. Without the flushes, all or any one of them, some states
// must be torn: this shows that the test can fail, and that every flush is needed.
func TestCrashStates(t *testing.T) {
	total, torn := 0, 0
	for _, s := range scenes() {
		d, m := s.disk(t)
		base := m.tree.clone()
		m.log = nil
		save(t, d, s.step, 2)

		n, bad := s.enumerate(base, m.log)
		if bad != nil {
			t.Errorf("%s: %d of %d states are torn: %s", s.name, len(bad), n, bad[0])
		}
		total += n

		unsafe := slices.DeleteFunc(slices.Clone(m.log), func(o op) bool { return o.kind == "sync" })
		n, bad = s.enumerate(base, unsafe)
		if len(bad) == 0 {
			t.Errorf("%s: none of %d states is torn without flushing: the test has no teeth", s.name, n)
		}
		torn += len(bad)
		t.Logf("%s: without flushing %d of %d torn", s.name, len(bad), n)
		if testing.Short() {
			continue
		}
		if got := s.spareFlushes(base, m.log); got != s.spare {
			t.Errorf("%s: %d flushes could be left out, want %d", s.name, got, s.spare)
		}
	}
	t.Logf("with flushing 0 of %d states torn, without %d", total, torn)
	if total < 1000 {
		t.Errorf("only %d states: the model loses too little", total)
	}
}

// spareFlushes counts the flushes that can be left out, one at a time, without tearing a state.
func (s scene) spareFlushes(base tree, log []op) (n int) {
	for i, o := range log {
		if o.kind == "sync" {
			if _, bad := s.enumerate(base, slices.Delete(slices.Clone(log), i, i+1)); len(bad) == 0 {
				n++
			}
		}
	}
	return n
}

// enumerate returns the number of states after a power cut, and the error of each distinct wrong one. It stops at the
// first moment that has any.
func (s scene) enumerate(base tree, log []op) (n int, bad []string) {
	seen := map[string]bool{}
	for cut := 0; cut <= len(log) && len(bad) == 0; cut++ {
		done := cut == len(log)
		for state := range crashStates(base, log[:cut]) {
			dir := state.checkpoints()
			n++
			key := fmt.Sprint(done, fingerprint(dir))
			if seen[key] {
				continue
			}
			seen[key] = true
			if err := s.check(dir, done); err != nil {
				bad = append(bad, fmt.Sprintf("after %d of %d operations: %v", cut, len(log), err))
			}
		}
	}
	return n, bad
}

func (s scene) check(dir fs.FS, done bool) error {
	c, err := load(dir, "/", "", nil)
	if err != nil {
		return err
	}
	attempt, err := attemptOf(c)
	if err != nil {
		return err
	}
	isOld := c.Step == s.old[0] && attempt == s.old[1]
	isNew := c.Step == s.step && attempt == 2
	if !isNew && (done || !isOld) {
		return fmt.Errorf("loads step %d, attempt %d (Save has returned: %v)", c.Step, attempt, done)
	}
	entries, err := fs.ReadDir(dir, ".")
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := new(Checkpoint).open(dir, e.Name(), nil); err != nil {
			return fmt.Errorf("%s is not complete: %v", e.Name(), err)
		}
	}
	return nil
}

// fingerprint distinguishes states.
func fingerprint(dir fstest.MapFS) string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(dir)) {
		fmt.Fprintf(&b, "%s %q\n", name, dir[name].Data)
	}
	return b.String()
}

// crashStates yields every tree that may be found after the ops of log and a power cut.
func crashStates(base tree, log []op) func(yield func(tree) bool) {
	// An op is safe once its directory or file has been synced.
	var open []int // indices of the ops that are not
	synced := map[int]bool{}
	for i := len(log) - 1; i >= 0; i-- {
		switch o := log[i]; {
		case o.kind == "sync":
			synced[o.node] = true
		case !synced[o.node]:
			open = append(open, i)
		}
	}
	// An open change of a name has two outcomes, an open write four.
	outcomes := func(i int) int {
		if log[i].kind == "write" {
			return 4
		}
		return 2
	}
	return func(yield func(tree) bool) {
		choice := map[int]int{}
		for {
			state := base.clone()
			for i, o := range log {
				switch choice[i] {
				case 1: // lost
					continue
				case 2: // the size reached the disk, the bytes did not
					o.data = strings.Repeat("\x00", len(o.data))
				case 3: // the first half did
					o.data = o.data[:len(o.data)/2]
				}
				state.apply(o)
			}
			if !yield(state) {
				return
			}
			k := 0 // count up
			for ; k < len(open); k++ {
				if choice[open[k]]++; choice[open[k]] < outcomes(open[k]) {
					break
				}
				choice[open[k]] = 0
			}
			if k == len(open) {
				return
			}
		}
	}
}
