package fused

import (
	"math"
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/graph/internal/graphtest"
	"github.com/pedestrian-ml/pedestrian/graph/internal/ops"
)

// Every operand of every operation has a shape that is an error: the error names both sizes, and there is no panic.
func TestRefusals(t *testing.T) {
	x := func(s graph.Scope, shape ...int) graph.Expr { return s.Value("x", graph.Normal(1), shape...) }
	y := func(s graph.Scope, shape ...int) graph.Expr { return s.Value("y", graph.Normal(1), shape...) }
	z := func(s graph.Scope, shape ...int) graph.Expr { return s.Value("z", graph.Normal(1), shape...) }
	at := func(s graph.Scope, n int) graph.Expr { return s.Ints("at", n, 3, -1) }
	h := AttentionShape{Batch: 2, Context: 3, Heads: 4, QK: 5, V: 6} // packed (6, 64)
	c := CrossShape{Batch: 2, Queries: 3, Keys: 5, Heads: 4, QK: 7, V: 6}
	l := LatentShape{Batch: 2, Context: 3, Heads: 4, QK: 5, V: 6, Latent: 7, Rotary: 1}
	linear := LinearShape{h, true, EluPlusOne()}
	states := RecurrenceShape{Batch: 2, Context: 3, Heads: 2, QK: 2, V: 3, Delta: true}
	in := func(groups int) AttentionShape { h := h; h.Groups = groups; return h }
	latent := func(q, kv, upK, upV, mask []int) func(graph.Scope) {
		return func(s graph.Scope) {
			CachedLatentAttention(
				x(s, q...), y(s, kv...), z(s, upK...), s.Value("v", graph.Normal(1), upV...),
				s.Value("m", graph.Normal(1), mask...), at(s, 1), NewLatentCache(l),
			)
		}
	}
	q, kv, upK, upV, mask := []int{2, 24}, []int{2, 8}, []int{7, 20}, []int{7, 24}, []int{3, 3}
	reinforce := func(classes, returns, baseline, weights int) func(graph.Scope) {
		return func(s graph.Scope) {
			Reinforce(
				x(s, 3, 4), s.Ints("a", 3, classes, -1), y(s, returns, 1), z(s, baseline, 1),
				s.Value("w", graph.Normal(1), weights, 1),
			)
		}
	}
	expert := func(s graph.Scope, in, f, out int) ExpertWeights {
		w := []ExpertMatrix{{W: s.Value("w", graph.Normal(1), in, f)}}
		down := []ExpertMatrix{{W: s.Value("d", graph.Normal(1), f, out)}}
		return ExpertWeights{Gate: w, Up: w, Down: down}
	}
	adapted := func(s graph.Scope, rows, r, cols int) ExpertWeights {
		w := expert(s, 4, 3, 4)
		w.Down[0].A, w.Down[0].B = s.Value("a", graph.Normal(1), rows, r), s.Value("b", graph.Normal(1), r, cols)
		return w
	}
	pairs := func(rows, cols int, mask ...int) func(graph.Scope) {
		return func(s graph.Scope) { CachedPairAttention(x(s, rows, cols), y(s, mask...), at(s, 1), NewPairCache(h)) }
	}
	rotate := func(limit, groups int, shape ...int) func(graph.Scope) {
		return func(s graph.Scope) {
			Rotate(x(s, shape...), y(s, 7, 2), z(s, 7, 2), s.Ints("positions", 5, limit, -1), groups)
		}
	}
	for name, tc := range map[string]struct {
		build func(s graph.Scope)
		want  string // empty: no error
	}{
		"attention": {func(s graph.Scope) { Attention(x(s, 6, 64), y(s, 3, 3), h, 0) }, ""},
		"attention of other rows": {
			func(s graph.Scope) { Attention(x(s, 5, 64), y(s, 3, 3), h, 0) }, "(5, 64) is not (6, 64)",
		},
		"attention of other columns": {
			func(s graph.Scope) { Attention(x(s, 6, 63), y(s, 3, 3), h, 0) }, "(6, 63) is not (6, 64)",
		},
		"attention of a batch": {
			func(s graph.Scope) { Attention(x(s, 6, 64, 2), y(s, 3, 3), h, 0) }, "(6, 64, 2) is not (6, 64)",
		},
		"attention in groups":         {func(s graph.Scope) { Attention(x(s, 6, 42), y(s, 3, 3), in(2), 0) }, ""},
		"attention in as many groups": {func(s graph.Scope) { Attention(x(s, 6, 64), y(s, 3, 3), in(4), 0) }, ""},
		"groups of more columns": {
			func(s graph.Scope) { Attention(x(s, 6, 64), y(s, 3, 3), in(2), 0) }, "(6, 64) is not (6, 42)",
		},
		"groups that do not divide": {
			func(s graph.Scope) { Attention(x(s, 6, 53), y(s, 3, 3), in(3), 0) }, "3 groups, want a divisor of 4 heads",
		},
		"more groups than heads": {
			func(s graph.Scope) {
				Attention(x(s, 6, 108), y(s, 3, 3), in(8), 0)
			}, "8 groups, want a divisor of 4 heads",
		},
		"attention of no heads": {func(s graph.Scope) {
			Attention(x(s, 6, 64), y(s, 3, 3), AttentionShape{Batch: 2, Context: 3, QK: 5, V: 6}, 0)
		}, "0 groups, want a divisor of 0 heads"},
		"fewer groups than none": {
			func(s graph.Scope) {
				Attention(x(s, 6, 64), y(s, 3, 3), in(-1), 0)
			}, "-1 groups, want a divisor of 4 heads",
		},
		"linear attention in groups": {func(s graph.Scope) {
			LinearAttention(
				x(s, 6, 42), y(s, 3, 3), LinearShape{in(2), true, EluPlusOne()},
			)
		}, "2 groups, want 4: in linear attention"},
		"sums of groups": {func(s graph.Scope) {
			CachedLinearAttention(x(s, 2, 42), at(s, 1), NewLinearCache(LinearShape{in(2), true, EluPlusOne()}))
		}, "2 groups, want 4: in linear attention"},
		"cached, in other groups": {func(s graph.Scope) {
			CachedAttention(
				x(s, 2, 42), y(s, 3, 3), at(s, 1), NewKVCache(in(1)),
			)
		}, "(2, 42) is not (2, 31)"},
		"cached, groups do not divide": {
			func(s graph.Scope) { CachedAttention(x(s, 2, 53), y(s, 3, 3), at(s, 1), NewKVCache(in(3))) },
			"3 groups, want a divisor of 4 heads",
		},
		"a number for a mask": {
			func(s graph.Scope) { Attention(x(s, 6, 64), y(s, 3, 3).SumAll(), h, 0) }, "got a mask (), want (3, 3)",
		},
		"a batch and rows": {func(s graph.Scope) {
			x(s, 2, 3, 4).Sub(y(s, 3, 5))
		}, "shapes differ and do not broadcast"},
		"cross attention": {func(s graph.Scope) { CrossAttention(x(s, 6, 28), y(s, 10, 52), z(s, 3, 5), c, 0) }, ""},
		"queries of other rows": {
			func(s graph.Scope) {
				CrossAttention(x(s, 5, 28), y(s, 10, 52), z(s, 3, 5), c, 0)
			}, "(5, 28) is not (6, 28)",
		},
		"queries of other columns": {
			func(s graph.Scope) {
				CrossAttention(x(s, 6, 27), y(s, 10, 52), z(s, 3, 5), c, 0)
			}, "(6, 27) is not (6, 28)",
		},
		"queries of a batch": {
			func(s graph.Scope) { CrossAttention(x(s, 6, 28, 2), y(s, 10, 52), z(s, 3, 5), c, 0) },
			"(6, 28, 2) is not (6, 28)",
		},
		"keys of other rows": {
			func(s graph.Scope) {
				CrossAttention(x(s, 6, 28), y(s, 9, 52), z(s, 3, 5), c, 0)
			}, "(9, 52) is not (10, 52)",
		},
		"keys of other columns": {
			func(s graph.Scope) {
				CrossAttention(x(s, 6, 28), y(s, 10, 51), z(s, 3, 5), c, 0)
			}, "(10, 51) is not (10, 52)",
		},
		"keys of a batch": {
			func(s graph.Scope) { CrossAttention(x(s, 6, 28), y(s, 10, 52, 2), z(s, 3, 5), c, 0) },
			"(10, 52, 2) is not (10, 52)",
		},
		"linear attention":           {func(s graph.Scope) { LinearAttention(x(s, 6, 64), y(s, 2, 3, 3), linear) }, ""},
		"linear attention, one mask": {func(s graph.Scope) { LinearAttention(x(s, 6, 64), y(s, 3, 3), linear) }, ""},
		"linear attention, half a mask": {
			func(s graph.Scope) {
				LinearAttention(x(s, 6, 64), y(s, 3, 1), linear)
			}, "got a mask of 3 entries, want 9 or 18",
		},
		"linear attention, two numbers": {
			func(s graph.Scope) {
				LinearAttention(x(s, 6, 64), y(s, 1, 2), linear)
			}, "got a mask of 2 entries, want 9 or 18",
		},
		"sinks of other heads": {func(s graph.Scope) {
			SinkAttention(
				x(s, 6, 64), y(s, 3, 3), s.Value("b", graph.Const(0), 3), h, 0,
			)
		}, "3 sinks, want 4, one of each head"},
		"cached, sinks of other heads": {func(s graph.Scope) {
			CachedSinkAttention(x(s, 2, 64), y(s, 3, 3), s.Value("b", graph.Const(0), 5), at(s, 1), NewKVCache(h))
		}, "5 sinks, want 4"},
		"gates of other heads": {
			func(s graph.Scope) { ForgettingAttention(x(s, 6, 64), z(s, 6, 3), y(s, 3, 3), h, 0) },
			"got gates (6, 3), want (6, 4)",
		},
		"cached, gates of other tokens": {func(s graph.Scope) {
			CachedForgettingAttention(x(s, 2, 64), z(s, 4, 4), y(s, 3, 3), at(s, 1), NewForgettingCache(h))
		}, "got gates (4, 4), want (2, 4)"},
		"cached, gates without room": {func(s graph.Scope) {
			CachedForgettingAttention(x(s, 2, 64), z(s, 2, 4), y(s, 3, 3), at(s, 1), NewKVCache(h))
		}, "want one of NewForgettingCache"},
		"cached, no gates": {func(s graph.Scope) {
			CachedAttention(
				x(s, 2, 64), y(s, 3, 3), at(s, 1), NewForgettingCache(h),
			)
		}, "want one of NewKVCache"},
		"cached, without a cache": {
			func(s graph.Scope) { CachedAttention(x(s, 2, 64), y(s, 3, 3), at(s, 1), nil) }, "no cache",
		},
		"cached, of other columns": {
			func(s graph.Scope) { CachedAttention(x(s, 2, 63), y(s, 3, 3), at(s, 1), NewKVCache(h)) },
			"(2, 63) is not (2, 64)",
		},
		"cached, another mask": {
			func(s graph.Scope) { CachedAttention(x(s, 2, 64), y(s, 2, 3), at(s, 1), NewKVCache(h)) },
			"got a mask (2, 3), want (3, 3)",
		},
		"cached, a mask for each": {func(s graph.Scope) {
			CachedAttention(
				x(s, 2, 64), y(s, 2, 3, 3), at(s, 1), NewKVCache(h),
			)
		}, "want one for all, (3, 3)"},
		"cached, three positions": {
			func(s graph.Scope) { CachedAttention(x(s, 2, 64), y(s, 3, 3), at(s, 3), NewKVCache(h)) },
			"got 3 positions, want 1, or one for each of",
		},
		"sums of no cache": {func(s graph.Scope) { CachedLinearAttention(x(s, 2, 64), at(s, 1), nil) }, "no cache"},
		"sums of other columns": {
			func(s graph.Scope) { CachedLinearAttention(x(s, 2, 63), at(s, 1), NewLinearCache(linear)) },
			"(2, 63) is not (n·2, 64)",
		},
		"sums of a batch": {
			func(s graph.Scope) { CachedLinearAttention(x(s, 2, 64, 2), at(s, 1), NewLinearCache(linear)) },
			"(2, 64, 2) is not (n·2, 64)",
		},
		"latents":                        {latent(q, kv, upK, upV, mask), ""},
		"latents of other queries":       {latent([]int{2, 23}, kv, upK, upV, mask), "queries: (2, 23), want (2, 24)"},
		"latents of other columns":       {latent(q, []int{2, 7}, upK, upV, mask), "latents: (2, 7), want (2, 8)"},
		"latents of other rows":          {latent(q, []int{4, 8}, upK, upV, mask), "latents: (4, 8), want (2, 8)"},
		"latents, another way to keys":   {latent(q, kv, []int{7, 19}, upV, mask), "(7, 19), want (7, 20)"},
		"latents, another way to values": {latent(q, kv, upK, []int{6, 24}, mask), "(6, 24), want (7, 24)"},
		"latents, another mask":          {latent(q, kv, upK, upV, []int{3, 2}), "a mask (3, 2)"},
		"latents of no cache": {
			func(s graph.Scope) { v := x(s, 2, 2); CachedLatentAttention(v, v, v, v, v, at(s, 1), nil) }, "no cache",
		},
		"pairs": {pairs(2, 128, 1, 4, 3, 6), ""},
		"pairs of other columns": {
			pairs(2, 64, 1, 4, 3, 6), "(2, 64) is not (n·2, 128), two packed projections of up to 3 tokens",
		},
		"pairs of half a sequence":     {pairs(3, 128, 1, 4, 3, 6), "(3, 128) is not (n·2, 128)"},
		"pairs beyond the context":     {pairs(8, 128, 1, 4, 3, 6), "up to 3 tokens"},
		"pairs, a mask for each":       {pairs(2, 128, 2, 4, 3, 6), "a mask (2, 4, 3, 6), want (1, 4, 3, 6)"},
		"pairs, a mask of single keys": {pairs(2, 128, 1, 4, 3, 3), "a mask (1, 4, 3, 3), want (1, 4, 3, 6)"},
		"pairs of no cache": {
			func(s graph.Scope) { v := x(s, 2, 2); CachedPairAttention(v, v, at(s, 1), nil) }, "no cache",
		},
		"pairs, three positions": {
			func(s graph.Scope) { CachedPairAttention(x(s, 2, 128), y(s, 1, 4, 3, 6), at(s, 3), NewPairCache(h)) },
			"got 3 positions, want 1, or one for each of",
		},
		"gates of one expert": {func(s graph.Scope) {
			Gates(x(s, 6, 1), graph.Expr{}, Router{Experts: 1, Active: 1})
		}, ""},
		"gates of other experts": {
			func(s graph.Scope) { Gates(x(s, 6, 4), graph.Expr{}, Router{Experts: 5, Active: 1}) },
			"got (6, 4), want a column for each of 5 experts",
		},
		"gates of too many experts": {func(s graph.Scope) {
			Gates(
				x(s, 6, 4), graph.Expr{}, Router{Experts: 4, Active: 5},
			)
		}, "got 5 of 4 experts"},
		"gates of no expert": {func(s graph.Scope) {
			Gates(x(s, 6, 4), graph.Expr{}, Router{Experts: 4})
		}, "got 0 of 4 experts"},
		"switch loss": {func(s graph.Scope) {
			SwitchLoss(x(s, 6, 4), y(s, 6, 4), Router{Experts: 4, Active: 1})
		}, ""},
		"switch loss of other gates": {
			func(s graph.Scope) { SwitchLoss(x(s, 6, 4), y(s, 6, 3), Router{Experts: 4, Active: 1}) },
			"got gates (6, 3), want the shape of the logits, (6, 4)",
		},
		"experts": {func(s graph.Scope) { MixExperts(x(s, 6, 4), y(s, 6, 1), expert(s, 4, 3, 4), 1) }, ""},
		"experts without gates": {
			func(s graph.Scope) { MixExperts(x(s, 6, 4), y(s, 6, 2), expert(s, 4, 3, 4), 1) },
			"gates (6, 2) and 1, 1 and 1 matrices",
		},
		"experts of gates of others": {func(s graph.Scope) {
			MixExperts(
				x(s, 6, 4), y(s, 5, 1), expert(s, 4, 3, 4), 1,
			)
		}, "gates (5, 1)"},
		"experts of other features": {
			func(s graph.Scope) { MixExperts(x(s, 6, 4), y(s, 6, 1), expert(s, 5, 3, 4), 1) },
			"expert 0: got (5, 3), (5, 3) and (3, 4), want (4, 3), (4, 3) and (3, 4)",
		},
		"more active experts than all": {func(s graph.Scope) {
			MixExperts(
				x(s, 6, 4), y(s, 6, 1), expert(s, 4, 3, 4), 2,
			)
		}, "got 2 of 1 experts"},
		"experts with an adapter": {func(s graph.Scope) {
			MixExperts(x(s, 6, 4), y(s, 6, 1), adapted(s, 3, 2, 4), 1)
		}, ""},
		"experts with a wide adapter": {
			func(s graph.Scope) { MixExperts(x(s, 6, 4), y(s, 6, 1), adapted(s, 3, 2, 5), 1) },
			"expert 0: got an adapter (3, 2) and (2, 5) of (3, 4)",
		},
		"experts with a long adapter": {
			func(s graph.Scope) { MixExperts(x(s, 6, 4), y(s, 6, 1), adapted(s, 4, 2, 4), 1) },
			"expert 0: got an adapter (4, 2) and (2, 4) of (3, 4)",
		},
		"experts with half an adapter": {func(s graph.Scope) {
			w := adapted(s, 3, 2, 4)
			w.Down[0].B = graph.Expr{}
			MixExperts(x(s, 6, 4), y(s, 6, 1), w, 1)
		}, "an operand is empty"},
		"no experts": {func(s graph.Scope) {
			MixExperts(x(s, 6, 4), y(s, 6, 1), ExpertWeights{}, 1)
		}, "got 1 of 0 experts"},
		"a gate": {func(s graph.Scope) { SwiGLU(x(s, 6, 4), y(s, 6, 4)) }, ""},
		"a gate of other columns": {
			func(s graph.Scope) {
				SwiGLU(x(s, 6, 4), y(s, 6, 5))
			}, "up: got shape (6, 5), want the gate's, (6, 4)",
		},
		"a gate of other rows": {
			func(s graph.Scope) {
				SwiGLU(x(s, 6, 4), y(s, 1, 4))
			}, "up: got shape (1, 4), want the gate's, (6, 4)",
		},
		"a norm by other gains": {func(s graph.Scope) { RMSNorm(x(s, 6, 4), y(s, 5), 0.1) }, "5 gains for 4 features"},
		"a norm with less than no ε": {
			func(s graph.Scope) { RMSNorm(x(s, 6, 4), y(s, 4), -1) }, "eps: got -1, want at least 0",
		},
		"norms of groups": {func(s graph.Scope) { QKNorm(x(s, 6, 13), y(s, 3), z(s, 2), 2, 3, 0.1) }, ""},
		"norms of more groups": {func(s graph.Scope) { QKNorm(x(s, 6, 13), y(s, 3), z(s, 2), 2, 4, 0.1) },
			"(6, 13) does not begin with 2 groups of 3 columns and 4 of 2"},
		"norms of no group": {
			func(s graph.Scope) { QKNorm(x(s, 6, 13), y(s, 3), z(s, 2), 0, 3, 0.1) }, "does not begin with 0 groups",
		},
		"norms of no key": {func(s graph.Scope) { QKNorm(x(s, 6, 13), y(s, 3), z(s, 2), 2, 0, 0.1) }, "and 0 of 2"},
		"norms with less than no ε": {
			func(s graph.Scope) { QKNorm(x(s, 6, 13), y(s, 3), z(s, 2), 2, 3, -1) }, "eps: got -1, want at least 0",
		},
		"elman":                 {func(s graph.Scope) { Elman(x(s, 6, 4), y(s, 4, 4), 2) }, ""},
		"elman of one sequence": {func(s graph.Scope) { Elman(x(s, 6, 4), y(s, 4, 4), 1) }, ""},
		"elman of other rows": {
			func(s graph.Scope) { Elman(x(s, 6, 4), y(s, 3, 4), 2) }, "got a recurrent weight (3, 4), want (4, 4)",
		},
		"elman of other columns": {
			func(s graph.Scope) { Elman(x(s, 6, 4), y(s, 4, 3), 2) }, "got a recurrent weight (4, 3), want (4, 4)",
		},
		"elman of unequal sequences": {
			func(s graph.Scope) { Elman(x(s, 6, 4), y(s, 4, 4), 5) },
			"got 6 tokens, want the same number for each of 5 sequences",
		},
		"elman of no sequences": {
			func(s graph.Scope) { Elman(x(s, 6, 4), y(s, 4, 4), 0) },
			"got 6 tokens, want the same number for each of 0 sequences",
		},
		"elman of fewer than none": {func(s graph.Scope) {
			Elman(x(s, 6, 4), y(s, 4, 4), -1)
		}, "for each of -1 sequences"},
		"mix columns": {func(s graph.Scope) {
			MixColumns(
				x(s, 6, 4), y(s, 6, 3), s.Value("l", graph.Normal(1), 2),
			)
		}, ""},
		"mix other rows": {
			func(s graph.Scope) { MixColumns(x(s, 6, 4), y(s, 5, 3), s.Value("l", graph.Normal(1), 2)) },
			"got (6, 4) and (5, 3), want at most as many columns of the same rows",
		},
		"mix all columns": {func(s graph.Scope) {
			MixColumns(x(s, 6, 4), y(s, 6, 4), s.Value("l", graph.Normal(1), 1))
		}, ""},
		"mix more columns": {
			func(s graph.Scope) { MixColumns(x(s, 6, 4), y(s, 6, 5), s.Value("l", graph.Normal(1), 2)) },
			"got (6, 4) and (6, 5), want at most as many columns",
		},
		"matmul each": {func(s graph.Scope) { MatMulEach(x(s, 6, 4), y(s, 6, 10), 2) }, ""},
		"matmul each of other rows": {
			func(s graph.Scope) { MatMulEach(x(s, 6, 4), y(s, 5, 10), 2) },
			"got (6, 4) and (5, 10), want rows of matrices (t, 2) and (2, d)",
		},
		"matmul each of odd columns": {
			func(s graph.Scope) { MatMulEach(x(s, 6, 4), y(s, 6, 9), 2) },
			"got (6, 4) and (6, 9), want rows of matrices (t, 2) and (2, d)",
		},
		"matmul each of odd factors": {
			func(s graph.Scope) { MatMulEach(x(s, 6, 5), y(s, 6, 10), 2) }, "got (6, 5) and (6, 10)",
		},
		"matmul each of nothing": {
			func(s graph.Scope) { MatMulEach(x(s, 6, 4), y(s, 6, 10), 0) }, "want rows of matrices (t, 0) and (0, d)",
		},
		"sinkhorn": {func(s graph.Scope) { Sinkhorn(x(s, 6, 4), 1, 1e-6) }, ""},
		"sinkhorn of batches": {
			func(s graph.Scope) { Sinkhorn(x(s, 6, 2, 2), 1, 0) }, "got (6, 2, 2), want a matrix in every row",
		},
		"sinkhorn of three columns": {
			func(s graph.Scope) { Sinkhorn(x(s, 6, 6), 1, 0) },
			"got (6, 6), want a matrix of as many rows as columns in every row",
		},
		"sinkhorn without steps": {
			func(s graph.Scope) { Sinkhorn(x(s, 6, 4), 0, 0) }, "got 0 pairs of divisions, want 1 to 1000",
		},
		"sinkhorn of many steps": {
			func(s graph.Scope) { Sinkhorn(x(s, 6, 4), 1001, 0) }, "got 1001 pairs of divisions, want 1 to 1000",
		},
		"sinkhorn with ε < 0": {func(s graph.Scope) { Sinkhorn(x(s, 6, 4), 1, -1) }, "got ε = -1, want more than 0"},
		"sinkhorn with ε NaN": {func(s graph.Scope) {
			Sinkhorn(x(s, 6, 4), 1, math.NaN())
		}, "got ε = NaN, want more than 0"},
		"mix by three": {
			func(s graph.Scope) { MixColumns(x(s, 6, 4), y(s, 6, 3), s.Value("l", graph.Normal(1), 3)) },
			"got factors (1, 3), want 1 or 2",
		},
		"recurrence": {func(s graph.Scope) {
			Recurrence(x(s, 6, 14), y(s, 6, 2), z(s, 6, 2), graph.Expr{}, states)
		}, ""},
		"recurrence with gates of features": {func(s graph.Scope) {
			Recurrence(
				x(s, 6, 14), y(s, 6, 4), graph.Expr{}, graph.Expr{}, states,
			)
		}, ""},
		"recurrence with constant gates": {func(s graph.Scope) {
			Recurrence(
				x(s, 6, 14), y(s, 1, 4), graph.Expr{}, graph.Expr{}, states,
			)
		}, ""},
		"recurrence of other columns": {
			func(s graph.Scope) { Recurrence(x(s, 6, 13), graph.Expr{}, graph.Expr{}, graph.Expr{}, states) },
			"(6, 13) is not (6, 14), the packed projections",
		},
		"recurrence of other rows": {
			func(s graph.Scope) { Recurrence(x(s, 5, 14), graph.Expr{}, graph.Expr{}, graph.Expr{}, states) },
			"(5, 14) is not (6, 14), the packed projections",
		},
		"recurrence with other gates": {
			func(s graph.Scope) { Recurrence(x(s, 6, 14), y(s, 6, 3), graph.Expr{}, graph.Expr{}, states) },
			"got gates (6, 3), want (6 or 1, 2 or 4)",
		},
		"recurrence with other β": {
			func(s graph.Scope) {
				Recurrence(x(s, 6, 14), graph.Expr{}, y(s, 6, 4), graph.Expr{}, states)
			}, "got β (6, 4), want (6, 2)",
		},
		"norms of a recurrence of other rows": {
			func(s graph.Scope) { RecurrenceNorms(x(s, 5, 14), graph.Expr{}, graph.Expr{}, graph.Expr{}, states) },
			"(5, 14) is not (6, 14), the packed projections",
		},
		"recurrence from other states": {
			func(s graph.Scope) { Recurrence(x(s, 6, 14), graph.Expr{}, graph.Expr{}, y(s, 2, 13), states) },
			"got states (2, 13), want (",
		},
		"time decay of other rates": {func(s graph.Scope) {
			TimeDecay(x(s, 6, 3), y(s, 1, 2))
		}, "got 2 rates for (6, 3)"},
		"scan": {func(s graph.Scope) {
			Scan(x(s, 6, 4), y(s, 6, 4), ScanShape{2, 3, 4, true})
		}, ""},
		"scan of other gates": {
			func(s graph.Scope) { Scan(x(s, 6, 4), y(s, 6, 3), ScanShape{2, 3, 4, false}) },
			"got (6, 4) and (6, 3), want two of (n·2, 4)",
		},
		"scan of parts of sequences": {func(s graph.Scope) {
			Scan(
				x(s, 6, 4), y(s, 6, 4), ScanShape{4, 3, 4, false},
			)
		}, "want two of (n·4, 4)"},
		"scan of other tokens": {
			func(s graph.Scope) { Scan(x(s, 6, 4), y(s, 6, 4), ScanShape{2, 4, 4, false}) },
			"got 3 tokens of each sequence, want 4",
		},
		"scan of no sequences": {func(s graph.Scope) {
			Scan(
				x(s, 6, 4), y(s, 6, 4), ScanShape{0, 3, 4, false},
			)
		}, "want two of (n·0, 4)"},
		"cached scan of no cache": {
			func(s graph.Scope) { CachedScan(x(s, 2, 4), y(s, 2, 4), at(s, 1), nil) }, "no cache to continue from",
		},
		"cached scan of other features": {func(s graph.Scope) {
			CachedScan(
				x(s, 2, 4), y(s, 2, 4), at(s, 1), NewScanCache(ScanShape{2, 1, 3, false}),
			)
		}, "want two of (n·2, 3)"},
		"add scaled of other columns": {
			func(s graph.Scope) { AddScaled(x(s, 2, 4), y(s, 2, 3), z(s, 1, 2)) }, "got (2, 4), (2, 3) and 2 factors",
		},
		"add scaled by other factors": {
			func(s graph.Scope) { AddScaled(x(s, 2, 4), y(s, 2, 4), z(s, 1, 3)) }, "got (2, 4), (2, 4) and 3 factors",
		},
		"lru decay of other numbers": {
			func(s graph.Scope) { LRUDecay(x(s, 2, 4), y(s, 1, 3), 8) }, "got 3 numbers Λ for (2, 4)",
		},
		"lru decay of power 0": {
			func(s graph.Scope) { LRUDecay(x(s, 2, 4), y(s, 1, 4), 0) }, "power: got 0, want a positive number",
		},
		"lru input of other gates": {
			func(s graph.Scope) { LRUInput(x(s, 2, 4), y(s, 2, 3)) }, "got (2, 4) and (2, 3), want the same shape",
		},
		"cached recurrence of no cache": {
			func(s graph.Scope) {
				CachedRecurrence(x(s, 2, 14), graph.Expr{}, graph.Expr{}, at(s, 1), nil)
			}, "no cache to continue from",
		},
		"cached recurrence, three tokens": {func(s graph.Scope) {
			CachedRecurrence(
				x(s, 3, 14), graph.Expr{}, graph.Expr{}, at(s, 1), NewRecurrenceCache(states),
			)
		}, "(3, 14) is not (n·2, 14)"},
		"cached recurrence, three positions": {func(s graph.Scope) {
			CachedRecurrence(
				x(s, 2, 14), graph.Expr{}, graph.Expr{}, at(s, 3), NewRecurrenceCache(states),
			)
		}, "got 3 positions, want 1, or one for each of"},
		"convolve": {func(s graph.Scope) { Convolve(x(s, 6, 4), s.Value("w", graph.Normal(1), 12), 3) }, ""},
		"convolve by part of the weights": {
			func(s graph.Scope) { Convolve(x(s, 6, 4), s.Value("w", graph.Normal(1), 10), 3) },
			"got weights (1, 10), want a multiple of the 4 features",
		},
		"convolve by a matrix": {
			func(s graph.Scope) { Convolve(x(s, 6, 4), y(s, 3, 4), 3) }, "got weights (3, 4), want a multiple",
		},
		"convolve part of a sequence": {
			func(s graph.Scope) { Convolve(x(s, 6, 4), s.Value("w", graph.Normal(1), 4), 4) },
			"got 6 tokens, want entire sequences of 4",
		},
		"convolve no tokens": {
			func(s graph.Scope) { Convolve(x(s, 6, 4), s.Value("w", graph.Normal(1), 4), 0) },
			"got 6 tokens, want entire sequences of 0",
		},
		"cached convolve of no cache": {func(s graph.Scope) {
			CachedConvolve(
				x(s, 2, 4), s.Value("w", graph.Normal(1), 8), at(s, 1), nil,
			)
		}, "no cache"},
		"cached convolve, another width": {func(s graph.Scope) {
			CachedConvolve(
				x(s, 2, 4), s.Value("w", graph.Normal(1), 8), at(s, 1), NewConvCache(2, 4, 3),
			)
		}, "2 weights of 4 features, the cache has 3 of 4"},
		"cached convolve, other weights": {func(s graph.Scope) {
			CachedConvolve(
				x(s, 2, 4), s.Value("w", graph.Normal(1), 7), at(s, 1), NewConvCache(2, 4, 2),
			)
		}, "got weights (1, 7)"},
		"cached convolve, three tokens": {func(s graph.Scope) {
			CachedConvolve(
				x(s, 3, 4), s.Value("w", graph.Normal(1), 8), at(s, 1), NewConvCache(2, 4, 2),
			)
		}, "got 3 tokens, want the same number for each of 2 sequences"},
		"cached convolve, three positions": {func(s graph.Scope) {
			CachedConvolve(
				x(s, 2, 4), s.Value("w", graph.Normal(1), 8), at(s, 3), NewConvCache(2, 4, 2),
			)
		}, "got 3 positions, want 1, or one for each of"},
		"cached elman of no cache": {func(s graph.Scope) {
			CachedElman(x(s, 2, 4), y(s, 4, 4), at(s, 1), nil)
		}, "no cache"},
		"cached elman, another weight": {func(s graph.Scope) {
			CachedElman(
				x(s, 2, 4), y(s, 4, 3), at(s, 1), NewElmanCache(2, 4),
			)
		}, "a recurrent weight (4, 3)"},
		"cached elman, another width": {func(s graph.Scope) {
			CachedElman(
				x(s, 2, 4), y(s, 4, 4), at(s, 1), NewElmanCache(2, 5),
			)
		}, "4 features, the cache has 5"},
		"cached elman, three positions": {
			func(s graph.Scope) { CachedElman(x(s, 2, 4), y(s, 4, 4), at(s, 3), NewElmanCache(2, 4)) },
			"got 3 positions, want 1, or one for each of",
		},
		"columns of a batch":      {func(s graph.Scope) { GatherCols(x(s, 2, 3, 4), []int{0}) }, "want a matrix"},
		"column before the first": {func(s graph.Scope) { GatherCols(x(s, 2, 3), []int{-2}) }, "column -2 of 3"},
		"all columns, and none":   {func(s graph.Scope) { GatherCols(x(s, 2, 3), []int{-1, 0, 2}) }, ""},
		"positions of other rows": {func(s graph.Scope) {
			AddPositions(
				x(s, 4, 6), y(s, 5, 6), s.Ints("i", 3, 5, -1), 1,
			)
		}, "(4, 6) is not (3, 6)"},
		"positions of a batch": {func(s graph.Scope) {
			AddPositions(
				x(s, 4, 6, 2), y(s, 5, 6), s.Ints("i", 4, 5, -1), 1,
			)
		}, "(4, 6, 2) is not (4, 6)"},
		"rotation":                   {rotate(7, 2, 5, 8), ""},
		"rotation of one group":      {rotate(7, 1, 5, 4), ""},
		"rotation of more positions": {rotate(8, 2, 5, 8), "ids up to 7 for 7 positions"},
		"rotation of other rows":     {rotate(7, 2, 4, 8), "(4, 8) is not (5, 8 or more)"},
		"rotation of fewer columns":  {rotate(7, 2, 5, 7), "(5, 7) is not (5, 8 or more)"},
		"rotation of no group":       {rotate(7, 0, 5, 8), "0 groups"},
		"rotation of a batch":        {rotate(7, 2, 5, 8, 2), "(5, 8, 2) is not (5, 8 or more)"},
		"mixture":                    {func(s graph.Scope) { MixTokens(x(s, 5, 3), y(s, 6, 4)) }, ""},
		"mixture of other tokens": {
			func(s graph.Scope) { MixTokens(x(s, 5, 3), y(s, 7, 4)) }, "(5, 3) mixes 3 tokens, (7, 4)",
		},
		"mixtures of a batch": {func(s graph.Scope) {
			MixTokens(x(s, 5, 3, 2), y(s, 6, 4))
		}, "(5, 3, 2) mixes 3 tokens"},
		"mixture of a batch": {func(s graph.Scope) { MixTokens(x(s, 5, 3), y(s, 6, 4, 2)) }, "(6, 4, 2) is not"},
		"a loss of fewer numbers": {
			func(s graph.Scope) { SquaredError(x(s, 4, 1), y(s, 3, 1), z(s, 4, 1)) }, "got 3 numbers, want 4",
		},
		"a loss of fewer weights": {
			func(s graph.Scope) { SquaredError(x(s, 4, 1), y(s, 4, 1), z(s, 3, 1)) }, "got 3 numbers, want 4",
		},
		"a loss of other logits": {
			func(s graph.Scope) { BinaryCrossEntropy(x(s, 4, 1), y(s, 1, 4)) }, "(4, 1) logits for (1, 4) targets",
		},
		"means":                 {func(s graph.Scope) { MeanTokens(x(s, 6, 4), 3) }, ""},
		"means of one sequence": {func(s graph.Scope) { MeanTokens(x(s, 6, 4), 1) }, ""},
		"means of other sequences": {
			func(s graph.Scope) { MeanTokens(x(s, 6, 4), 4) },
			"got (6, 4), want the same number of tokens for each of 4 sequences",
		},
		"means of no sequence": {
			func(s graph.Scope) { MeanTokens(x(s, 6, 4), 0) },
			"got (6, 4), want the same number of tokens for each of 0 sequences",
		},
		"means of a batch": {
			func(s graph.Scope) { MeanTokens(x(s, 6, 4, 2), 3) },
			"got (6, 4, 2), want the same number of tokens for each of 3 sequences",
		},
		"one token of each": {func(s graph.Scope) { GatherTokens(x(s, 6, 4), s.Ints("i", 3, 2, -1)) }, ""},
		"one token of other sequences": {
			func(s graph.Scope) { GatherTokens(x(s, 6, 4), s.Ints("i", 4, 1, -1)) },
			"got (6, 4), want the same number of tokens for each of 4 sequences",
		},
		"one of more tokens": {
			func(s graph.Scope) { GatherTokens(x(s, 6, 4), s.Ints("i", 3, 3, -1)) }, "ids up to 2 for 2 tokens",
		},
		"one token at no place": {
			func(s graph.Scope) { GatherTokens(x(s, 6, 4), y(s, 3, 1)) }, "want integers declared by Ints",
		},
		"largest of a batch": {func(s graph.Scope) { x(s, 2, 3, 4).ArgMax() }, "got 3 axes, want the 2 of a matrix"},
		"rows at no ids":     {func(s graph.Scope) { x(s, 2, 3).Gather(y(s, 1, 2)) }, "want integers declared by Ints"},
		"log probabilities of other ids": {
			func(s graph.Scope) { LogProbs(x(s, 3, 4), s.Ints("i", 2, 4, -1)) }, "3 rows of logits for 2 ids",
		},
		"log probabilities of more ids": {
			func(s graph.Scope) { LogProbs(x(s, 3, 4), s.Ints("i", 3, 5, -1)) }, "ids up to 4 for 4 classes",
		},
		"log probabilities of no ids": {
			func(s graph.Scope) { LogProbs(x(s, 3, 4), y(s, 3, 1)) }, "want integers declared by Ints",
		},
		"rollout":                     {reinforce(4, 3, 3, 3), ""},
		"rollout of more actions":     {reinforce(5, 3, 3, 3), "ids up to 4 for 4 actions"},
		"rollout of other returns":    {reinforce(4, 2, 3, 3), "2 numbers for 3 rows of logits"},
		"rollout of another baseline": {reinforce(4, 3, 4, 3), "4 numbers for 3 rows of logits"},
		"rollout of other weights":    {reinforce(4, 3, 3, 5), "5 numbers for 3 rows of logits"},
		"actions that are no integers": {
			func(s graph.Scope) {
				v := x(s, 3, 1)
				Reinforce(y(s, 3, 4), v, v, v, v)
			}, "want integers declared by Ints",
		},
		"a product of vectors in a batch": {
			func(s graph.Scope) { x(s, 2, 3, 4).MatMul(y(s, 2, 5, 4)) }, "inner sizes 4 and 5 differ",
		},
		"a product with the transpose": {
			func(s graph.Scope) { x(s, 2, 3).MatMulT(y(s, 3, 2)) }, "inner sizes 3 and 2 differ",
		},
		"a product of numbers": {
			func(s graph.Scope) { x(s, 2, 3).SumAll().MatMul(y(s, 2, 3).SumAll()) },
			"want two matrices, or two batches of the same number",
		},
		"the sum of a number": {func(s graph.Scope) { x(s, 2, 3).SumAll().Sum() }, "a scalar has no last axis"},
		"rows of another table": {func(s graph.Scope) {
			x(s, 2, 1).Gather(s.Ints("i", 1, 3, -1))
		}, "ids up to 2 for 2 rows"},
	} {
		g := graph.New(graph.Float64, 1)
		tc.build(g.Root())
		switch err := g.Err(); {
		case tc.want == "" && err != nil:
			t.Errorf("%s: %v", name, err)
		case tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)):
			t.Errorf("%s: got error %v, want %q", name, err, tc.want)
		}
	}
}

