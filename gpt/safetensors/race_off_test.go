//go:build !race

package safetensors

// slower is the factor by which tests may exceed their limits of time and memory.
const slower = 1
