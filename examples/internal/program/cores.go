package program

import (
	"os"
	"strconv"
	"strings"
)

// Cores returns the number of processors of the machine, including those that this process may not use, or 0 if
// unknown.
func Cores() int {
	list, err := os.ReadFile("/sys/devices/system/cpu/online")
	if err != nil {
		return 0
	}
	return coresIn(strings.TrimSpace(string(list)))
}

// coresIn counts a list such as 0-3,8.
func coresIn(list string) (n int) {
	for part := range strings.SplitSeq(list, ",") {
		first, last, isRange := strings.Cut(part, "-")
		if !isRange {
			last = first
		}
		from, err := strconv.Atoi(first)
		to, err2 := strconv.Atoi(last)
		if err != nil || err2 != nil {
			return 0
		}
		n += to - from + 1
	}
	return n
}
