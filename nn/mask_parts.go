package nn

import "fmt"

// hides says whether m hides the future and padding; not ok if it is none or hides anything else.
func hides(m *Mask) (causal, padded, ok bool) {
	if m == nil || m.bias != nil {
		return false, false, false
	}
	return parts(m.see)
}

func parts(see Visibility) (causal, padded, ok bool) {
	switch v := see.(type) {
	case Causal:
		return true, false, true
	case Padding:
		return false, true, true
	case All:
		ok = true
		for _, e := range v {
			c, p, o := parts(e)
			causal, padded, ok = causal || c, padded || p, ok && o
		}
	}
	return causal, padded, ok
}

// String names what the mask is made of, such as "nn.Causal{} with nn.ALiBi".
func (m *Mask) String() string {
	if m == nil {
		return "nil"
	}
	name := fmt.Sprintf("%T%+v", m.see, m.see)
	if m.bias != nil {
		name += fmt.Sprintf(" with %T", m.bias)
	}
	return name
}
