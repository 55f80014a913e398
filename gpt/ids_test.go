package gpt

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/gpt/text"
	"github.com/pedestrian-ml/pedestrian/graph"
)

// All of n tokens except the first are predicted, once each in a pass over the text whose blocks fill it, and each
// after its preceding token.
func TestI01EveryTokenButTheFirst(t *testing.T) {
	for _, n := range []int{5, 9, 13} { // 1, 2 and 3 blocks of 4
		split := make(text.Tokens, n)
		for i := range split {
			split[i] = 2*i + 1
		}
		x, y := make([]int, 8), make([]int, 8) // two rows
		var predicted []int
		for _, err := range text.Blocks(split, x, y, 4) {
			if err != nil {
				t.Fatal(err)
			}
			for i, target := range y {
				if target == text.Ignore {
					continue
				}
				if predicted = append(predicted, target); target != x[i]+2 {
					t.Errorf("behind %d comes %d, want %d", x[i], target, x[i]+2)
				}
			}
		}
		if want := []int(split[1:]); !slices.Equal(predicted, want) {
			t.Errorf("%d tokens: predicted %v, want %v", n, predicted, want)
		}
	}
}

// The gradient of tied embeddings is the sum of the gradients of embedding and head if they were separate with the same
// numbers.
func TestI27TiedIsTheSum(t *testing.T) {
	for _, kernels := range []bool{true, false} {
		grads := func(head string) (loss float64, shapes map[string][]int, g map[string][]float64) {
			c := odd()
			c.Head = head
			m := model64(t, c, kernels, 2)
			shapes, g = map[string][]int{}, map[string][]float64{}
			values := map[string]graph.Tensor{}
			for _, p := range m.Params() {
				shapes[p.Name()], values[p.Name()] = p.Tensor().Shape, p.Tensor()
				rng := rand.New(rand.NewPCG(9, uint64(len(p.Name()))<<32+uint64(p.Tensor().Len())))
				for i := range p.Tensor().Len() {
					p.Tensor().Set(i, 0.5*rng.NormFloat64())
				}
			}
			if head == "linear" {
				copyTransposed(values["lm_head.weight"], values["wte.weight"])
				clear(values["lm_head.bias"].F64)
			}
			for i := range m.Tokens.Ints() {
				m.Tokens.Ints()[i], m.Targets.Ints()[i] = (i*i+3)%13, (5*i+1)%13
			}
			p, err := graph.Compile(m.Loss, m.Params()...)
			if err != nil {
				t.Fatal(err)
			}
			if err := p.Run(); err != nil {
				t.Fatal(err)
			}
			for _, x := range m.Params() {
				g[x.Name()] = p.Grad(x).Floats()
			}
			return p.Loss(), shapes, g
		}
		loss, _, apart := grads("linear")
		tiedLoss, shapes, tied := grads("tied")
		if !(math.Abs(loss-tiedLoss) <= 1e-13) {
			t.Errorf("kernels %t: got loss %v tied and %v apart", kernels, tiedLoss, loss)
		}
		rows, cols := shapes["wte.weight"][0], shapes["wte.weight"][1]
		sum := slices.Clone(apart["wte.weight"])
		for i := range sum {
			sum[i] += apart["lm_head.weight"][i%cols*rows+i/cols]
		}
		if e := relative(tied["wte.weight"], sum, 0); !(e <= 1e-12) {
			t.Errorf("kernels %t: the gradient is %.2g off the sum", kernels, e)
		}
		if e := relative(apart["wte.weight"], sum, 0); !(e > 0.1) {
			t.Errorf("kernels %t: the head adds %.2g only, so the test shows nothing", kernels, e)
		}
		for name, want := range apart {
			if got, ok := tied[name]; ok && name != "wte.weight" {
				if e := relative(got, want, 0); !(e <= 1e-12) && largest(want) > 1e-12 {
					t.Errorf("kernels %t: ∂%s is %.2g off", kernels, name, e)
				}
			} else if strings.HasPrefix(name, "lm_head") == ok {
				t.Errorf("kernels %t: tied, there is a %s: %t", kernels, name, ok)
			}
		}
	}
}

func copyTransposed(to, from graph.Tensor) {
	rows, cols := from.Shape[0], from.Shape[1]
	for i := range from.Len() {
		to.Set(i%cols*rows+i/cols, from.At(i))
	}
}

// The parts of the paper's network and their fractions of it, each as the difference that one field makes to the count.
func TestI30CountsOfTheParts(t *testing.T) {
	count := func(c Config, change func(*Config)) (total, trainable float64) {
		change(&c)
		a, b := c.Count()
		return float64(a), float64(b)
	}
	twelve, _ := count(untiedGPT2(), func(*Config) {})
	one, _ := count(Paper(), func(*Config) {})
	without, _ := count(untiedGPT2(), func(c *Config) { c.Position = "none" })
	larger, _ := count(untiedGPT2(), func(c *Config) { c.VocabSize++ })
	tied, _ := count(untiedGPT2(), func(c *Config) { c.Head = "tied" })
	tiedLarger, _ := count(untiedGPT2(), func(c *Config) { c.Head = "tied"; c.VocabSize++ })
	_, head := count(Paper(), func(c *Config) { c.LoraR, c.LoraTargets = 16, []string{"lm_head"} })
	_, everywhere := count(untiedGPT2(), func(c *Config) { c.LoraR = 16 })
	const vocabulary = 50257
	for _, test := range []struct {
		name            string
		got, want, upTo float64
	}{
		{"embeddings of tokens", (tiedLarger - tied) * vocabulary, 38_597_376, 0},
		{"embeddings of positions", twelve - without, 786_432, 0},
		{"head", twelve - tied, 38_647_633, 0},
		{"head, by a word", (larger - twelve) - (tiedLarger - tied), 769, 0},
		{"twelve blocks to one", twelve / one, 1.916, 5e-4},
		{"saved by tying", 1 - tied/twelve, 0.237, 5e-4},
		{"adapter of the head to the head", head / (twelve - tied), 0.021, 5e-4},
		{"adapters everywhere to the network", everywhere / twelve, 0.021, 5e-4},
	} {
		if !(math.Abs(test.got-test.want) <= test.upTo) {
			t.Errorf("%s: got %v, want %v", test.name, test.got, test.want)
		}
	}
}
