package plan

// turn is one execution of an operation. An operation of the forward pass has a second turn (again) if its result is
// dropped and computed again for the backward pass. This gives the same bits in less memory, for the time of a second
// forward pass.
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

// turns returns the order of execution, including the second turns: all at a place come before the first operation of
// the backward pass that needs any of them.
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

// dropped returns the operations that are computed twice, with their places: the operations of the forward pass that
// have a place and whose result is used only there.
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
