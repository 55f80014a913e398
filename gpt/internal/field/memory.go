package field

import (
	"strings"

	"github.com/pkg/errors"
)

const gib = 1 << 30

// CheckMemory returns an error if bytes exceed the limit. It names what needs them, and the fields with these names,
// which determine the number of bytes.
func (l List) CheckMemory(limit int64, bytes float64, what string, names ...string) error {
	if bytes >= 0 && bytes <= float64(limit) {
		return nil
	}
	sizes := make([]string, len(names))
	for i, name := range names {
		f, _ := l.Find(name)
		sizes[i] = name + " " + f.String()
	}
	return errors.Errorf(
		"memory: got about %.4g GiB for %s of %s; want at most %.4g GiB, the machine's memory or memory_limit",
		bytes/gib, what, strings.Join(sizes, ", "), float64(limit)/gib)
}
