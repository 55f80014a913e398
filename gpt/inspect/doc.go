// Package inspect looks inside a model and changes what goes on there: every activation by name, its gradient, and
// interventions that replace it. Start with Tap, which compiles what is asked for once; Run then gives it for any
// tokens. Replace gives a model in which something else goes on in an activation's place, made of the Entries of it.
//
// The names are those of the layers whose result an activation is, as their parameters have them, and of the rows of
// the paper's Table 2, for block i of h.0 … h.L−1:
//
//	wte, position, drop                     embedded tokens, with positions, and what enters h.0     (B·T, d)
//	h.i.ln_1, h.i.ln_2, h.i.attn, h.i.mlp   what norms, attention and MLP give                       (B·T, d)
//	h.i.attn.q, .k, .v                      queries, keys and values, rotated where they are         (B, H, T, dρ or dh)
//	h.i.attn.scores                         q·kᵀ/√dρ before the mask; of linear attention sim(q, k)  (B, H, T, T)
//	h.i.attn.weights                        softmax of scores and mask                               (B, H, T, T)
//	h.i.attn.heads                          the heads' results side by side, before c_proj           (B·T, H·dh)
//	h.i.mlp.act                             the features behind the activation                       (B·T, f)
//	h.i                                     the residual stream behind the block                     (B·T, d)
//	ln_f, logits                            behind the last norm, and the model's prediction         (B·T, d or V)
//
// In a pattern "*" is any of these names between dots: "h.*" are the residual streams. Attention in kernels keeps
// neither queries nor weights: where one is asked for, that layer alone computes its equation, whose results differ in
// the last bits. A model of which nothing is asked computes what it always does.
//
// Analyses are functions made of these: LogitLens is what each block would predict, HeadScores what each head looks at,
// Ablate what is lost without a part. Attribute is what each part adds to a logit, IntegratedGradients what each entry
// adds to the loss, Patch and PatchGradient where an answer comes from. A Watch follows gradients and updates while a
// model is trained, EffectiveRank says how many directions a matrix has.
package inspect
