package program

import (
	"flag"
	"fmt"
	"math"
	"time"
)

// most is the largest count that a flag may have: the largest size of a configuration.
const most = 1 << 28

// checkNumbers returns an error for a flag that was given and is no number to compute with: a whole number or a time
// below 0, a whole number above 2²⁸, and a number that is negative, infinite or NaN. What else a flag demands is the
// program's to say.
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
	whole := func(n int) error {
		return Want(0 <= n && n <= most, name, n, fmt.Sprintf("a whole number, 0 to %d", most))
	}
	if counted, ok := f.Value.(interface{ Get() int }); ok { // an option of a part
		return whole(counted.Get())
	}
	value, ok := f.Value.(flag.Getter)
	if !ok {
		return nil
	}
	switch x := value.Get().(type) {
	case int:
		return whole(x)
	case float64:
		return Want(0 <= x && x <= math.MaxFloat64, name, x, "a finite number, 0 or more")
	case time.Duration:
		return Want(x >= 0, name, x, "0 or more")
	}
	return nil
}
