package gpt

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/pedestrian-ml/pedestrian/gpt/parts"
	"github.com/pedestrian-ml/pedestrian/gpt/text"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/nn"
)

func TestModelCounts(t *testing.T) {
	shakespeare := Shakespeare()
	shakespeare.VocabSize = 65
	lora := untiedGPT2()
	lora.LoraR = 16
	head := Paper()
	head.LoraR, head.LoraTargets = 16, []string{"lm_head"}
	for name, tc := range map[string]struct {
		config           Config
		total, trainable int64
	}{
		"shakespeare":         {shakespeare, 804_096, 804_096},
		"paper":               {Paper(), 85_120_849, 85_120_849},
		"paper, head adapted": {head, 85_120_849 + 816_400, 816_400},
		"gpt2":                {untiedGPT2(), 163_087_441, 163_087_441},
		"gpt2, tied":          {GPT2(), 124_439_808, 124_439_808},
		"gpt2, all adapted":   {lora, 163_087_441 + 3_470_608, 3_470_608},
	} {
		t.Run(name, func(t *testing.T) {
			total, trainable := tc.config.Count()
			if total != tc.total || trainable != tc.trainable {
				t.Errorf(
					"formula: got %d parameters, %d of them trainable, want %d, %d", total, trainable, tc.total,
					tc.trainable,
				)
			}
			c := tc.config
			if tc.total > 1e6 { // 650 MB, most of them alike
				c.NLayer, c.VocabSize = 1, 65
			}
			m, err := New(graph.New(graph.Float32, 1), c, 1)
			if err != nil {
				t.Fatal(err)
			}
			count := func(list []graph.Expr) (n int64) {
				for _, p := range list {
					n += int64(p.Tensor().Len())
				}
				return n
			}
			total, trainable = c.Count()
			if got := count(m.Params()); got != total {
				t.Errorf("parameters: built %d, formula %d", got, total)
			}
			if got := count(m.Trainable()); got != trainable {
				t.Errorf("trainable: built %d, formula %d", got, trainable)
			}
		})
	}
}

// The formula counts the parameters that are built, for every kind of network.
func TestVariantCounts(t *testing.T) {
	for name, c := range variants() {
		var total, trainable int64
		m := model64(t, c, true, 1)
		for _, p := range m.Params() {
			total += int64(p.Tensor().Len())
		}
		for _, p := range m.Trainable() {
			trainable += int64(p.Tensor().Len())
		}
		if a, b := c.Count(); a != total || b != trainable {
			t.Errorf("%s: formula %d and %d, built %d and %d", name, a, b, total, trainable)
		}
	}
}

// logits64 returns the logits of a float64 model for some tokens.
func logits64(t *testing.T, c Config, set func(params map[string]graph.Tensor)) []float64 {
	t.Helper()
	m := model64(t, c, true, 1)
	params := map[string]graph.Tensor{}
	for _, p := range m.Params() {
		params[p.Name()] = p.Tensor()
		for i := range p.Tensor().Len() {
			// of the name alone, so that models can share it
			p.Tensor().Set(i, 0.3*math.Sin(float64(1+i*len(p.Name()))))
		}
	}
	set(params)
	return newFull(t, m).last(t, []int{3, 1, 4, 1, 5, 9, 2})
}

// logits_scaling divides the logits of every head, with the bias of the head, and also the logits of a head that is no
// product.
func TestLogitsScaling(t *testing.T) {
	squared := parts.Head{Name: "squared", New: func(at nn.Site, vocabulary int, _ *nn.Embedding) nn.Layer {
		return squaredLayer{at.Affine(at.Scope, at.Embd, []int{vocabulary}, true, graph.Normal(0.02))}
	}}
	for name, change := range map[string]func(*Config){
		"linear":         func(c *Config) { c.Head = "linear" },
		"adapted":        func(c *Config) { c.Head, c.LoraR = "linear", 2 },
		"without a bias": func(c *Config) { c.Head = "linear_no_bias" },
		"tied":           func(c *Config) { c.Head = "tied" },
		"squared":        func(c *Config) { c.Head, c.Parts.Heads = "squared", []parts.Head{squared} },
	} {
		c := odd()
		change(&c)
		want := logits64(t, c, func(map[string]graph.Tensor) {})
		c.LogitsScaling = 3
		got := logits64(t, c, func(map[string]graph.Tensor) {})
		for i := range want {
			want[i] /= 3
		}
		sameLogits(t, name, got, want)
	}
}

