//go:build !race

package safetensors

// slower is how much more time and memory things may take than the limits of the tests say.
const slower = 1
