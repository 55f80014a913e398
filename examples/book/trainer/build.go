package trainer

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pedestrian-ml/pedestrian/examples/book/internal/wasm"
	"github.com/pedestrian-ml/pedestrian/internal/file"
	"github.com/pkg/errors"
)

const module = "github.com/pedestrian-ml/pedestrian"

// Build returns the WebAssembly of the page, uncompressed. It compiles the same packages as the native program, but for
// parts of Gorgonia that no model reaches and that would double its size; cuts lists them.
func Build(ctx context.Context) ([]byte, error) {
	return built(ctx, module+"/examples/book/trainer/wasm")
}

// built returns the WebAssembly of a program of this module.
func built(ctx context.Context, program string) ([]byte, error) {
	work, err := os.MkdirTemp("", "trainer")
	if err != nil {
		return nil, errors.Wrap(err, "trainer")
	}
	defer os.RemoveAll(work)
	mod, overlay, err := smaller(ctx, work, program)
	if err != nil {
		return nil, err
	}
	return wasm.Build(ctx, program, "-modfile="+mod, "-overlay="+overlay)
}

// goPackage holds what go list says about a package.
type goPackage struct {
	ImportPath, Dir string
	GoFiles         []string
	Module          *struct{ Path, Dir, GoMod string }
}

// smaller writes a go.mod that replaces the modules of cuts, and an overlay that holds their files, changed where cuts
// says so. The go command reads the files that do not change from where they are.
func smaller(ctx context.Context, work, program string) (mod, overlay string, err error) {
	listed, err := wasm.Go(ctx, "list", "-deps", "-json=ImportPath,Dir,GoFiles,Module", program)
	if err != nil {
		return "", "", err
	}
	var packages []goPackage
	for d := json.NewDecoder(bytes.NewReader(listed)); d.More(); {
		var p goPackage
		if err := d.Decode(&p); err != nil {
			return "", "", errors.Wrap(err, "trainer: go list")
		}
		if p.Module != nil {
			packages = append(packages, p)
		}
	}
	w := replacement{work: work, cuts: cuts(), files: map[string]string{}, modules: map[string]string{}}
	for _, p := range packages {
		if _, ok := w.cuts[p.ImportPath]; ok && p.Module.Path != module {
			w.modules[p.Module.Path] = filepath.Join(work, filepath.FromSlash(p.Module.Path))
		}
	}
	for _, p := range packages {
		if err := w.add(p); err != nil {
			return "", "", errors.WithMessagef(err, "trainer: %s", p.ImportPath)
		}
	}
	for missing := range w.cuts {
		return "", "", errors.Errorf("trainer: got no package %s, want one to cut", missing)
	}
	if mod, err = w.mod(packages); err != nil {
		return "", "", err
	}
	data, err := json.Marshal(map[string]any{"Replace": w.files})
	if err != nil {
		return "", "", errors.Wrap(err, "trainer")
	}
	overlay = filepath.Join(work, "overlay.json")
	return mod, overlay, save(overlay, data)
}

// replacement collects the files that replace others.
type replacement struct {
	work    string            // the folder of changed files
	cuts    map[string]cut    // of the packages that have not been added
	files   map[string]string // by the paths that they stand for
	modules map[string]string // the folders that replace modules
	changed int               // number of changed files
}

// add adds the files of a package, if its module is replaced or something is cut from it.
func (w *replacement) add(p goPackage) error {
	folder := p.Dir
	if dir, ok := w.modules[p.Module.Path]; ok {
		folder = filepath.Join(dir, strings.TrimPrefix(p.ImportPath, p.Module.Path))
		w.files[filepath.Join(dir, "go.mod")] = p.Module.GoMod
		for _, name := range p.GoFiles {
			w.files[filepath.Join(folder, name)] = filepath.Join(p.Dir, name)
		}
	}
	c, ok := w.cuts[p.ImportPath]
	if !ok {
		return nil
	}
	delete(w.cuts, p.ImportPath)
	for _, name := range p.GoFiles {
		source, err := file.Read(filepath.Join(p.Dir, name), largest)
		if err != nil {
			return err
		}
		less, err := c.file(name, source)
		switch {
		case err != nil:
			return err
		case less == nil:
			delete(w.files, filepath.Join(folder, name))
		case !bytes.Equal(less, source):
			err = w.change(filepath.Join(folder, name), less)
		}
		if err != nil {
			return err
		}
	}
	for name, source := range c.added {
		if err := w.change(filepath.Join(folder, name), []byte(source)); err != nil {
			return err
		}
	}
	return nil
}

// change writes a file that stands for a path.
func (w *replacement) change(path string, source []byte) error {
	changed := filepath.Join(w.work, fmt.Sprintf("%d.go", w.changed))
	w.changed++
	w.files[path] = changed
	return save(changed, source)
}

// mod copies go.mod and go.sum of this module and adds a line to go.mod for each module that a folder replaces.
func (w *replacement) mod(packages []goPackage) (path string, err error) {
	i := slices.IndexFunc(packages, func(p goPackage) bool { return p.Module.Path == module })
	if i < 0 {
		return "", errors.Errorf("trainer: got no package of %s", module)
	}
	for _, name := range []string{"go.mod", "go.sum"} {
		data, err := file.Read(filepath.Join(packages[i].Module.Dir, name), largest)
		if err != nil {
			return "", errors.Wrap(err, "trainer")
		}
		if name == "go.mod" {
			for path, dir := range w.modules {
				data = fmt.Appendf(data, "\nreplace %s => %s\n", path, filepath.ToSlash(dir))
			}
		}
		if err := save(filepath.Join(w.work, name), data); err != nil {
			return "", err
		}
	}
	return filepath.Join(w.work, "go.mod"), nil
}
