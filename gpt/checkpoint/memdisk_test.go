package checkpoint

import (
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"testing/fstest"
)

// op is one change of a file system. Files and directories are numbers, so that a name can come and go without them; 0
// is the root.
type op struct {
	kind string // link, move, unlink, write, sync
	node int    // the directory whose names change, or the file written or synced
	name string
	to   string // the new name of a move
	what int    // the file or directory that a link or move names
	data string
}

// A tree is the content of a file system: the names of each directory and the bytes of each file.
type tree struct {
	dirs  map[int]map[string]int
	files map[int]string
}

func (t tree) clone() tree {
	c := tree{make(map[int]map[string]int, len(t.dirs)), maps.Clone(t.files)}
	for n, names := range t.dirs {
		c.dirs[n] = maps.Clone(names)
	}
	return c
}

// apply makes one change. An op still applies if an earlier one was lost: a rename that reached the disk names its
// directory, even if the directory's first name never did.
func (t tree) apply(o op) {
	names := t.dirs[o.node]
	if names == nil {
		names = map[string]int{}
	}
	switch o.kind {
	case "link":
		names[o.name] = o.what
		t.dirs[o.node] = names
	case "move":
		if names[o.name] == o.what {
			delete(names, o.name)
		}
		names[o.to] = o.what
	case "unlink":
		delete(names, o.name)
	case "write":
		t.files[o.node] += o.data
	}
}

// memDisk is a disk in memory that records its operations.
type memDisk struct {
	tree
	log  []op
	next int
}

func newMemDisk() *memDisk {
	return &memDisk{tree: tree{map[int]map[string]int{0: {}}, map[int]string{}}, next: 1}
}

func (m *memDisk) do(o op) {
	m.apply(o)
	m.log = append(m.log, o)
}

// find returns the directory of a path, the path's last name, and the node of that name.
func (m *memDisk) find(p string) (dir int, name string, node int, ok bool) {
	if p == "/" {
		return 0, "", 0, true
	}
	parent, name := path.Split(p)
	_, _, dir, ok = m.find(path.Clean(parent))
	if !ok {
		return 0, name, 0, false
	}
	node, ok = m.dirs[dir][name]
	return dir, name, node, ok
}

func (m *memDisk) list(p string) ([]string, error) {
	_, _, node, ok := m.find(p)
	if !ok {
		return nil, fs.ErrNotExist
	}
	return slices.Sorted(maps.Keys(m.dirs[node])), nil
}

func (m *memDisk) mkdir(p string) error {
	dir, name, _, exists := m.find(p)
	if exists {
		return fs.ErrExist
	}
	node := m.next
	m.next++
	m.do(op{kind: "link", node: dir, name: name, what: node})
	return nil
}

func (m *memDisk) create(p string) (writable, error) {
	dir, name, _, exists := m.find(p)
	if exists {
		return nil, fs.ErrExist
	}
	node := m.next
	m.next++
	m.files[node] = ""
	m.do(op{kind: "link", node: dir, name: name, what: node})
	return memFile{m, node}, nil
}

func (m *memDisk) open(p string) (io.ReadCloser, error) {
	_, _, node, ok := m.find(p)
	if !ok {
		return nil, fs.ErrNotExist
	}
	return io.NopCloser(strings.NewReader(m.files[node])), nil
}

func (m *memDisk) rename(from, to string) error {
	dir, name, node, ok := m.find(from)
	if !ok {
		return fs.ErrNotExist
	}
	_, toName, old, exists := m.find(to)
	if exists && len(m.dirs[old]) > 0 {
		return fmt.Errorf("rename %s %s: directory not empty", from, to)
	}
	m.do(op{kind: "move", node: dir, name: name, to: toName, what: node})
	return nil
}

func (m *memDisk) removeAll(p string) error {
	dir, name, node, ok := m.find(p)
	if !ok {
		return nil
	}
	for _, child := range slices.Sorted(maps.Keys(m.dirs[node])) {
		if err := m.removeAll(path.Join(p, child)); err != nil {
			return err
		}
	}
	m.do(op{kind: "unlink", node: dir, name: name})
	return nil
}

func (m *memDisk) syncDir(p string) error {
	_, _, node, ok := m.find(p)
	if !ok {
		return fs.ErrNotExist
	}
	m.do(op{kind: "sync", node: node})
	return nil
}

type memFile struct {
	m    *memDisk
	node int
}

func (f memFile) Write(p []byte) (int, error) {
	f.m.do(op{kind: "write", node: f.node, data: string(p)})
	return len(p), nil
}

func (f memFile) Sync() error {
	f.m.do(op{kind: "sync", node: f.node})
	return nil
}

func (f memFile) Close() error { return nil }

// checkpoints returns the part of the tree that Load reads.
func (t tree) checkpoints() fstest.MapFS {
	dir := fstest.MapFS{}
	for name, node := range t.dirs[0] {
		if !isStep(name) {
			continue
		}
		dir[name] = &fstest.MapFile{Mode: fs.ModeDir | 0o755}
		for child, n := range t.dirs[node] {
			dir[path.Join(name, child)] = &fstest.MapFile{Data: []byte(t.files[n]), Mode: 0o644}
		}
	}
	return dir
}

// newMemDir returns a Dir on a disk in memory.
func newMemDir() (*Dir, *memDisk) {
	m := newMemDisk()
	return &Dir{path: "/", disk: m, lock: io.NopCloser(nil), mark: "MARK"}, m
}
