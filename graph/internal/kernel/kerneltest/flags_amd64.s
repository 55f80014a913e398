#include "textflag.h"

// func readFlags() uint32
TEXT ·readFlags(SB), NOSPLIT, $0-4
	STMXCSR ret+0(FP)
	RET

// func clearFlags()
TEXT ·clearFlags(SB), NOSPLIT, $8-0
	STMXCSR word-8(SP)
	ANDL $~0x3f, word-8(SP)
	LDMXCSR word-8(SP)
	RET
