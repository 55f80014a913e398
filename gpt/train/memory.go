package train

// MemoryLimit is the most memory in bytes that a run may ask for, by the estimate of its configuration.
const MemoryLimit = 64 * GiB

// Sizes in bytes.
const (
	GiB         = 1 << 30
	Float32Size = 4
)
