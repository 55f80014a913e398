package gpt

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/gpt/checkpoint"
	"github.com/pedestrian-ml/pedestrian/gpt/parts"
	"github.com/pedestrian-ml/pedestrian/gpt/text"
	"github.com/pedestrian-ml/pedestrian/gpt/train"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/graph/optim"
	"github.com/pedestrian-ml/pedestrian/nn"
)

// The options of the recipe, and the default of lora_alpha.
func TestRecipeOptions(t *testing.T) {
	c := Shakespeare()
	for name, want := range map[string]int{"window": 16, "global_tokens": 1, "random_keys": 2} {
		if got := c.Options.Get(name); got != want {
			t.Errorf("%s: got %d, want %d", name, got, want)
		}
	}
	for _, r := range []int{1, 3} {
		c.LoraR = r
		if got := c.Resolved().LoraAlpha; got != float64(r) {
			t.Errorf("lora_alpha for lora_r %d: got %v", r, got)
		}
	}
}

// With and without kernels the memory grows by the same amount with every block, also if only some of the blocks are
// declared for counting.
func TestMemoryOfDeepNetworks(t *testing.T) {
	for _, kernels := range []bool{true, false} {
		memory := func(layers int) float64 {
			c := tiny()
			c.VocabSize, c.Kernels, c.NLayer = 65, kernels, layers
			return c.Memory()
		}
		block := memory(3) - memory(2)
		for _, n := range []int{4, 5, mostDeclared, mostDeclared + 1, 5 * mostDeclared} {
			if got, want := memory(n), memory(2)+float64(n-2)*block; !(got > 0.999999*want && got < 1.000001*want) {
				t.Errorf("kernels %v: %d blocks need %v bytes, want %v", kernels, n, got, want)
			}
		}
	}
}

// A network whose parameters fit is refused if they do not fit together with a batch, and the message names the larger
// part.
func TestMemoryOfBoth(t *testing.T) {
	c := tiny()
	c.NLayer, c.NEmbd, c.VocabSize, c.BatchSize, c.BlockSize = 1, 1536, 1<<21, 1, 1
	const limit = 78 << 30
	c.MemoryLimit = 78
	if c.Memory() > limit {
		t.Fatalf("the parameters alone need %v bytes", c.Memory())
	}
	c.BatchSize, c.BlockSize = 44, 64
	if c.Memory() <= limit || c.Memory() > 1.8*limit {
		t.Fatalf("both need %v bytes", c.Memory())
	}
	mustContain(t, c.Validate(), "GiB for parameters")
}

// mute is attention that does not implement nn.Mixing.
type mute struct{ nn.Layer }

// A layer without nn.Mixing is counted as full attention, T·H·(QK + V) multiplications a token.
func TestMixingOfAnOwnAttention(t *testing.T) {
	flops := func(layers int) float64 {
		c := tiny()
		c.VocabSize, c.NLayer, c.Attention = 65, layers, "mute"
		c.Parts.Attentions = []parts.Attention{{Name: "mute", New: func(nn.Site, parts.Stack) nn.Attention {
			return func(at nn.Site) nn.Layer {
				at.Param("w", graph.Const(0), 3)
				return mute{nn.NewUnprojected(at)}
			}
		}}}
		return FLOPsPerToken(c)
	}
	silent := func(c Config) Config { c.VocabSize = 65; return c }(tiny())
	one, two := silent, silent
	one.NLayer, two.NLayer = 1, 2
	mlp := float64(6 * (2*16*64 + 2*16)) // c_fc, c_proj and two gains
	if got, want := flops(2)-flops(1), mlp+6*3+6*8*2*(5+7); got != want {
		t.Errorf("a block has %v more, want %v", got, want)
	}
}

// For a block that builds its own attention, the block's nn.Mixing counts.
func TestMixingOfAnOwnBlock(t *testing.T) {
	flops := func(wrap func(*nn.SelfAttention) nn.Layer) float64 {
		c := tiny()
		c.VocabSize, c.Block = 65, "own"
		c.Parts.Blocks = []parts.Block{{Name: "own", New: func(at nn.Site, _ nn.Attention) nn.Layer {
			return wrap(nn.NewSelfAttention(at.At("own")))
		}}}
		return FLOPsPerToken(c)
	}
	said := flops(func(l *nn.SelfAttention) nn.Layer { return l })
	silent := flops(func(l *nn.SelfAttention) nn.Layer { return mute{l} })
	if got, want := said-silent, float64(6*2*8*2*(5+7)); got != want {
		t.Errorf("two blocks that say their mixing have %v more, want %v", got, want)
	}
}

