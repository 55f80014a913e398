// Package cache says how large the caches of this processor are.
package cache

// usual is the second cache of a core where the processor does not say: that of most servers.
const usual = 1 << 20
