package nn

// headSettings are the settings of a Site that change what self-attention computes around its heads.
type headSettings struct {
	cap, sinks    bool // Cap, Sinks
	before, after bool // Links
	values        bool // the link before the heads that mixes values with the values of the first block
}

// appliedBy returns the settings that an attention applies. The attentions that are not listed apply all of them.
func appliedBy(layer string) headSettings {
	switch layer {
	case "sigmoid attention", "forgetting attention": // their weights are no softmax that a sink could join
		return headSettings{before: true, after: true, values: true}
	case "linear attention", "linformer": // they have no scores
		return headSettings{before: true, values: true}
	case "longformer": // it has two values of every token, local and global
		return headSettings{cap: true, before: true}
	case "latent attention", // its Step absorbs the matrices of keys and values, and links would come between
		"unprojected attention", "a recurrence": // they have no heads
		return headSettings{}
	}
	return headSettings{true, true, true, true, true}
}

// refuse fails for each setting of heads that the site has and the layer does not apply.
func (s Site) refuse(layer string) {
	applies := appliedBy(layer)
	if s.Cap != 0 && !applies.cap {
		s.Failf("%s with a cap of %v: the layer caps no scores", layer, s.Cap)
	}
	if s.Sinks != nil && !applies.sinks {
		s.Failf("%s with sinks: the layer has none", layer)
	}
	for _, l := range s.Links.Before {
		if !applies.before || l.Name == valueResidual && !applies.values {
			s.Failf("%s with %s: the layer has no such link", layer, l.Name)
		}
	}
	for _, l := range s.Links.After {
		if !applies.after {
			s.Failf("%s with %s: the layer has no such link", layer, l.Name)
		}
	}
}