// squaredLayer squares the results of a layer.
type squaredLayer struct{ nn.Layer }

func (l squaredLayer) Forward(x graph.Expr) graph.Expr { return l.Layer.Forward(x).Square() }

// An adapter adds α/r·d·u to the weight, or α·d·u as in the paper. c_attn has three, one for each of q, k and v.
func TestAdapterScale(t *testing.T) {
	for _, tc := range []struct {
		target, scale string
		factor        float64
	}{
		{"mlp.c_fc", "", 5. / 3},
		{"lm_head", "alpha", 5},
		{"c_attn", "alpha/r", 5. / 3},
	} {
		c := odd()
		c.LoraR, c.LoraAlpha, c.LoraScale, c.LoraTargets = 3, 5, tc.scale, []string{tc.target}
		merged := map[string][]float64{}
		got := logits64(t, c, func(params map[string]graph.Tensor) {
			for name, w := range params {
				if strings.HasSuffix(name, tc.target+".weight") {
					merged[name] = w.Floats()
				}
			}
			for name, w := range merged {
				layer, cols, from := strings.TrimSuffix(name, "weight"), params[name].Shape[1], 0
				for _, part := range []string{"", "q.", "k.", "v."} {
					d, u := params[layer+part+"lora_d"], params[layer+part+"lora_u"]
					if d.Len() == 0 {
						continue
					}
					width := u.Shape[1]
					for i := range w {
						if j := i%cols - from; 0 <= j && j < width {
							for k := range 3 {
								w[i] += tc.factor * d.At(i/cols*3+k) * u.At(k*width+j)
							}
						}
					}
					from += width
				}
				if from != cols {
					t.Fatalf("%s: the adapters have %d columns of %d", name, from, cols)
				}
			}
		})
		want := logits64(t, odd(), func(params map[string]graph.Tensor) {
			for name, w := range merged {
				copy(params[name].F64, w)
			}
		})
		if len(merged) == 0 {
			t.Fatalf("%s: no such layer", tc.target)
		}
		sameLogits(t, tc.target+", scale "+tc.scale, got, want)
	}
}

// Every choice of the Config that does not change the parameters gives another function of them.
func TestChoicesMatter(t *testing.T) {
	seen := map[float64]string{}
	for name, change := range map[string]func(*Config){
		"plain":     func(*Config) {},
		"gelu_tanh": func(c *Config) { c.Activation = "gelu_tanh" },
		"relu":      func(c *Config) { c.Activation = "relu" },
		"eps":       func(c *Config) { c.Eps = 0.1 },
		"post":      func(c *Config) { c.Block = "post" },
	} {
		c := odd()
		change(&c)
		z := logits64(t, c, func(map[string]graph.Tensor) {})[0]
		if other, ok := seen[z]; ok {
			t.Errorf("%s computes what %s does", name, other)
		}
		seen[z] = name
	}
}

// The configuration's rope_theta is the base of every rotation: the pair i of a group of n features at position t is
// rotated by t·θ^(−2i/n), in rope and in both latent attentions with their own rotation, and the logits depend on it.
func TestRopeTheta(t *testing.T) {
	for _, attention := range []string{"causal", "mla_rope", "mla_latent_rope"} {
		logits := map[float64][]float64{}
		for _, theta := range []float64{37, 10_000} {
			c := tiny()
			c.VocabSize, c.QKSize, c.VSize, c.Attention, c.Rope.Theta = 11, 6, 6, attention, theta
			if c.Position = "none"; attention == "causal" {
				c.Position = "rope"
			}
			if attention != "causal" {
				c.Options.Set("rope_size", 4)
			}
			m, err := New(graph.New(graph.Float64, 3), c, 1)
			if err != nil {
				t.Fatal(err)
			}
			tables := 0
			for _, leaf := range m.Graph.Leaves() {
				name := leaf.Name()
				if !strings.HasSuffix(name, "rope.cos") && !strings.HasSuffix(name, "rope.sin") {
					continue
				}
				tables++
				table := leaf.Tensor()
				half := table.Shape[1]
				for i := range table.Len() {
					want := float64(i/half) / math.Pow(theta, float64(i%half)/float64(half))
					if strings.HasSuffix(name, "cos") {
						want = math.Cos(want)
					} else {
						want = math.Sin(want)
					}
					if !(math.Abs(table.At(i)-want) < 1e-12) {
						t.Fatalf(
							"%s, θ = %v: %s: entry %d is %v, want %v", attention, theta, name, i, table.At(i), want,
						)
					}
				}
				if half < 2 {
					t.Fatalf("%s: %s has %d pairs; the first does not depend on θ", attention, name, half)
				}
			}
			if tables < 2 {
				t.Fatalf("%s: %d tables of a rotation, want cos and sin", attention, tables)
			}
			scramble(m.Params(), 9)
			logits[theta] = logitsAfter(t, m)
		}
		if cmp.Equal(logits[37], logits[10_000]) {
			t.Errorf("%s: the logits do not depend on rope_theta", attention)
		}
	}
}

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

