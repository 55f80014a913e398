package nn

import (
	"slices"

	"github.com/pedestrian-ml/pedestrian/graph/fused"
)

// meanKeys returns the mean number of keys with which attention multiplies a query. Without kernels these are all T. A
// kernel computes tiles of some queries and all keys that any of them sees, so that a causal mask leaves out nearly
// half, and a window nearly everything: of queries a … z−1, the keys from a − Width + 1 to z − 1, and the first tokens
// that stay visible. Under other rules these are the visible keys, as kernels gather them.
func (m *Mask) meanKeys() (mean float64) {
	if m == nil || m.dims.Context < 1 {
		return 0
	}
	mean = float64(m.dims.Context)
	if m.scope.Graph().Kernels {
		m.scope.Sub("mask").Try(func() { mean = m.tiled() }) // a user's rule may panic
	}
	return mean
}

func (m *Mask) tiled() float64 {
	t := m.dims.Context
	causal, rules := false, rulesOf(m.given)
	width, first, windowed := m.window()
	for _, v := range rules {
		switch v.(type) {
		case Causal, Window, SinkWindow:
			causal = true
		case Padding:
		default:
			return meanVisible(rules, m.dims)
		}
	}
	rows, sum := fused.AttentionShape{Context: t}.Rows(), 0.0
	for from := 0; from < t; from += rows {
		to := min(t, from+rows)
		begin, end := 0, t
		if causal {
			end = to
		}
		if windowed {
			begin = max(0, from-width+1)
		}
		sum += float64(float64(to-from) * float64(end-begin+min(first, begin)))
	}
	return sum / float64(t)
}

// meanVisible returns the mean number of keys that a query sees under some rules, of queries at even distances. In a
// context that is too long to look at, it returns T. Random keys that are not drawn yet count.
func meanVisible(rules []Visibility, d Dims) float64 {
	const most = 1 << 22 // numbers
	t, heads, global := d.Context, 1, 1
	for _, v := range rules {
		switch v := v.(type) {
		case BigBird:
			global += len(v.Global)
		case Dilated:
			global += len(v.Global)
		}
	}
	if slices.ContainsFunc(rules, perHead) {
		heads = max(1, d.Heads)
	}
	queries := min(t, 64, most/t/heads/global)
	if queries < 1 {
		return float64(t)
	}
	others := slices.DeleteFunc(slices.Clone(rules), func(v Visibility) bool { _, ok := v.(BigBird); return ok })
	seen, random := 0, randomKeys(rules)
	for k := range queries {
		i := (2*k + 1) * t / (2 * queries)
		for head := range heads {
			candidates := 0
			for j := range t {
				switch {
				case visible(rules, head, 0, i, j):
					seen++
				case random > 0 && visible(others, head, 0, i, j):
					candidates++
				}
			}
			seen += min(candidates, random)
		}
	}
	if seen == 0 { // no rule: the sizes are too large for an outline to have it
		return float64(t)
	}
	return float64(seen) / float64(queries*heads)
}

// meanKeys returns the mean number of keys that a query sees, or T without kernels.
func (m *LongformerMask) meanKeys() (mean float64) {
	if m == nil || m.mask == nil || m.mask.dims.Context < 1 {
		return 0
	}
	mean = float64(m.mask.dims.Context)
	if m.scope.Graph().Kernels && len(m.windows.Dilation) == m.mask.dims.Heads {
		m.scope.Try(func() { mean = meanVisible(append(rulesOf(m.mask.given), m.windows), m.mask.dims) })
	}
	return mean
}
