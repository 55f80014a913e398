package cache

import "testing"

// cacheLeaf is the description of a cache by a processor: kind and level, threads that share it, line, ways, sets.
type cacheLeaf struct{ kind, level, threads, line, ways, sets uint32 }

// processorWith returns a processor that describes its caches in a leaf, and has leaves up to the two numbers.
func processorWith(leaf, basic, extended uint32, caches ...cacheLeaf) func(leaf, part uint32) (a, b, c, d uint32) {
	return func(l, part uint32) (a, b, c, d uint32) {
		switch {
		case l == 0:
			return basic, 0, 0, 0
		case l == last:
			return extended, 0, 0, 0
		case l == features && leaf == describedAMD:
			return 0, 0, describesAMD, 0
		case l == leaf && int(part) < len(caches):
			x := caches[part]
			return x.kind | x.level<<5 | (x.threads-1)<<14, x.line - 1 | (x.ways-1)<<22, x.sets - 1, 0
		}
		return 0, 0, 0, 0
	}
}

func TestSecond(t *testing.T) {
	const data, instructions, both = 1, 2, 3
	first := []cacheLeaf{{data, 1, 2, 64, 12, 64}, {instructions, 1, 2, 64, 8, 64}}
	with := func(more ...cacheLeaf) []cacheLeaf { return append(first[:2:2], more...) }
	third := cacheLeaf{both, 3, 64, 64, 16, 1 << 15}
	for name, c := range map[string]struct {
		cpuid func(leaf, part uint32) (a, b, c, d uint32)
		want  int
	}{
		"Granite Rapids": {
			processorWith(described, 0x24, 0x80000008, with(cacheLeaf{both, 2, 1, 64, 16, 2048}, third)...), 2 << 20,
		},
		"the same, two threads": {
			processorWith(described, 0x24, 0x80000008, with(cacheLeaf{both, 2, 2, 64, 16, 2048}, third)...), 1 << 20,
		},
		"Zen 5": {
			processorWith(describedAMD, 0x10, 0x80000028, with(cacheLeaf{both, 2, 1, 64, 16, 1024}, third)...), 1 << 20,
		},
		"Zen 3": {
			processorWith(describedAMD, 0x10, 0x80000023, with(cacheLeaf{both, 2, 1, 64, 8, 1024}, third)...),
			512 << 10,
		},
		"instructions of level 2": {
			processorWith(
				described, 4, 0, cacheLeaf{instructions, 2, 1, 64, 1, 64}, cacheLeaf{data, 2, 1, 64, 4, 1024},
			),
			256 << 10,
		},
		"no second cache": {processorWith(described, 4, 0, first...), usual},
		"no leaf 4": {
			processorWith(described, 3, 0x80000008, with(cacheLeaf{both, 2, 1, 64, 16, 2048})...), usual,
		},
		"AMD's leaf, not declared": {processorWith(describedAMD+1, 0x10, describedAMD+1), usual},
		"caches without end": {
			func(leaf, _ uint32) (a, b, c, d uint32) { return 0xffffffff &^ (7 << 5), 0, 0, 0 }, usual,
		},
	} {
		bytes, threads := second(c.cpuid)
		if got := bytes / threads; got != c.want {
			t.Errorf("%s: got %d bytes a thread, want %d", name, got, c.want)
		}
	}
	if got, _ := Second(); got < 64<<10 || got > 64<<20 {
		t.Errorf("this processor: got %d bytes, want some hundred thousand or a few millions", got)
	}
	bytes, threads := Second()
	t.Logf("%d KiB for %d threads", bytes>>10, threads)
}
