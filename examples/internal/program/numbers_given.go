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
func (fs *FlagSet) checkNumbers() (err error) {
	fs.Visit(func(f *flag.Flag) {
		if err == nil {
			err = checkNumber(f)
		}
	})
	return err
}

func checkNumber(f *flag.Flag) error {
	name := "-" + f.Name
	value, ok := f.Value.(flag.Getter)
	if !ok {
		return nil
	}
	switch x := value.Get().(type) {
	case int:
		return Want(0 <= x && x <= most, name, x, fmt.Sprintf("a whole number, 0 to %d", most))
	case float64:
		return Want(0 <= x && x <= math.MaxFloat64, name, x, "a finite number, 0 or more")
	case time.Duration:
		return Want(x >= 0, name, x, "0 or more")
	}
	return nil
}
