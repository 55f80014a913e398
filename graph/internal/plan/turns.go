package plan

// turn is an execution of an operation. One of the forward pass has a second turn, again, if its result is dropped and
// computed again for the backward pass: the same bits in less memory, for the time of a second forward pass.
type turn struct {
	op    *Op
	again bool
}

// writes returns the buffers that a turn of the operation fills.
func (o *Op) writes() []Buffer {
	if o.Out == nil {
		return o.Fills
	}
	return append([]Buffer{o.Out}, o.Fills...)
}

// turns returns the order of execution with the second turns put in: those of a place come before the first operation
// of the backward pass that needs any of them.
func turns(ops []*Op) []turn {
	list := make([]turn, 0, len(ops))
	dropped := dropped(ops)
	done := map[string]bool{}
	owner := map[Buffer]*Op{}
	for _, o := range ops {
		for _, b := range o.writes() {
			owner[b] = o
		}
		if !o.Forward {
			needs := append([]*Op{}, o.Inputs...)
			for _, b := range o.Uses {
				needs = append(needs, owner[b])
			}
			for _, c := range needs {
				place := dropped[c]
				if place == "" || done[place] {
					continue
				}
				done[place] = true
				for _, again := range ops {
					if dropped[again] == place {
						list = append(list, turn{again, true})
					}
				}
			}
		}
		list = append(list, turn{o, false})
	}
	return list
}

// dropped finds the operations that are computed twice, with their place: those of the forward pass in a place whose
// result stays there.
func dropped(ops []*Op) map[*Op]string {
	places := map[*Op]string{}
	for _, o := range ops {
		if o.Forward && o.Run != nil && o.Out != nil && !o.Output && !o.Once && o.Place != "" {
			places[o] = o.Place
		}
	}
	for _, o := range ops {
		if !o.Forward {
			continue
		}
		for _, c := range o.Inputs {
			if c.Place != o.Place {
				delete(places, c)
			}
		}
	}
	return places
}
