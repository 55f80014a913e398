package program

import (
	"flag"
	"fmt"
	"math"
	"time"
)

// most is the largest count that a flag may have: the largest size of a configuration.
const most = 1 << 28

// checkNumbers returns an error for a given flag whose number is unusable: an integer or a time below 0, an integer
// above 2²⁸, or a number that is negative, infinite or NaN. Further checks are left to the program.
func checkNumbers(fs *flag.FlagSet) (err error) {
	fs.Visit(func(f *flag.Flag) {
		if err == nil {
			err = checkNumber(f)
		}
	})
	return err
}

func checkNumber(f *flag.Flag) error {
	name := "-" + f.Name
	checkCount := func(n int) error {
		return Want(0 <= n && n <= most, name, n, fmt.Sprintf("a whole number, 0 to %d", most))
	}
	if counted, ok := f.Value.(interface{ Get() int }); ok { // an option of a part
		return checkCount(counted.Get())
	}
	value, ok := f.Value.(flag.Getter)
	if !ok {
		return nil
	}
	switch x := value.Get().(type) {
	case int:
		return checkCount(x)
	case float64:
		return Want(0 <= x && x <= math.MaxFloat64, name, x, "a finite number, 0 or more")
	case time.Duration:
		return Want(x >= 0, name, x, "0 or more")
	}
	return nil
}
