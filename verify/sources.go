package verify

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// rows lists the parameters from the embeddings to the head, the packed ones in their blocks.
func (m Model) rows(hand Parameters[float64]) (list []Row) {
	qk := m.Config.NHead * m.Config.QKSize
	for _, name := range slices.SortedFunc(maps.Keys(hand), order) {
		blocks := [][2]int{{0, qk}, {qk, 2 * qk}, {2 * qk, hand[name].Cols}}
		for _, s := range m.sources(name) {
			row := Row{Name: name + s.suffix, Symbol: s.symbol, Equation: s.equation, Zero: s.zero, parameter: name, to: hand[name].Cols}
			if s.block >= 0 {
				row.from, row.to = blocks[s.block][0], blocks[s.block][1]
			}
			list = append(list, row)
		}
	}
	return list
}

// sources are those of the paper, where the parameter is in it. That the bias of keys cancels is true of a softmax over
// keys that do not turn.
func (m Model) sources(name string) []source {
	list := sources(name)
	for i := range list {
		a := m.Config.Attention
		list[i].zero = list[i].zero && m.Config.Position != "rope" && a != "linear" && a != "taylor" && a != "longformer"
	}
	return list
}

// source says where the paper has the gradient of a parameter, or of one block of its columns.
type source struct {
	suffix, symbol, equation string
	block                    int // 0, 1, 2 for queries, keys, values; −1 for the whole
	zero                     bool
}

func whole(symbol, equation string) []source {
	return []source{{symbol: symbol, equation: equation, block: -1}}
}

// sources looks a parameter up in the paper's Table 3. The numbers of symbols are those of its single block.
func sources(name string) []source {
	switch {
	case strings.HasSuffix(name, ".lora_d"):
		return whole("d", "(45)")
	case strings.HasSuffix(name, ".lora_u"):
		return whole("u", "(46)")
	}
	switch part := name[strings.LastIndexByte(name[:strings.LastIndexByte(name, '.')], '.')+1:]; part {
	case "wte.weight":
		return whole("w_tok", "(3)")
	case "wpe.weight":
		return whole("w_pos", "(3)")
	case "ln_1.weight":
		return whole("w₁", "(41)")
	case "ln_1.bias":
		return whole("b₁", "(42)")
	case "c_attn.weight":
		return []source{{" q", "w_q", "(31.a)", 0, false}, {" k", "w_k", "(31.b)", 1, false}, {" v", "w_v", "(23)", 2, false}}
	case "c_attn.bias":
		return []source{{" q", "b_q", "(32.a)", 0, false}, {" k", "b_k", "(29)", 1, true}, {" v", "b_v", "(24)", 2, false}}
	case "c_attn_global.weight":
		return []source{{" q", "w_qᵍ", "", 0, false}, {" k", "w_kᵍ", "", 1, false}, {" v", "w_vᵍ", "", 2, false}}
	case "c_attn_global.bias":
		return []source{{" q", "b_qᵍ", "", 0, false}, {" k", "b_kᵍ", "", 1, false}, {" v", "b_vᵍ", "", 2, false}}
	case "ln_2.weight":
		return whole("w₅", "(41)")
	case "ln_2.bias":
		return whole("b₅", "(42)")
	case "c_fc.weight":
		return whole("w₆", "a₆ᵗΔ₇")
	case "c_fc.bias":
		return whole("b₆", "ΣΔ₇")
	case "c_proj.weight":
		if strings.Contains(name, ".attn.") {
			return whole("w₃", "a₃ᵗΔ₅")
		}
		return whole("w₈", "a₈ᵗΔ₁₀")
	case "c_proj.bias":
		if strings.Contains(name, ".attn.") {
			return whole("b₃", "ΣΔ₅")
		}
		return whole("b₈", "ΣΔ₁₀")
	case "ln_f.weight":
		return whole("w₁₀", "(41)")
	case "ln_f.bias":
		return whole("b₁₀", "(42)")
	case "lm_head.weight":
		return whole("w₁₁", "a₁₁ᵗΔ₁₂")
	case "lm_head.bias":
		return whole("b₁₁", "ΣΔ₁₂")
	case "c_q.weight":
		return whole("w_q", "Xu (38)")
	case "c_kv_down.weight":
		return whole("w↓", "Xu (37)")
	case "c_k_up.weight":
		return whole("w↑_k", "Xu (38)")
	case "c_v_up.weight":
		return whole("w↑_v", "Xu (38)")
	case "c_q_down.weight":
		return whole("w↓_q", "Xu (60)")
	case "c_q_up.weight":
		return whole("w↑_q", "Xu (61)")
	case "c_q_rope.weight":
		return whole("w_qR", "Xu (63)")
	case "c_k_rope.weight":
		return whole("w_kR", "Xu (65)")
	case "c_input.weight":
		return whole("U", "CS 224n (4)")
	case "c_input.bias":
		return whole("b", "CS 224n (4)")
	}
	if strings.HasPrefix(name, "h.") && strings.Count(name, ".") == 2 { // the matrix that a recurrent block has for itself
		return whole("W", "CS 224n (4)")
	}
	return whole("", "")
}

