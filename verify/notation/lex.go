package notation

import (
	"fmt"
	"strings"
	"unicode"
)

// token is a number, a name or a sign of a formula.
type token struct {
	text string
	at   int // the column, from 1
	kind rune
}

// Kinds of tokens. A sign is its own kind.
const (
	end    = 0
	number = '0'
	word   = 'a'
)

// alike maps other spellings of signs to one.
var alike = map[rune]rune{'*': '∘', '@': '·', '-': '−'}

// raised holds the signs for what follows a ^.
var raised = map[string]rune{"T": 'ᵗ', "t": 'ᵗ', "2": '²'}

// spelled holds the names that ASCII spells.
var spelled = map[string]string{
	"alpha": "α", "beta": "β", "gamma": "γ", "delta": "Δ",
	"Delta": "Δ", "epsilon": "ε", "eps": "ε", "eta": "η", "lambda": "λ", "mu": "μ", "pi": "π", "rho": "ρ",
	"sigma": "σ", "tau": "τ", "theta": "θ", "phi": "φ",
}

// lex divides a formula into tokens.
func lex(text string) (list []token, err error) {
	runes := []rune(text)
	for i := 0; i < len(runes); {
		start, r := i, runes[i]
		switch {
		case unicode.IsSpace(r):
			i++
			continue
		case unicode.IsDigit(r):
			for i < len(runes) && (unicode.IsDigit(runes[i]) || runes[i] == '.') {
				i++
			}
			list = append(list, token{string(runes[start:i]), start + 1, number})
		case r == 'Σ':
			for _, axis := range []string{"", "_rows", "_cols"} {
				if strings.HasPrefix(string(runes[start+1:]), axis) {
					i = start + 1 + len(axis)
				}
			}
			list = append(list, token{string(runes[start:i]), start + 1, word})
		case begins(r):
			for i++; i < len(runes) && (begins(runes[i]) || runes[i] != 'Σ' && continues(runes[i])); i++ {
			}
			list = append(list, token{spell(string(runes[start:i])), start + 1, word})
		case r == '^':
			kind, ok := raised[string(runes[i+1:min(i+2, len(runes))])]
			if !ok {
				return nil, fmt.Errorf("column %d: got ^, want ^T or ^2", start+1)
			}
			i += 2
			list = append(list, token{string(kind), start + 1, kind})
		default:
			if same, ok := alike[r]; ok {
				r = same
			}
			if !strings.ContainsRune("+−∘·/()[],ᵗ²=", r) {
				return nil, fmt.Errorf("column %d: got %q, want a name, a number or a sign such as +, −, ∘, ·, /, ᵗ",
					start+1, r)
			}
			i++
			list = append(list, token{string(r), start + 1, r})
		}
	}
	return append(list, token{"the end", len(runes) + 1, end}), nil
}

// begins reports whether a name may begin with r.
func begins(r rune) bool { return unicode.IsLetter(r) && r != 'ᵗ' && r != 'Σ' }

// continues reports whether a name may contain r after its first letter.
func continues(r rune) bool { return unicode.IsDigit(r) || r == '_' || unicode.Is(unicode.Mn, r) }

// spell returns the name that ASCII spells: sigma is σ, and deltax is Δx.
func spell(name string) string {
	if same, ok := spelled[name]; ok {
		return same
	}
	for _, prefix := range []string{"delta", "Delta"} {
		if rest, ok := strings.CutPrefix(name, prefix); ok {
			return "Δ" + rest
		}
	}
	return name
}
