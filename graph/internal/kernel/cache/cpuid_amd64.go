package cache

// cpuid returns the registers of the instruction CPUID.
func cpuid(leaf, part uint32) (a, b, c, d uint32)

// Second returns the size of a core's second cache and the number of threads among which it is divided.
func Second() (bytes, threads int) { return second(cpuid) }

// The leaves of CPUID that describe the caches, one cache each: leaf 4 or, on AMD's processors that set a bit of leaf
// 80000001h, leaf 8000001Dh in the same format. See Intel 64 and IA-32 Architectures Software Developer's Manual,
// volume 2, CPUID; AMD64 Architecture Programmer's Manual, volume 3, appendix E.
const (
	described    = 4
	last         = 0x80000000 // returns the last leaf of those from here on
	features     = 0x80000001
	describesAMD = 1 << 22
	describedAMD = 0x8000001d
)

func second(cpuid func(leaf, part uint32) (a, b, c, d uint32)) (bytes, threads int) {
	leaf := uint32(described)
	if a, _, _, _ := cpuid(last, 0); a >= describedAMD {
		if _, _, c, _ := cpuid(features, 0); c&describesAMD != 0 {
			leaf = describedAMD
		}
	}
	if a, _, _, _ := cpuid(0, 0); leaf == described && a < described {
		return usual, 1
	}
	const most, none, instructions = 16, 0, 2
	for part := range uint32(most) {
		a, b, c, _ := cpuid(leaf, part)
		switch kind, level := a&31, a>>5&7; {
		case kind == none:
			return usual, 1
		case kind != instructions && level == 2:
			ways, partitions, line, sets := int(b>>22)+1, int(b>>12&0x3ff)+1, int(b&0xfff)+1, int(c)+1
			return ways * partitions * line * sets, int(a>>14&0xfff) + 1
		}
	}
	return usual, 1
}
