// Package cache returns the size of this processor's caches.
package cache

// usual is the size of a core's second cache if the processor does not report it, as most servers have it.
const usual = 1 << 20
