package hostile

import (
	"reflect"

	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/nn"
)

// arguments returns the arguments of calls that need matrices of several shapes. All of them fit, so that a replaced
// one is the only one that does not. There are two sequences of two tokens (one, if a cache stores them), with the
// shapes of graphValues.
func arguments() map[string]func(w *world) []any {
	step := func(w *world) []any { return []any{nil, w.matrix("new", 2, 4), w.place()} }
	fork := func(w *world) []any { return []any{nil, 0, 1} }
	objective := func(w *world) []any { return []any{nil, w.matrix("logits", 2, 2), nil} }
	return map[string]func(w *world) []any{
		"nn.Block.Step": step, "nn.PostNormBlock.Step": step, "nn.SandwichBlock.Step": step,
		"nn.PostPartBlock.Step": step, "nn.ParallelBlock.Step": step, "nn.ParallelTwoBlock.Step": step,
		"nn.SelfAttention.Step": step, "nn.MLA.Step": step,
		"nn.SigmoidAttention.Step": step, "nn.DiffAttention.Step": step, "nn.ForgettingAttention.Step": step,
		"nn.LinearAttention.Step": step, "nn.TaylorAttention.Step": step, "nn.Elman.Step": step,
		"nn.Recurrence.Step": step, "nn.Mamba2.Step": step, "nn.MinGRU.Step": step, "nn.RGLRU.Step": step,
		"graph.ElmanCache.Fork": fork, "graph.KVCache.Fork": fork, "graph.LatentCache.Fork": fork,
		"graph.PairCache.Fork": fork, "graph.LinearCache.Fork": fork, "graph.RecurrenceCache.Fork": fork,
		"graph.ScanCache.Fork":   fork,
		"nn.NewGroupedAttention": func(w *world) []any { return []any{nil, 1, true} }, "nn.GroupedAttention.Step": step,
		"nn.NewMemory":       func(w *world) []any { return []any{nil, w.matrix("z", 4, 4), 2, 2, 2, []int{1, 2}} },
		"nn.PPOClip.Forward": objective, "nn.Reinforce.Forward": objective,
		"nn.GRPO.Forward": func(w *world) []any {
			r := get[nn.Rollout](w)
			r.Reference = w.matrix("reference", 2, 1)
			return []any{nil, w.matrix("logits", 2, 2), r}
		},
		"nn.NewDPO": func(w *world) []any { return []any{nil, 2} },
		"nn.DPO.Forward": func(w *world) []any {
			return []any{nil, w.matrix("logits", 4, 3), ids(w), w.matrix("reference", 2, 1)}
		},
		"graph.LogProbs":          func(w *world) []any { return []any{w.matrix("logits", 4, 3), ids(w)} },
		"nn.CrossEntropy.Forward": func(w *world) []any { return []any{nil, w.matrix("logits", 4, 3), ids(w)} },
		"nn.MultiToken.Forward": func(w *world) []any {
			return []any{nil, []graph.Expr{w.matrix("logits", 4, 3)}, ids(w)}
		},
		"nn.Embedding.Forward": func(w *world) []any { return []any{nil, ids(w)} },
		"nn.ValueLoss.Forward": func(w *world) []any { return []any{nil, w.matrix("v", 2, 1), nil} },
		"nn.NewLinear":         func(w *world) []any { return []any{nil, 4, []int{4}, true, graph.Const(1)} },
		"nn.NewLinformer": func(w *world) []any {
			at := get[nn.Site](w)
			at.Mask = nn.NewMask(at.Sub("all"), at.Dims, nn.All{})
			return []any{at, 1}
		},
		"nn.NewClampedMoE": func(w *world) []any {
			at := get[nn.Site](w)
			at.Experts.Limit = 7
			return []any{at}
		},
		"nn.NewTied":         func(w *world) []any { return []any{nil, &nn.Embedding{Weight: w.matrix("wte", 3, 4)}} },
		"nn.Site.Param":      func(w *world) []any { return []any{nil, "p", graph.Const(1), 2, 2} },
		"graph.Scope.Param":  func(w *world) []any { return []any{nil, "p", graph.Const(1), 2, 2} },
		"graph.Scope.Value":  func(w *world) []any { return []any{nil, "p", graph.Const(1), 2, 2} },
		"graph.Expr.Cols":    func(w *world) []any { return []any{nil, 0, 3} },
		"graph.Expr.Advance": func(w *world) []any { return []any{ids(w), 1, 2} },
		"graph.Expr.Gather":  func(w *world) []any { return []any{nil, ids(w)} },
		"graph.Expr.OneHot":  func(w *world) []any { return []any{ids(w), 2} },
		"graph.Expr.Reshape": func(w *world) []any { return []any{nil, 2, 8} },
		"graph.GatherCols":   func(w *world) []any { return []any{nil, []int{3, 2, 1, 0}} },
		"graph.Attention": func(w *world) []any {
			return []any{w.matrix("qkv", 4, 4), w.matrix("mask", 2, 2), get[graph.AttentionShape](w), 0.5}
		},
		"graph.SigmoidAttention": func(w *world) []any {
			return []any{w.matrix("qkv", 4, 4), w.matrix("mask", 2, 2), get[graph.AttentionShape](w), 0.5}
		},
		"graph.ForgettingAttention": func(w *world) []any {
			return []any{
				w.matrix("qkv", 4, 4), w.matrix("gates", 4, 1), w.matrix("mask", 2, 2), get[graph.AttentionShape](w),
				0.5,
			}
		},
		"graph.CachedForgettingAttention": func(w *world) []any {
			return []any{
				w.matrix("qkv", 2, 4), w.matrix("gates", 2, 1), w.matrix("mask", 2, 2), w.place(),
				graph.NewForgettingCache(get[graph.AttentionShape](w)),
			}
		},
		"graph.CrossAttention": func(w *world) []any {
			return []any{
				w.matrix("q", 4, 2), w.matrix("kv", 4, 4), w.matrix("mask", 2, 2), get[graph.CrossShape](w), 0.5,
			}
		},
		"graph.LinearAttention": func(w *world) []any {
			return []any{w.matrix("qkv", 4, 4), w.matrix("mask", 2, 2), get[graph.LinearShape](w)}
		},
		"graph.CachedAttention": func(w *world) []any {
			return []any{w.matrix("qkv", 2, 4), w.matrix("mask", 2, 2), w.place(), get[*graph.KVCache](w)}
		},
		"graph.CachedSigmoidAttention": func(w *world) []any {
			return []any{w.matrix("qkv", 2, 4), w.matrix("mask", 2, 2), w.place(), get[*graph.KVCache](w)}
		},
		"graph.CachedLinearAttention": func(w *world) []any {
			return []any{w.matrix("qkv", 2, 4), w.place(), get[*graph.LinearCache](w)}
		},
		"graph.Recurrence": func(w *world) []any {
			return []any{
				w.matrix("qkv", 4, 4), w.matrix("gates", 4, 1), w.matrix("beta", 4, 1), w.matrix("states", 2, 2),
				get[graph.RecurrenceShape](w),
			}
		},
		"graph.RecurrenceNorms": func(w *world) []any {
			return []any{
				w.matrix("qkv", 4, 4), w.matrix("gates", 4, 1), w.matrix("beta", 4, 1), w.matrix("states", 2, 2),
				get[graph.RecurrenceShape](w),
			}
		},
		"graph.CachedRecurrence": func(w *world) []any {
			return []any{
				w.matrix("qkv", 2, 4), w.matrix("gates", 2, 1), w.matrix("beta", 2, 1), w.place(),
				get[*graph.RecurrenceCache](w),
			}
		},
		"graph.Scan": func(w *world) []any {
			return []any{w.matrix("b", 4, 2), w.matrix("c", 4, 2), get[graph.ScanShape](w)}
		},
		"graph.AddScaled": func(w *world) []any {
			return []any{w.matrix("x", 4, 2), w.matrix("y", 4, 2), w.matrix("d", 1, 2)}
		},
		"graph.CachedScan": func(w *world) []any {
			return []any{w.matrix("b", 2, 2), w.matrix("c", 2, 2), w.place(), get[*graph.ScanCache](w)}
		},
		"graph.LRUDecay":  func(w *world) []any { return []any{w.matrix("z", 4, 2), w.matrix("lambda", 1, 2), 8.} },
		"graph.LRUInput":  func(w *world) []any { return []any{w.matrix("v", 4, 2), w.matrix("c", 4, 2)} },
		"graph.TimeDecay": func(w *world) []any { return []any{w.matrix("x", 4, 2), w.matrix("a", 1, 2)} },
		"graph.CachedLatentAttention": func(w *world) []any {
			return []any{w.matrix("q", 2, 3), w.matrix("latent", 2, 3), w.matrix("upK", 2, 2), w.matrix("upV", 2, 2),
				w.matrix("mask", 2, 2), w.place(), get[*graph.LatentCache](w)}
		},
		"graph.CachedPairAttention": func(w *world) []any {
			return []any{
				w.matrix("qkv", 2, 8), get[graph.Scope](w).Value("mask", graph.Const(0), 1, 1, 2, 4), w.place(),
				get[*graph.PairCache](w),
			}
		},
		"graph.CachedElman": func(w *world) []any {
			return []any{w.matrix("a", 2, 2), w.matrix("w", 2, 2), w.place(), get[*graph.ElmanCache](w)}
		},
		"graph.Elman":        func(w *world) []any { return []any{w.matrix("a", 4, 3), w.matrix("w", 3, 3), 2} },
		"graph.Gather":       func(w *world) []any { return []any{w.matrix("table", 2, 3), ids(w)} },
		"graph.MixTokens":    func(w *world) []any { return []any{w.matrix("w", 3, 2), w.matrix("x", 4, 5)} },
		"graph.LinearT":      func(w *world) []any { return []any{w.matrix("x", 4, 3), w.matrix("w", 5, 3)} },
		"graph.CrossEntropy": func(w *world) []any { return []any{w.matrix("logits", 4, 3), ids(w), true, 0.1, 0.1} },
		"graph.AddPositions": func(w *world) []any {
			return []any{w.matrix("x", 4, 3), w.matrix("table", 2, 3), ids(w), 0.5}
		},
		"graph.Linear": func(w *world) []any {
			return []any{w.matrix("x", 4, 3), w.matrix("w", 3, 6), w.vector("b", 6)}
		},
		"graph.LayerNorm": func(w *world) []any {
			return []any{w.matrix("x", 4, 3), w.vector("w", 3), w.vector("b", 3), 0.5}
		},
		"graph.LayerNormSigma": func(w *world) []any {
			return []any{w.matrix("x", 4, 3), w.vector("w", 3), w.vector("b", 3), 0.5}
		},
		"graph.SquaredError": func(w *world) []any {
			return []any{w.matrix("x", 4, 1), w.matrix("y", 4, 1), w.matrix("weights", 4, 1)}
		},
		"graph.Rotate": func(w *world) []any {
			return []any{w.matrix("x", 4, 4), w.matrix("cos", 2, 1), w.matrix("sin", 2, 1), ids(w), 2}
		},
		"graph.Reinforce": func(w *world) []any {
			return []any{
				w.matrix("logits", 4, 3), ids(w), w.matrix("returns", 4, 1), w.matrix("baseline", 4, 1),
				w.matrix("weights", 4, 1),
			}
		},
		"graph.PPOClip": func(w *world) []any {
			return []any{w.matrix("logits", 4, 3), ids(w), w.matrix("returns", 4, 1), w.matrix("baseline", 4, 1),
				w.matrix("weights", 4, 1), w.matrix("old", 4, 1), 0.5}
		},
	}
}

// chosen returns the arguments of a call with its own arguments; nil stands for the valid value of the type.
func (w *world) chosen(c call) (args []reflect.Value) {
	for i, x := range w.own[c.name](w) {
		t := c.f.Type().In(min(i, c.f.Type().NumIn()-1))
		if c.f.Type().IsVariadic() && i >= c.f.Type().NumIn()-1 {
			t = t.Elem()
		}
		v := reflect.New(t).Elem()
		if x == nil {
			v.Set(w.good(t))
		} else {
			v.Set(reflect.ValueOf(x))
		}
		args = append(args, v)
	}
	return args
}

func (w *world) matrix(name string, rows, cols int) graph.Expr {
	return get[graph.Scope](w).Param(name, graph.Const(0.5), rows, cols)
}

func (w *world) vector(name string, n int) graph.Expr {
	return get[graph.Scope](w).Param(name, graph.Const(0.5), n)
}

// place returns the index of the next token of a text: its beginning.
func (w *world) place() graph.Expr { return get[graph.Scope](w).Ints("at", 1, 2, -1) }