// Every attention drops entries of its result, the residual dropout, during training and not otherwise, in both forms.
func TestResidualDropout(t *testing.T) {
	for _, a := range parts.Attentions() {
		for _, kernels := range []bool{false, true} {
			c := tiny()
			c.VocabSize, c.Attention, c.Dropout, c.NLayer, c.Bias = 11, a.String(), 0.5, 1, true
			c.QKSize, c.VSize = 8, 8
			if c.suit(); c.ValidateModel() != nil && a.String() == "linformer" {
				continue // it cannot be causal
			} else if c.ValidateModel() != nil {
				t.Errorf("%s: %v", a, c.ValidateModel())
				continue
			}
			g := graph.New(graph.Float64, 5)
			g.Kernels = kernels
			m, err := New(g, c, 1)
			if err != nil {
				t.Fatal(err)
			}
			scramble(m.Params(), 3)
			x, err := g.Activation("h.0.attn")
			if err != nil {
				t.Fatal(err)
			}
			p, err := graph.CompileWith(m.Loss, []graph.Expr{x})
			if err != nil {
				t.Fatal(err)
			}
			for _, training := range []bool{true, false} {
				g.SetTraining(training)
				if err := p.Run(); err != nil {
					t.Fatal(err)
				}
				zeros := 0
				for _, v := range p.Kept(x).Floats() {
					if v == 0 {
						zeros++
					}
				}
				if n := p.Kept(x).Len(); training && (zeros < n/4 || zeros > n*3/4) || !training && zeros > 0 {
					t.Errorf(
						"%s, kernels %v, training %v: %d of %d entries are dropped, want half or none", a, kernels,
						training, zeros, n,
					)
				}
			}
		}
	}
}

// zero_proj sets the matrices that write to the residual stream to 0, and only them. The folder of such a network is a
// folder of GPT-2.
func TestInitializations(t *testing.T) {
	for name, zero := range map[string]bool{"": false, "scaled_proj": false, "zero_proj": true} {
		c := odd()
		c.With.Set("initialization", name)
		m, err := New(graph.New(graph.Float64, 3), c, 1) // as it begins
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range m.Params() {
			all := true
			for i := range p.Tensor().Len() {
				all = all && p.Tensor().At(i) == 0
			}
			if want := zero && strings.HasSuffix(p.Name(), "c_proj.weight"); all != want &&
				!strings.HasSuffix(p.Name(), "bias") {
				t.Errorf("%q: %s is 0: got %t, want %t", name, p.Name(), all, want)
			}
		}
	}
}

