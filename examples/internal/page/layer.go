package page

import (
	"encoding/json"
	"strconv"
)

// Layer is the attention weights of a block: of every head, row i is what query i takes of every key.
type Layer struct {
	Name  string
	Heads [][][]float64
}

// MarshalJSON keeps four digits of every weight, so that none that is small becomes 0, which says masked.
func (l Layer) MarshalJSON() ([]byte, error) {
	type plain Layer
	short := plain{Name: l.Name}
	for _, rows := range l.Heads {
		head := make([][]float64, len(rows))
		for i, row := range rows {
			for _, v := range row {
				x, _ := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 4, 64), 64) // of a number there is no error
				head[i] = append(head[i], x)
			}
		}
		short.Heads = append(short.Heads, head)
	}
	return json.Marshal(short)
}
