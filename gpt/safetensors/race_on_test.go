//go:build race

package safetensors

// slower is the factor by which tests may exceed their limits of time and memory: the race detector costs about ten.
const slower = 20
