package hostile

import (
	"bytes"
	"context"
	"errors"
	"io"
	"iter"
	"os"

	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/checkpoint"
	"github.com/pedestrian-ml/pedestrian/gpt/inspect"
	"github.com/pedestrian-ml/pedestrian/gpt/lab/paired"
	"github.com/pedestrian-ml/pedestrian/gpt/lab/scaling"
	"github.com/pedestrian-ml/pedestrian/gpt/parts"
	"github.com/pedestrian-ml/pedestrian/gpt/published"
	"github.com/pedestrian-ml/pedestrian/gpt/safetensors"
	"github.com/pedestrian-ml/pedestrian/gpt/search"
	"github.com/pedestrian-ml/pedestrian/gpt/seq2seq"
	"github.com/pedestrian-ml/pedestrian/gpt/text"
	"github.com/pedestrian-ml/pedestrian/gpt/train"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/nn"
	"github.com/pedestrian-ml/pedestrian/verify"
	"github.com/pedestrian-ml/pedestrian/verify/hand"
)

const words = "the water pays no rent, and what is ground by day is spent by night"

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func gptValues(v table) {
	define(v, func(*world) context.Context { return context.Background() })
	define(v, func(*world) io.Writer { return &bytes.Buffer{} })
	define(v, func(*world) io.Reader { return bytes.NewReader([]byte("{}")) })
	define(v, func(*world) []byte { return []byte("{}") })
	define(v, func(w *world) gpt.Config {
		c := gpt.Shakespeare()
		c.NLayer, c.NHead, c.NEmbd, c.BlockSize = 1, 2, 4, 4
		c.BatchSize, c.MaxIters, c.EvalIters, c.Threads = 2, 2, 1, 1
		c.VocabSize = get[text.Tokenizer](w).Size()
		return c
	})
	define(v, func(w *world) gpt.Network { return get[gpt.Config](w).Network })
	define(v, func(w *world) train.Training { return get[gpt.Config](w).Training })
	define(v, func(w *world) train.Run { return get[gpt.Config](w).Run })
	define(v, func(w *world) train.Task {
		return train.Task{
			Build: func(g *graph.Graph) (graph.Expr, []graph.Expr, error) {
				return g.Root().Param("w", graph.Normal(1), 2, 2).Square().SumAll(), g.Params(), g.Err()
			},
			Fill: func(step, micro int) (int, error) {
				if micro > 9 {
					return 0, io.EOF
				}
				return 1, nil
			},
			Optimizer: get[train.Optimizer](w),
		}
	})
	define(v, func(w *world) train.Optimizer { return parts.Optimizers()[0].New })
	define(v, func(w *world) parts.Stack { return get[gpt.Config](w).Resolved().Stack })
	define(v, func(w *world) parts.Registry { return parts.Library() })
	define(v, func(w *world) published.Layout { return published.LayoutOf(get[gpt.Config](w)) })
	define(v, func(w *world) text.Tokenizer { return must(text.NewCharacters(words)) })
	define(v, func(w *world) *text.Characters { return must(text.NewCharacters(words)) })
	define(v, func(w *world) *text.Words { return must(text.NewWords(words)) })
	define(v, func(w *world) text.Kind { return text.Kinds()[0] })
	define(v, func(w *world) text.Corpus { return must(text.NewCorpus(words, get[text.Tokenizer](w), 4)) })
	define(v, func(*world) text.Tokens { return text.Tokens{1, 2, 0, 1, 2, 0, 1, 2, 0, 1} })
	define(v, func(w *world) iter.Seq2[int, error] { return text.All(get[text.Tokens](w)) })
	define(v, func(w *world) *text.Shards {
		dir := w.dir + "/shards"
		if _, err := os.Stat(dir); err != nil {
			ids := get[iter.Seq2[int, error]](w)
			if err := text.WriteShards(dir, get[text.Tokenizer](w), 4, ids, ids); err != nil {
				panic(err)
			}
		}
		return must(text.OpenShards(dir))
	})
	define(v, func(w *world) text.Split { return get[text.Corpus](w).Train() })
	define(v, func(w *world) *gpt.Model { return must(gpt.New(get[*graph.Graph](w), get[gpt.Config](w), 2)) })
	define(v, func(w *world) *gpt.Trainer {
		return must(gpt.NewTrainer(get[gpt.Config](w), get[text.Corpus](w), get[text.Tokenizer](w)))
	})
	define(v, func(w *world) *inspect.Probe { return must(inspect.Tap(get[*gpt.Model](w), "h.0")) })
	define(v, func(w *world) *inspect.Curvature {
		return must(inspect.NewCurvature(get[*gpt.Model](w), get[text.Tokens](w)))
	})
	define(v, func(*world) inspect.Lanczos { return inspect.Lanczos{Tolerance: 0.1, MaxIterations: 3} })
	define(v, func(w *world) inspect.Activations { return must(get[*inspect.Probe](w).Run([]int{1, 2})) })
	define(v, func(w *world) inspect.Entries { return inspect.All(get[*gpt.Model](w)) })
	define(v, func(w *world) *search.Sampler { return search.NewSampler(1) })
	define(v, func(w *world) []*search.Sampler { return []*search.Sampler{search.NewSampler(1), search.NewSampler(2)} })
	define(v, func(w *world) *checkpoint.Checkpoint { return must(checkpoint.Load(w.dir + "/gpt")) })
	define(v, func(*world) []safetensors.Tensor {
		return []safetensors.Tensor{{Name: "w", Shape: []int{2, 2}, F32: []float32{1, 2, 3, 4}}}
	})
	define(v, func(w *world) io.ReaderAt { return bytes.NewReader(tensors(w)) })
	define(v, func(w *world) *safetensors.File {
		data := tensors(w)
		return must(safetensors.Open(bytes.NewReader(data), int64(len(data))))
	})
	define(v, func(w *world) safetensors.Entry { return get[*safetensors.File](w).Entries[0] })
	define(v, func(w *world) checkpoint.File {
		return checkpoint.File{Name: "file", Write: train.WriteBytes([]byte("x"))}
	})
	define(v, func(w *world) []checkpoint.File { return []checkpoint.File{get[checkpoint.File](w)} })

	define(v, func(w *world) seq2seq.Config {
		c := seq2seq.Config{SourceSize: 4, TargetSize: 4, SourceVocab: 9, TargetVocab: 9,
			Stack: parts.Stack{NLayer: 1, NHead: 2, NEmbd: 4}, Training: get[train.Training](w), Run: get[train.Run](w)}
		return c
	})
	define(v, func(w *world) []seq2seq.Pair {
		p := seq2seq.Pair{Source: []int{5, 6}, Target: []int{7}}
		return []seq2seq.Pair{p, p}
	})
	define(v, func(w *world) seq2seq.Pairs { return pairs(get[[]seq2seq.Pair](w)) })
	define(v, func(w *world) [][]int { return [][]int{{5, 6}, {7}} })
	define(v, func(w *world) *seq2seq.Model {
		return must(seq2seq.New(get[*graph.Graph](w), get[seq2seq.Config](w), 2))
	})
	define(v, func(w *world) *seq2seq.Translator { return must(seq2seq.NewTranslator(get[*seq2seq.Model](w), 2, 2)) })
	define(v, func(w *world) search.Predictor { return new(even) })
	define(v, func(w *world) func(p search.Predictor, sources int) error {
		return func(p search.Predictor, sources int) error {
			_, err := search.Greedy(context.Background(), p, 2)
			return err
		}
	})
	define(v, func(w *world) *seq2seq.Vocabulary {
		words := must(seq2seq.NewVocabulary("characters"))
		words.Add("water")
		return words
	})

	define(v, func(*world) paired.Plan { return paired.Plan{Looks: []int{2, 3, 4}, Boundary: 0.2} })
	define(v, func(w *world) paired.Rule { return paired.Rule{Difference: 0.5, Plan: get[paired.Plan](w)} })
	define(v, func(*world) scaling.Law { return scaling.Law{E: 1.2, A: 30, B: 60, Alpha: 0.3, Beta: 0.35} })
	define(v, func(w *world) []scaling.Point {
		var points []scaling.Point
		for _, n := range []float64{1e4, 1e5, 1e6} {
			for _, d := range []float64{2e5, 3e6} {
				points = append(points, scaling.Point{N: n, D: n + d, Loss: get[scaling.Law](w).At(n, n+d)})
			}
		}
		return points
	})
	define(v, func(w *world) scaling.Ensemble { return must(scaling.Bootstrap(get[[]scaling.Point](w), 100, 1)) })
	define(v, func(*world) []paired.Comparison { return []paired.Comparison{{Seeds: 2, Mean: 0.2, SD: 0.1, P: 0.3}} })

	define(v, func(w *world) verify.Model { c := get[gpt.Config](w); return must(verify.NewModel(c, 2, 1)) })
	define(v, func(w *world) verify.Pairs { return must(verify.NewPairs(get[seq2seq.Config](w), 2, 1)) })
	define(v, func(w *world) verify.Subject { return get[verify.Model](w) })
	define(v, func(w *world) verify.Case {
		return verify.Case{Layer: func(at nn.Site) nn.Layer { return nn.NewMLP(at) }, Dims: get[nn.Dims](w)}
	})
	define(v, func(w *world) verify.Difference { return verify.Difference{} })
	define(v, func(w *world) verify.Objective {
		return func(p hand.Parameters[complex128]) (complex128, error) { return p["x"].At(0, 0), nil }
	})
	define(v, func(w *world) verify.Report { return verify.Report{} })
}

// tensors returns a file of tensors.
func tensors(w *world) []byte {
	var file bytes.Buffer
	if err := safetensors.Write(&file, get[[]safetensors.Tensor](w), nil); err != nil {
		panic(err)
	}
	return file.Bytes()
}

// even is a Predictor of one text of at most 4 tokens, which are all equally likely.
type even struct{ written int }

func (*even) Sources() int  { return 1 }
func (*even) Beams() int    { return 1 }
func (*even) Ends(int) bool { return false }
func (*even) Fork(int, int) {}
func (e *even) Step([]int) (graph.Tensor, error) {
	if e.written++; e.written > 4 {
		return graph.Tensor{}, errors.New("the text is full")
	}
	return graph.Tensor{Shape: []int{1, 3}, F32: make([]float32, 3)}, nil
}

type pairs []seq2seq.Pair

func (p pairs) Len() int                         { return len(p) }
func (p pairs) Pair(i int) (seq2seq.Pair, error) { return p[i], nil }
