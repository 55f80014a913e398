package page

import (
	"encoding/json"
	"strconv"
)

// State describes the state of a recurrent head after each token: the share Alpha of it that the token keeps, the
// factor Beta by which the token writes, and the norm. Without such gates, Alpha and Beta are empty.
type State struct {
	Name              string
	Alpha, Beta, Norm []float64
}

// MarshalJSON keeps four digits of every number.
func (s State) MarshalJSON() ([]byte, error) {
	type plain State
	return json.Marshal(plain{s.Name, fourDigits(s.Alpha), fourDigits(s.Beta), fourDigits(s.Norm)})
}

// fourDigits rounds numbers to four digits.
func fourDigits(list []float64) (short []float64) {
	for _, v := range list {
		x, _ := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 4, 64), 64) // a formatted number is always valid
		short = append(short, x)
	}
	return short
}
