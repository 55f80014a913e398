package layout

import "strings"

// GPT2 returns the names of GPT-2, which are also ours. Its matrices are (in, out) as here, except the head's. Older
// files contain the causal mask of every block.
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
