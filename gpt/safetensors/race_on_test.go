//go:build race

package safetensors

// slower is how much more time and memory things may take under the race detector, which costs about ten times.
const slower = 20
