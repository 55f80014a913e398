package layout

import "strings"

// GPT2 is GPT-2's names, which are ours. Its matrices are (in, out) as here, the head apart. Older files hold the
// causal mask of every block.
func GPT2() Names {
	return Names{
		prefix: "transformer.",
		rules:  []rule{{ours: HeadWeight, theirs: HeadWeight, turned: true}},
		skipped: func(name string) bool {
			return strings.HasPrefix(name, "h.") &&
				(strings.HasSuffix(name, ".attn.bias") || strings.HasSuffix(name, ".attn.masked_bias"))
		},
	}
}
