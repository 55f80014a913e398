package text

import (
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/pkg/errors"
)

// readDirectory joins the texts of all files below dir in the lexical order of their paths, each ended by a line feed.
// The result has at most limit bytes. Names that begin with a dot are skipped, directories included.
func readDirectory(dir string, limit int64) (string, error) {
	var all strings.Builder
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		hidden := path != dir && strings.HasPrefix(entry.Name(), ".")
		switch {
		case err != nil:
			return errors.Wrap(err, "corpus")
		case hidden && entry.IsDir():
			return fs.SkipDir
		case hidden || entry.IsDir():
			return nil
		}
		text, err := readFile(path, limit)
		if err != nil {
			return err
		}
		if int64(all.Len()+len(text)+1) > limit {
			return errors.Errorf("corpus %s: more than the %d bytes allowed, with %s", dir, limit, path)
		}
		all.WriteString(strings.TrimSuffix(text, "\n") + "\n")
		return nil
	})
	if err == nil && all.Len() == 0 {
		return "", errors.Errorf("corpus %s: a directory without files", dir)
	}
	return all.String(), err
}