// After Reset a batch begins anew: the earlier rows have no effect.
func TestBatchDecoderReset(t *testing.T) {
	c := tiny()
	c.VocabSize = 65
	m := model64(t, c, true, 2)
	d := newBatchDecoderOf(t, m, 2)
	before, rows := someRows(rand.New(rand.NewPCG(1, 1)), 2, 3, 65), someRows(rand.New(rand.NewPCG(2, 1)), 2, 4, 65)
	logits := func(rows [][]int) []float64 {
		out, err := d.Feed(rows...)
		if err != nil {
			t.Fatal(err)
		}
		return slices.Clone(out.Floats())
	}
	want := logits(rows)
	d.Reset()
	if got := logits(before); slices.Equal(got, want) {
		t.Fatal("other rows have the same logits")
	}
	d.Reset()
	sameLogits(t, "after Reset", logits(rows), want)
}

// change returns the files with one changed, or left out if f is nil.
func change(t *testing.T, list []checkpoint.File, name string, f func([]byte) []byte) (out []checkpoint.File) {
	t.Helper()
	for _, file := range list {
		if file.Name == name {
			if f == nil {
				continue
			}
			var b bytes.Buffer
			if err := file.Write(&b); err != nil {
				t.Fatal(err)
			}
			file.Write = train.WriteBytes(f(b.Bytes()))
		}
		out = append(out, file)
	}
	return out
}

// FineTune refuses another tokenizer of the same size, and a checkpoint with an invalid state or weights; so does
// LoadTokenizer.
func TestFineTuneRefusesDamage(t *testing.T) {
	base := newTrainer(t, tiny())
	c := tiny()
	c.LoraR = 1
	_, other := corpus(t, strings.ReplaceAll(verses, "?", "#"), c.BlockSize)
	_, err := FineTune(c, base.Corpus, other, saved(t, 0, files(t, base)))
	mustContain(t, err, "another vocabulary")
	garbage := func([]byte) []byte { return []byte("no JSON") }
	_, err = FineTune(c, base.Corpus, base.Tokenizer, saved(t, 0, change(t, files(t, base), train.StateFile, garbage)))
	mustContain(t, err, train.StateFile)
	_, err = FineTune(c, base.Corpus, base.Tokenizer, saved(t, 0, change(t, files(t, base), train.WeightsFile, nil)))
	mustContain(t, err, train.WeightsFile)
	_, err = LoadTokenizer(saved(t, 0, change(t, files(t, base), charactersFile, garbage)))
	mustContain(t, err, charactersFile)
}

// A vocabulary may have room for more tokens than the text: a run resumes with the same size.
func TestResumeWithALargerVocabulary(t *testing.T) {
	c := tiny()
	c.VocabSize = 80
	trainer := newTrainer(t, c)
	steps(t, trainer, 2)
	again, err := Resume(c, trainer.Corpus, trainer.Tokenizer, saved(t, 2, files(t, trainer)))
	if err != nil {
		t.Fatal(err)
	}
	if got := again.Config().VocabSize; got != 80 || fingerprint(t, again) != fingerprint(t, trainer) {
		t.Errorf("resumed with vocab_size %d, want 80 and the same weights", got)
	}
}

// NewTrainer returns the error of a user-defined optimizer.
func TestNewTrainerOptimizerError(t *testing.T) {
	c := tiny()
	c.Optimizer = "mine"
	c.Parts.Optimizers = []parts.Optimizer{{Name: "mine", New: func(train.Training) optim.Rule { return optim.SGD{Momentum: 2} }}}
	tok, err := text.NewCharacters(verses)
	if err != nil {
		t.Fatal(err)
	}
	data, err := text.NewCorpus(verses, tok, c.BlockSize)
	if err != nil {
		t.Fatal(err)
	}
	_, err = NewTrainer(c, data, tok)
	mustContain(t, err, `optimizer "mine": sgd: momentum: got 2, want`)
}

// Fine-tuning refuses the same as training. A part that declares other parameters the second time is detected up to the
// depth that is declared.
func TestRefusedBeforeTraining(t *testing.T) {
	base := newTrainer(t, tiny())
	c := tiny()
	c.LoraR, c.LearningRate = 1, -1
	_, err := FineTune(c, base.Corpus, base.Tokenizer, saved(t, 0, files(t, base)))
	mustContain(t, err, "learning_rate: got -1")
	c = tiny()
	c.VocabSize, c.BlockSize = 65, 0
	mustContain(t, c.Validate(), "block_size: got 0")
	c = odd()
	calls := 0
	c.NLayer, c.Attention, c.Parts.Attentions = mostDeclared, "ledger", []parts.Attention{ledger(func() int { calls++; return 1 + calls/mostDeclared })}
	_, err = New(graph.New(graph.Float32, 1), c, 1)
	mustContain(t, err, "parameters, but counted")
}
