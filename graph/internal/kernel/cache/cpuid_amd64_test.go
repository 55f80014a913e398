package cache

import "testing"

// said is the description of a cache by a processor: kind and level, threads that share it, line, ways, sets.
type said struct{ kind, level, threads, line, ways, sets uint32 }

// asked returns a processor that describes its caches in a leaf, and has leaves up to the two numbers.
func asked(leaf, basic, extended uint32, caches ...said) func(leaf, part uint32) (a, b, c, d uint32) {
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
	first := []said{{data, 1, 2, 64, 12, 64}, {instructions, 1, 2, 64, 8, 64}}
	with := func(more ...said) []said { return append(first[:2:2], more...) }
	third := said{both, 3, 64, 64, 16, 1 << 15}
	for name, c := range map[string]struct {
		cpuid func(leaf, part uint32) (a, b, c, d uint32)
		want  int
	}{
		"Granite Rapids":           {asked(described, 0x24, 0x80000008, with(said{both, 2, 1, 64, 16, 2048}, third)...), 2 << 20},
		"the same, two threads":    {asked(described, 0x24, 0x80000008, with(said{both, 2, 2, 64, 16, 2048}, third)...), 1 << 20},
		"Zen 5":                    {asked(describedAMD, 0x10, 0x80000028, with(said{both, 2, 1, 64, 16, 1024}, third)...), 1 << 20},
		"Zen 3":                    {asked(describedAMD, 0x10, 0x80000023, with(said{both, 2, 1, 64, 8, 1024}, third)...), 512 << 10},
		"instructions of level 2":  {asked(described, 4, 0, said{instructions, 2, 1, 64, 1, 64}, said{data, 2, 1, 64, 4, 1024}), 256 << 10},
		"no second cache":          {asked(described, 4, 0, first...), usual},
		"no leaf 4":                {asked(described, 3, 0x80000008, with(said{both, 2, 1, 64, 16, 2048})...), usual},
		"AMD's leaf, not declared": {asked(describedAMD+1, 0x10, describedAMD+1), usual},
		"caches without end":       {func(leaf, _ uint32) (a, b, c, d uint32) { return 0xffffffff &^ (7 << 5), 0, 0, 0 }, usual},
	} {
		if got := second(c.cpuid); got != c.want {
			t.Errorf("%s: got %d bytes, want %d", name, got, c.want)
		}
	}
	if got := Second(); got < 64<<10 || got > 64<<20 {
		t.Errorf("this processor: got %d bytes, want some hundred thousand or a few millions", got)
	}
	t.Logf("%d KiB", Second()>>10)
}
