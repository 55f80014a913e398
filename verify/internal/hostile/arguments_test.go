package hostile

import (
	"reflect"

	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/graph/fused"
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
		"fused.ElmanCache.Fork": fork, "fused.KVCache.Fork": fork, "fused.LatentCache.Fork": fork,
		"fused.PairCache.Fork": fork, "fused.LinearCache.Fork": fork, "fused.RecurrenceCache.Fork": fork,
		"fused.ScanCache.Fork":   fork,
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
		"fused.LogProbs":          func(w *world) []any { return []any{w.matrix("logits", 4, 3), ids(w)} },
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
		"graph.Expr.Columns": func(w *world) []any { return []any{nil, 0, 3} },
		"graph.Expr.Advance": func(w *world) []any { return []any{ids(w), 1, 2} },
		"graph.Expr.Gather":  func(w *world) []any { return []any{nil, ids(w)} },
		"graph.Expr.OneHot":  func(w *world) []any { return []any{ids(w), 2} },
		"graph.Expr.Reshape": func(w *world) []any { return []any{nil, 2, 8} },
		"fused.GatherCols":   func(w *world) []any { return []any{nil, []int{3, 2, 1, 0}} },
		"fused.Attention": func(w *world) []any {
			return []any{w.matrix("qkv", 4, 4), w.matrix("mask", 2, 2), get[fused.AttentionShape](w), 0.5}
		},
		"fused.SigmoidAttention": func(w *world) []any {
			return []any{w.matrix("qkv", 4, 4), w.matrix("mask", 2, 2), get[fused.AttentionShape](w), 0.5}
		},
		"fused.ForgettingAttention": func(w *world) []any {
			return []any{
				w.matrix("qkv", 4, 4), w.matrix("gates", 4, 1), w.matrix("mask", 2, 2), get[fused.AttentionShape](w),
				0.5,
			}
		},
		"fused.CachedForgettingAttention": func(w *world) []any {
			return []any{
				w.matrix("qkv", 2, 4), w.matrix("gates", 2, 1), w.matrix("mask", 2, 2), w.place(),
				fused.NewForgettingCache(get[fused.AttentionShape](w)),
			}
		},
		"fused.CrossAttention": func(w *world) []any {
			return []any{
				w.matrix("q", 4, 2), w.matrix("kv", 4, 4), w.matrix("mask", 2, 2), get[fused.CrossShape](w), 0.5,
			}
		},
		"fused.LinearAttention": func(w *world) []any {
			return []any{w.matrix("qkv", 4, 4), w.matrix("mask", 2, 2), get[fused.LinearShape](w)}
		},
		"fused.CachedAttention": func(w *world) []any {
			return []any{w.matrix("qkv", 2, 4), w.matrix("mask", 2, 2), w.place(), get[*fused.KVCache](w)}
		},
		"fused.CachedSigmoidAttention": func(w *world) []any {
			return []any{w.matrix("qkv", 2, 4), w.matrix("mask", 2, 2), w.place(), get[*fused.KVCache](w)}
		},
		"fused.CachedLinearAttention": func(w *world) []any {
			return []any{w.matrix("qkv", 2, 4), w.place(), get[*fused.LinearCache](w)}
		},
		"fused.Recurrence": func(w *world) []any {
			return []any{
				w.matrix("qkv", 4, 4), w.matrix("gates", 4, 1), w.matrix("beta", 4, 1), w.matrix("states", 2, 2),
				get[fused.RecurrenceShape](w),
			}
		},
		"fused.RecurrenceNorms": func(w *world) []any {
			return []any{
				w.matrix("qkv", 4, 4), w.matrix("gates", 4, 1), w.matrix("beta", 4, 1), w.matrix("states", 2, 2),
				get[fused.RecurrenceShape](w),
			}
		},
		"fused.CachedRecurrence": func(w *world) []any {
			return []any{
				w.matrix("qkv", 2, 4), w.matrix("gates", 2, 1), w.matrix("beta", 2, 1), w.place(),
				get[*fused.RecurrenceCache](w),
			}
		},
		"fused.Scan": func(w *world) []any {
			return []any{w.matrix("b", 4, 2), w.matrix("c", 4, 2), get[fused.ScanShape](w)}
		},
		"fused.AddScaled": func(w *world) []any {
			return []any{w.matrix("x", 4, 2), w.matrix("y", 4, 2), w.matrix("d", 1, 2)}
		},
		"fused.CachedScan": func(w *world) []any {
			return []any{w.matrix("b", 2, 2), w.matrix("c", 2, 2), w.place(), get[*fused.ScanCache](w)}
		},
		"fused.LRUDecay":  func(w *world) []any { return []any{w.matrix("z", 4, 2), w.matrix("lambda", 1, 2), 8.} },
		"fused.LRUInput":  func(w *world) []any { return []any{w.matrix("v", 4, 2), w.matrix("c", 4, 2)} },
		"fused.TimeDecay": func(w *world) []any { return []any{w.matrix("x", 4, 2), w.matrix("a", 1, 2)} },
		"fused.CachedLatentAttention": func(w *world) []any {
			return []any{w.matrix("q", 2, 3), w.matrix("latent", 2, 3), w.matrix("upK", 2, 2), w.matrix("upV", 2, 2),
				w.matrix("mask", 2, 2), w.place(), get[*fused.LatentCache](w)}
		},
		"fused.CachedPairAttention": func(w *world) []any {
			return []any{
				w.matrix("qkv", 2, 8), get[graph.Scope](w).Value("mask", graph.Const(0), 1, 1, 2, 4), w.place(),
				get[*fused.PairCache](w),
			}
		},
		"fused.CachedElman": func(w *world) []any {
			return []any{w.matrix("a", 2, 2), w.matrix("w", 2, 2), w.place(), get[*fused.ElmanCache](w)}
		},
		"fused.Elman":        func(w *world) []any { return []any{w.matrix("a", 4, 3), w.matrix("w", 3, 3), 2} },
		"fused.Gather":       func(w *world) []any { return []any{w.matrix("table", 2, 3), ids(w)} },
		"fused.MixTokens":    func(w *world) []any { return []any{w.matrix("w", 3, 2), w.matrix("x", 4, 5)} },
		"fused.LinearT":      func(w *world) []any { return []any{w.matrix("x", 4, 3), w.matrix("w", 5, 3)} },
		"fused.CrossEntropy": func(w *world) []any { return []any{w.matrix("logits", 4, 3), ids(w), true, 0.1, 0.1} },
		"fused.AddPositions": func(w *world) []any {
			return []any{w.matrix("x", 4, 3), w.matrix("table", 2, 3), ids(w), 0.5}
		},
		"fused.Linear": func(w *world) []any {
			return []any{w.matrix("x", 4, 3), w.matrix("w", 3, 6), w.vector("b", 6)}
		},
		"fused.LayerNorm": func(w *world) []any {
			return []any{w.matrix("x", 4, 3), w.vector("w", 3), w.vector("b", 3), 0.5}
		},
		"fused.LayerNormSigma": func(w *world) []any {
			return []any{w.matrix("x", 4, 3), w.vector("w", 3), w.vector("b", 3), 0.5}
		},
		"fused.SquaredError": func(w *world) []any {
			return []any{w.matrix("x", 4, 1), w.matrix("y", 4, 1), w.matrix("weights", 4, 1)}
		},
		"fused.Rotate": func(w *world) []any {
			return []any{w.matrix("x", 4, 4), w.matrix("cos", 2, 1), w.matrix("sin", 2, 1), ids(w), 2}
		},
		"fused.Reinforce": func(w *world) []any {
			return []any{
				w.matrix("logits", 4, 3), ids(w), w.matrix("returns", 4, 1), w.matrix("baseline", 4, 1),
				w.matrix("weights", 4, 1),
			}
		},
		"fused.PPOClip": func(w *world) []any {
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