// Differentiating an operation without a derivative is an error that names it.
func TestNoDerivative(t *testing.T) {
	for name, layer := range cachedLayers {
		g := graph.New(graph.Float64, 1)
		x := g.Root().Param("x", graph.Normal(1), 2, 16)
		y, _ := layer.build(g.Root(), x, g.Root().Ints("at", 1, 5, -1))
		if _, err := graph.Compile(y.SumAll(), x); err == nil {
			t.Errorf("%s: differentiated", name)
		}
		o := y.Operand().Op().(*ops.Op)
		for i, by := range o.DiffWRT(o.Arity()) {
			if by {
				t.Errorf("%s: operand %d can be differentiated by", name, i)
			}
		}
		if _, err := o.SymDiff(nil, nil, nil); err == nil || err.Error() != o.String()+" has no derivative" {
			t.Errorf("%s: got error %v", name, err)
		}
	}
}

// An id that may be ignored as a target is an error where it selects a row, even if it is used for both.
func TestIgnoredIdsLookNothingUp(t *testing.T) {
	for name, build := range map[string]func(s graph.Scope, ids graph.Expr) (graph.Expr, bool){
		"gather": func(s graph.Scope, ids graph.Expr) (graph.Expr, bool) {
			return Gather(s.Value("x", graph.Normal(1), 4, 3), ids)
		},
		"rows": func(s graph.Scope, ids graph.Expr) (graph.Expr, bool) {
			return s.Value("x", graph.Normal(1), 4, 3).Gather(ids), true
		},
		"rows of one number": func(s graph.Scope, ids graph.Expr) (graph.Expr, bool) {
			return s.Value("x", graph.Normal(1), 4, 1).Gather(ids), true
		},
		"positions": func(s graph.Scope, ids graph.Expr) (graph.Expr, bool) {
			return AddPositions(s.Value("x", graph.Normal(1), 2, 3), s.Value("y", graph.Normal(1), 4, 3), ids, 1)
		},
		"rotation": func(s graph.Scope, ids graph.Expr) (graph.Expr, bool) {
			return Rotate(
				s.Value("x", graph.Normal(1), 2, 4), s.Value("y", graph.Normal(1), 4, 2),
				s.Value("z", graph.Normal(1), 4, 2), ids, 1,
			)
		},
		"reinforce": func(s graph.Scope, ids graph.Expr) (graph.Expr, bool) {
			v := s.Value("v", graph.Const(1), 2, 1)
			return Reinforce(s.Value("x", graph.Normal(1), 2, 4), ids, v, v, v)
		},
		"reinforce, the equation": func(s graph.Scope, ids graph.Expr) (graph.Expr, bool) {
			s.Graph().Kernels = false
			v := s.Value("v", graph.Const(1), 2, 1)
			_, ok := Reinforce(s.Value("x", graph.Normal(1), 2, 4), ids, v, v, v)
			return ids.OneHot(4), !ok
		},
	} {
		g := graph.New(graph.Float64, 1)
		ids := g.Root().Ints("ids", 2, 4, -1)
		y, ok := build(g.Root(), ids)
		if !ok {
			t.Fatalf("%s: the wrong form", name)
		}
		p := graphtest.Run(t, graphtest.Compile(t, y))
		ids.Ints()[1] = -1
		if err := p.Run(); err == nil || err.Error() != "ids[1] is -1, not in 0 … 3" {
			t.Errorf("%s: got error %v", name, err)
		}
	}
}

