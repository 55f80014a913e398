package page

import "encoding/json"

// Layer holds the attention weights of a block: for every head, row i has the weights of query i for every key.
type Layer struct {
	Name  string
	Heads [][][]float64
}

// MarshalJSON keeps four digits of every weight, so that no small one becomes 0, which means masked.
func (l Layer) MarshalJSON() ([]byte, error) {
	type plain Layer
	short := plain{Name: l.Name}
	for _, rows := range l.Heads {
		head := make([][]float64, len(rows))
		for i, row := range rows {
			head[i] = fourDigits(row)
		}
		short.Heads = append(short.Heads, head)
	}
	return json.Marshal(short)
}
