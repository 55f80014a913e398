//go:build !amd64

package cache

// Second returns a guess: other processors do not tell every program.
func Second() int { return usual }
