package train

import (
	"strings"

	"github.com/pedestrian-ml/pedestrian/gpt/internal/field"
	"github.com/pkg/errors"
)

// MemoryLimit is the most memory in bytes that a run may ask for, by the estimate of its configuration.
const MemoryLimit = 64 << 30

// CheckMemory refuses float32 numbers beyond MemoryLimit, with the fields by these names that ask for them.
func CheckMemory(numbers float64, what string, fields field.List, names ...string) error {
	const gib = 1 << 30
	bytes := 4 * numbers
	if bytes <= MemoryLimit {
		return nil
	}
	sizes := make([]string, len(names))
	for i, name := range names {
		f, _ := fields.Find(name)
		sizes[i] = name + " " + f.String()
	}
	return errors.Errorf("memory: got about %.4g GiB for %s of %s; want at most %d GiB",
		bytes/gib, what, strings.Join(sizes, ", "), MemoryLimit/gib)
}