// For actions that are not integers, the kernel of a rollout declines, and the layer's equation returns the error.
func TestNoActions(t *testing.T) {
	g := graph.New(graph.Float64, 1)
	g.Kernels = false
	v := g.Root().Value("v", graph.Const(1), 2, 1)
	if _, ok := Reinforce(v, v, v, v, v); ok || g.Err() != nil {
		t.Errorf("got a kernel: %t, error %v", ok, g.Err())
	}
	if _, ok := GELU(graph.Expr{}); ok {
		t.Error("nothing has a kernel")
	}
}

// A one-hot row of an ignored id is 0, also in a second run, whose memory holds the ones of the first.
func TestOneHot(t *testing.T) {
	g := graph.New(graph.Float64, 1)
	ids := g.Root().Ints("ids", 3, 4, 9)
	p := graphtest.Compile(t, ids.OneHot(5))
	for _, c := range []struct {
		ids  []int
		want []float64
	}{
		{[]int{3, 0, 1}, []float64{0, 0, 0, 1, 0, 1, 0, 0, 0, 0, 0, 1, 0, 0, 0}},
		{[]int{2, 9, 1}, []float64{0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0}},
	} {
		copy(ids.Ints(), c.ids)
		graphtest.Close(t, "one-hot", graphtest.Run(t, p).Value().Floats(), c.want, 0)
	}
	if p, err := graph.Compile(ids.OneHot(5).SumAll(), ids); err == nil {
		t.Errorf("differentiated by integers: %v", p.Grad(ids))
	}
}

// The maximum of a row is found wherever it is; of −∞ alone it is −∞.
func TestRowMax(t *testing.T) {
	numbers := []float64{-3, -1, -2, -5, -7, -6, 9, 8, 10, math.Inf(-1), math.Inf(-1), math.Inf(-1)}
	g := graph.New(graph.Float64, 1)
	x := g.Root().Value("x", graph.Const(0), 4, 3)
	copy(x.Tensor().F64, numbers)
	y := x.RowMax()
	if s := y.Shape(); len(s) != 2 || s[0] != 4 || s[1] != 1 {
		t.Errorf("the shape is %v, want [4 1]", s)
	}
	got := graphtest.Values(t, y)
	for i, want := range []float64{-1, -5, 10, math.Inf(-1)} {
		if got[i] != want {
			t.Errorf("row %d: got %v, want %v", i, got[i], want)
		}
	}
}
