package main

import "fmt"

// NEON has no masks. The lanes of an incomplete vector are therefore loaded and stored one by one. The lanes after the
// last one share its place, so nothing after it is read or written.

// lanePlaces sets the three registers after first to the offsets of lanes 1 … 3, in bytes, of a vector. The register
// count holds the vector's number of lanes, at least one. spare is overwritten.
func lanePlaces(count, first, spare int) string {
	last := first + 3
	text := ""
	write := func(format string, args ...any) { text += fmt.Sprintf("\t"+format+"\n", args...) }
	least := func(a, most, to int) {
		write("MOVD $%d, R%d", most, spare)
		write("CMP R%d, R%d", spare, a)
		write("CSEL LT, R%d, R%d, R%d", a, spare, to)
	}
	least(count, 4, last)
	write("SUB $1, R%d", last)
	write("LSL $2, R%d", last)
	least(last, bytes, first+1)
	least(last, 2*bytes, first+2)
	return text
}

// loadLanes loads vector v from an address, using the offsets that lanePlaces has computed. It overwrites spare.
func loadLanes(v, address, first, spare int) string {
	text := fmt.Sprintf("\tFMOVS (R%d), F%d\n", address, v)
	for lane := 1; lane < 4; lane++ {
		text += fmt.Sprintf("\tADD R%d, R%d, R%d\n\tVLD1 (R%[3]d), V%[4]d.S[%d]\n", first+lane, address, spare, v, lane)
	}
	return text
}

// storeLanes stores vector v. It stores the last lane after those that share its place, so its number remains.
func storeLanes(v, address, first, spare int) string {
	text := ""
	for lane := 3; lane > 0; lane-- {
		text += fmt.Sprintf("\tADD R%d, R%d, R%d\n\tVST1 V%[4]d.S[%d], (R%[3]d)\n", first+lane, address, spare, v, lane)
	}
	return text + fmt.Sprintf("\tFMOVS F%d, (R%d)\n", v, address)
}
