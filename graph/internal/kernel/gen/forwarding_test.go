package main

import (
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// access is a place in memory that an instruction reads or writes: some bytes at an offset from an address.
type access struct {
	address     string
	offset, end int
}

var (
	operand  = regexp.MustCompile(`([\w<>]*\+)?(-?\d*)((?:\([A-Z0-9*]+\))+)`)
	register = regexp.MustCompile(`\b([XYZ])\d+\b`)
	result   = regexp.MustCompile(`\b([A-Z][A-Z0-9]+)$`)
)

// widthOf returns the number of bytes of memory that an instruction accesses.
func widthOf(name, operands string) int {
	switch base, _, _ := strings.Cut(name, "."); {
	case strings.HasSuffix(base, "SS") || strings.HasSuffix(base, "L") || strings.HasSuffix(name, ".BCST"):
		return 4
	case strings.HasSuffix(base, "SD") || strings.HasSuffix(base, "Q"):
		return 8
	}
	if m := register.FindStringSubmatch(operands); m != nil {
		return map[string]int{"X": 16, "Y": 32, "Z": 64}[m[1]]
	}
	return 8
}

// refusedForwarding returns a load in straight code that reads a place only part of which an earlier store has written.
// The processor cannot forward such a number before the store has reached the cache.
func refusedForwarding(text string) (lines []string) {
	var stores []access
	for line := range strings.Lines(text) {
		fields := strings.SplitN(strings.TrimSpace(line), " ", 2)
		if len(fields) < 2 || strings.HasPrefix(fields[0], "J") || strings.HasPrefix(fields[0], "TEXT") {
			stores = nil // a label, a jump, or another function
			continue
		}
		name, operands := fields[0], fields[1]
		if at := operand.FindStringSubmatchIndex(operands); at != nil && !strings.HasPrefix(name, "LEA") &&
			!strings.HasPrefix(name, "PREFETCH") {
			offset, _ := strconv.Atoi(operands[at[4]:at[5]])
			a := access{operands[at[6]:at[7]], offset, offset + widthOf(name, operands)}
			if at[1] == len(operands) && !strings.HasPrefix(name, "CMP") && !strings.HasPrefix(name, "TEST") {
				stores = append(stores, a)
				continue
			}
			for _, s := range stores {
				if s.address == a.address && s.offset < a.end && a.offset < s.end && (a.offset < s.offset ||
					a.end > s.end) {
					lines = append(lines, strings.TrimSpace(line))
				}
			}
		}
		if m := result.FindString(operands); m != "" { // an address that uses the result changes here
			var same []access
			for _, s := range stores {
				if !strings.Contains(s.address, "("+m) {
					same = append(same, s)
				}
			}
			stores = same
		}
	}
	return lines
}

// TestLoadsDoNotWaitForNarrowerStores in any function of the assembly.
func TestLoadsDoNotWaitForNarrowerStores(t *testing.T) {
	out, err := files()
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range out {
		if strings.HasSuffix(name, "_amd64.s") {
			for _, line := range refusedForwarding(text) {
				t.Errorf("%s: %s waits for a store of less", name, line)
			}
		}
	}
	for text, want := range map[string]int{
		"\tVMOVSS X0, 4(DI)\n\tVMOVUPS (DI), Y1\n":                1,
		"\tVMOVSS X0, 4(DI)\n\tADDQ $4, DI\n\tVMOVUPS (DI), Y1\n": 0,
		"\tVMOVUPS Y0, 32(DI)\n\tVADDPS (DI), Z1, Z2\n":           1,
		"\tVMOVUPS Z0, (DI)\n\tVBROADCASTSS 8(DI), Z1\n":          0,
		"\tVMOVUPS X0, (DI)(AX*1)\n\tVMOVUPS 16(DI)(AX*1), X1\n":  0,
		"\tVMOVSS X0, (DI)\n\tJNE loop\n\tVMOVUPS (DI), Y1\n":     0,
		"\tMOVL AX, word-8(SP)\n\tMOVQ word-8(SP), AX\n":          1,
	} {
		if got := refusedForwarding(text); len(got) != want {
			t.Errorf("%q: got %q, want %d", text, got, want)
		}
	}
}
