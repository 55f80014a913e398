package main

// neonBlocks is blocks for NEON. It processes the last block part by part, and skips parts after the end.
func (f *fn) neonBlocks(count string, body func()) {
	loop, tail, done := f.label("loop"), f.label("tail"), f.label("done")
	for part := range block / f.lanes {
		f.write("MOVD $%d, R%d", part*f.lanes*bytes, partIndex+part)
	}
	f.write("MOVD %s, R%d", count, blocksLeft)
	f.write("LSR $4, R%d", blocksLeft)
	f.write("CBZ R%d, %s", blocksLeft, tail)
	f.mark(loop)
	f.each(body)
	for part := range block / f.lanes {
		f.write("ADD $%d, R%d", block*bytes, partIndex+part)
	}
	f.write("SUBS $1, R%d", blocksLeft)
	f.write("BNE %s", loop)
	f.mark(tail)
	f.write("MOVD %s, R%d", count, blocksLeft)
	f.write("ANDS $%d, R%d", block-1, blocksLeft)
	f.write("BEQ %s", done)
	f.tail = true
	for f.part = range block / f.lanes {
		if f.part > 0 {
			f.write("SUBS $%d, R%d", f.lanes, blocksLeft)
			f.write("BLE %s", done)
		}
		f.lanesLeft()
		body()
	}
	f.part, f.tail = 0, false
	f.mark(done)
}

// lanesLeft sets the mask of the lanes before the end, at least one, and their offsets.
func (f *fn) lanesLeft() {
	f.text.WriteString(lanePlaces(blocksLeft, laneIndex, address))
	f.write("MOVD $%s, R%d", f.pool.masks(-bytes), address)
	f.write("SUB R%d, R%d", laneIndex+3, address)
	f.write("FMOVQ (R%d), F%d", address, neonMask)
}

// neonLoad is load for NEON: it loads the last block lane by lane.
func (f *fn) neonLoad(pointer string, v int) {
	if !f.tail {
		f.text.WriteString(indexed("ldr", v, general(pointer), partIndex+f.part))
		return
	}
	f.write("ADD R%d, %s, R%d", partIndex+f.part, pointer, address)
	f.text.WriteString(loadLanes(v, address, laneIndex, anything))
	f.word("and", v, v, neonMask)
}

// neonStore is store for NEON.
func (f *fn) neonStore(v int, pointer string) {
	if !f.tail {
		f.text.WriteString(indexed("str", v, general(pointer), partIndex+f.part))
		return
	}
	f.write("ADD R%d, %s, R%d", partIndex+f.part, pointer, address)
	f.text.WriteString(storeLanes(v, address, laneIndex, anything))
}
