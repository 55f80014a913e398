package parts

import "github.com/pedestrian-ml/pedestrian/nn"

func dilatedAttentions() []Attention {
	options := []Option{window(), dilation(), globalTokens()}
	return []Attention{
		{Name: "dilated", Options: options, New: dilated, Softmax: true},
		{Name: "longformer", Options: options, New: longformer, Softmax: true, ungated: true},
	}
}

func dilation() Option {
	return Option{
		Name:    "dilation",
		Help:    "dilated, longformer: distance of the keys that the last head attends to; 0 is 1, without gaps",
		Default: func(Stack) int { return 1 }, Check: upToContext("dilation"),
	}
}

func globalTokens() Option {
	return Option{
		Name: "global_tokens", Help: "bigbird, dilated, longformer: number of first tokens that every query attends to",
		Check: upToContext("global_tokens"),
	}
}

func dilated(root nn.Site, s Stack) nn.Attention { return masked(root, dilatedWindow(root, s.Options)) }

// longformer is dilated with separate projections for the global tokens.
func longformer(root nn.Site, s Stack) nn.Attention {
	mask := nn.NewLongformerMask(root.Scope, root.Mask, dilatedWindow(root, s.Options))
	return func(at nn.Site) nn.Layer { return nn.NewLongformer(at, mask) }
}

// dilatedWindow returns a window whose dilations rise evenly from 1 in the first head to the option in the last.
func dilatedWindow(at nn.Site, o Options) nn.Dilated {
	if at.Graph().Outlined() && (at.Heads > mostHeads || o.Get("global_tokens") > mostGlobal) {
		return nn.Dilated{} // the shape of a mask does not depend on what it hides
	}
	v := nn.Dilated{Width: bothSides(o), Global: first(o)}
	for h := range at.Heads {
		v.Dilation = append(v.Dilation, 1+h*(o.Get("dilation")-1)/max(1, at.Heads-1))
	}
	return v
}

// The sizes up to which an outline has the rule of a mask, by which its work is counted.
const mostHeads, mostGlobal = 1 << 10, 1 << 12

// bothSides returns the width of a symmetric window whose left part, which remains under a causal mask, is the
// option's.
func bothSides(o Options) int { return 2*o.Get("window") - 1 }

// first returns the indices of the global tokens.
func first(o Options) (tokens []int) {
	for i := range o.Get("global_tokens") {
		tokens = append(tokens, i)
	}
	return tokens
}
