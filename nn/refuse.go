package nn

// headSettings are the settings of a Site that change what self-attention computes around its heads.
type headSettings struct {
	cap, sinks    bool // Cap, Sinks
	before, after bool // Links
	values        bool // the link before the heads that mixes values with the values of the first block
}

// appliedBy returns the settings that an attention applies. An attention that applies all of them refuses none, and is
// not asked.
func appliedBy(layer string) (s headSettings) {
	switch layer {
	case "sigmoid attention", "forgetting attention": // as published, without a cap and sinks
		s.before, s.after, s.values = true, true, true
	case "linear attention", "linformer": // linear attention has no scores, and the keys of linformer are mixtures
		s.before, s.values = true, true
	case "longformer": // it has two values of every token, local and global
		s.cap, s.before = true, true
	}
	return s // latent attention absorbs the matrices that links stand between, and recurrences have no heads
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