// The choices of a question are as likely as their tokens, one after the other, after the prompt.
func TestRank(t *testing.T) {
	c := tiny()
	c.VocabSize = 13
	m, err := New(graph.New(graph.Float32, 1), c, 2)
	if err != nil {
		t.Fatal(err)
	}
	scramble(m.Params(), 4)
	p, err := graph.Compile(m.Logits)
	if err != nil {
		t.Fatal(err)
	}
	long := make([]int, c.BlockSize+4) // three tokens of its prompt are cut, since the last token is not an input
	for i := range long {
		long[i] = i * i % c.VocabSize
	}
	choice := func(first, bytes int, ids ...int) text.Choice {
		return text.Choice{Tokens: ids, First: first, Bytes: bytes}
	}
	questions := []text.Question{
		{Choices: []text.Choice{choice(2, 7, 1, 2, 3), choice(2, 2, 1, 2, 5, 6, 4)}},
		{Choices: []text.Choice{choice(len(long)-2, 3, long...), choice(1, 1, 12, 0)}, Answer: 1},
	}
	ranker, err := NewRanker(m)
	if err != nil {
		t.Fatal(err)
	}
	for i, q := range questions {
		r, err := ranker.Rank(q)
		if err != nil {
			t.Fatal(err)
		}
		for j, choice := range q.Choices {
			ids, want := choice.Tokens, 0.0
			cut := max(0, len(ids)-1-c.BlockSize)
			copy(m.Tokens.Ints(), ids[cut:])
			if err := p.Run(); err != nil {
				t.Fatal(err)
			}
			for k := choice.First; k < len(ids); k++ {
				row, sum := p.Value().Row(k-1-cut), 0.0
				for v := range row.Len() {
					sum += math.Exp(row.At(v))
				}
				want += math.Log(sum) - row.At(ids[k])
			}
			n := float64(len(ids) - choice.First)
			got := []float64{r.Nats[j], r.PerToken[j] * n, r.PerByte[j] * float64(choice.Bytes)}
			if d := relative(got, []float64{want, want, want}, 0); !(d <= 1e-5) {
				t.Errorf("question %d, choice %d: got %v nats, want %v", i, j, got, want)
			}
		}
		if want := []int{0, 3}[i]; r.Cut != want {
			t.Errorf("question %d: got %d tokens cut, want %d", i, r.Cut, want)
		}
	}
	if got := Likeliest([]float64{3, 1, 2, 1}); got != 1 {
		t.Errorf("got choice %d, want 1, the first of the likeliest", got)
	}
}

// A choice without a prompt, one that does not fit and a foreign token are errors that name the choice.
func TestRankRefuses(t *testing.T) {
	c := tiny()
	c.VocabSize = 13
	m, err := New(graph.New(graph.Float32, 1), c, 1)
	if err != nil {
		t.Fatal(err)
	}
	ranker, err := NewRanker(m)
	if err != nil {
		t.Fatal(err)
	}
	good := text.Choice{Tokens: []int{1, 2}, First: 1, Bytes: 1}
	for want, bad := range map[string]text.Choice{
		"got 0 tokens of a prompt": {Tokens: []int{1, 2}, Bytes: 1},
		"0 of its answer":          {Tokens: []int{1, 2}, First: 2, Bytes: 1},
		"0 bytes":                  {Tokens: []int{1, 2}, First: 1},
		"want at most block_size":  {Tokens: make([]int, c.BlockSize+2), First: 1, Bytes: 1},
		"13":                       {Tokens: []int{1, 13}, First: 1, Bytes: 1},
	} {
		_, err := ranker.Rank(text.Question{Choices: []text.Choice{good, bad}})
		mustContain(t, err, "ranker: choice 1: ", want)
	}
	if _, err := ranker.Rank(text.Question{Choices: []text.Choice{good, good}}); err != nil {
		t.Errorf("after the errors: %v", err)
	}
	_, err = ranker.Rank(text.Question{Choices: []text.Choice{good, good}, Answer: 2})
	mustContain(t, err, "answer: got 2, want the index of one of 2 choices")
	_, err = (*Ranker)(nil).Rank(text.Question{})
	mustContain(t, err, "want one from NewRanker")
	m.Config.Hooks.Loss = func(logits, targets graph.Expr) graph.Expr { return logits.Sum() }
	_, err = NewRanker(m)
	mustContain(t, err, "ranker: ")
}

// Parameters of equal name and shape begin with equal numbers in networks of different depths. Only the numbers of
// c_proj differ, by the factor √(n_layer/n_layer') of their spread.
func TestDepthScalesTheSameNumbers(t *testing.T) {
	begin := func(layers int) map[string]graph.Tensor {
		c := shakespeare65()
		c.NLayer, c.NHead, c.NEmbd, c.BlockSize = layers, 2, 8, 8
		m, err := New(graph.New(graph.Float64, 7), c, 1)
		if err != nil {
			t.Fatal(err)
		}
		values := map[string]graph.Tensor{}
		for _, p := range m.Params() {
			values[p.Name()] = p.Tensor()
		}
		return values
	}
	one, four := begin(1), begin(4)
	for name, x := range one {
		factor := 1.0
		if strings.HasSuffix(name, "c_proj.weight") {
			factor = 0.5
		}
		for i := range x.Len() {
			if got, want := four[name].At(i), factor*x.At(i); !(math.Abs(got-want) <= 1e-15) {
				t.Fatalf("%s, entry %d: got %v with 4 blocks, want %v times %v", name, i, got, factor, x.At(i))
			}
		}
	}
}