// order sorts names as the model runs, embeddings first and the head last.
func order(a, b string) int { return cmp.Or(cmp.Compare(place(a), place(b)), cmp.Compare(a, b)) }

func place(name string) string {
	var block int
	if n, _ := fmt.Sscanf(name, "h.%d.", &block); n == 1 {
		parts := []string{"ln_1", "c_attn", ".c_q", ".c_kv", ".c_k", ".c_v", "c_input", "attn.c_proj", "ln_2", "c_fc", "mlp.c_proj"}
		for i, part := range parts {
			if strings.Contains(name, part) {
				return fmt.Sprintf("2 %08d %02d %s", block, i, weightFirst(name))
			}
		}
		return fmt.Sprintf("2 %08d 99", block)
	}
	for i, part := range []string{"wte", "wpe", "h", "ln_f", "lm_head"} {
		if strings.HasPrefix(name, part+".") {
			return fmt.Sprintf("%d %s", i, weightFirst(name))
		}
	}
	return "9"
}

func weightFirst(name string) string {
	switch {
	case strings.HasSuffix(name, ".weight"):
		return "0"
	case strings.HasSuffix(name, ".bias"):
		return "1"
	}
	return "2"
}

// equationOfDelta is the row of the paper's Table 2 for the Δ at the output of a part, and what becomes of it in the other
// kinds of block.
func (m Model) equationOfDelta(name string) string {
	last, first := "LNᵇ(Δ₁₁) (40)", "Δ₅ + LNᵇ(Δ₂) (40)" // what comes into the last block, and what a block passes on
	rows := []struct{ suffix, row string }{
		{"lm_head", "Δ₁₂ = y_pred − y_gt"},
		{"ln_f", "Δ₁₁ = Δ₁₂ w₁₁ᵗ"},
		{".mlp.c_proj", "Δ₁₀, dispatched to a₉"},
		{".mlp.act", "Δ₈ = Δ₁₀ w₈ᵗ"},
		{".mlp.c_fc", "Δ₇ = Δ₈ ∘ g'(a₇)"},
		{".ln_2", "Δ₆ = Δ₇ w₆ᵗ"},
		{".attn.c_proj", "Δ₅, dispatched to a₄"},
		{".attn.heads", "Δ₃ = Δ₅ w₃ᵗ"},
		{".attn.c_attn", "Δ_q, Δ_k, Δ_v (22), (30)"},
		{".attn", "Δ₅ = Δ₁₀ + LNᵇ(Δ₆) (40)"},
		{".ln_1", "Δ₂ = Σ_h (…) (33), (35)"},
	}
	switch m.Config.Block {
	case "post":
		last, first = "Δ₁₂ w₁₁ᵗ", "LNᵇ(Δ₅) + Σ_h (…) (33), (35)"
		rows = append([]struct{ suffix, row string }{
			{".mlp.c_proj", "LNᵇ(Δ₁₀), dispatched to a₉"},
			{".mlp.act", "Δ₈ = LNᵇ(Δ₁₀) w₈ᵗ"},
			{".ln_2", "LNᵇ(Δ₁₀) (40)"},
			{".attn.c_proj", "LNᵇ(Δ₅), dispatched to a₄"},
			{".attn.heads", "Δ₃ = LNᵇ(Δ₅) w₃ᵗ"},
			{".attn", "Δ₅ = LNᵇ(Δ₁₀) + Δ₇ w₆ᵗ"},
			{".ln_1", "LNᵇ(Δ₅) (40)"},
		}, rows...)
	case "elman":
		last, first = "Δ₁₂ w₁₁ᵗ", "a Uᵗ, a = (Δ + c) ∘ (1 − h²), CS 224n (4)"
	}
	switch name {
	case "drop":
		return "Δ₁ = " + first
	case blockName(m.Config.NLayer - 1):
		return "Δ₁₀ = " + last
	}
	for _, r := range rows {
		if strings.HasSuffix(name, r.suffix) {
			return r.row
		}
	}
	return "Δ₁₀, which is Δ₁ of the next block, " + first
}
