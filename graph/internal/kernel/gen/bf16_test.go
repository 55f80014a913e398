package main

import (
	"encoding/binary"
	"fmt"
	"testing"
)

// TestEncodings compares with the output of GNU's assembler for the same instructions.
func TestEncodings(t *testing.T) {
	for want, got := range map[string]string{
		"62 92 06 40 52 c6": dotPairs(30, 31, 0),
		"62 62 46 48 52 e9": dotPairs(1, 7, 29),
		"62 52 7e 40 52 f8": dotPairs(8, 16, 15),
		"62 22 36 48 52 c1": dotPairs(17, 9, 24),
		"62 f2 7f 48 72 d1": roundPairs(1, 0, 2),
		"62 12 07 40 72 ce": roundPairs(30, 31, 9),
		"62 c2 5f 40 72 d4": roundPairs(12, 20, 18),
	} {
		var long uint32
		var word uint16
		if _, err := fmt.Sscanf(got, "LONG $0x%x; WORD $0x%x", &long, &word); err != nil {
			t.Fatal(err)
		}
		code := binary.LittleEndian.AppendUint16(binary.LittleEndian.AppendUint32(nil, long), word)
		if text := fmt.Sprintf("% x", code); text != want {
			t.Errorf("%s: got %s, want %s", got, text, want)
		}
	}
}
