// Package inspect reads and changes the activations of a model by name: their values, their gradients, and
// interventions that replace them. Start with Tap, which compiles the requested activations once; Run then returns
// them for any tokens. Replace returns a model in which an activation is replaced with another expression; Entries
// provides such expressions.
//
// An activation has the name of the layer that computes it, as in the names of its parameters, or of a row of the
// paper's Table 2. For block i of h.0 … h.L−1:
//
//	wte, position, drop                     embedded tokens, with positions, and the input of h.0    (B·T, d)
//	h.i.ln_1, h.i.ln_2, h.i.attn, h.i.mlp   results of norms, attention and MLP                      (B·T, d)
//	h.i.attn.q, .k, .v                      queries, keys and values, after any rotation             (B, H, T, dρ or dh)
//	h.i.attn.scores                         q·kᵀ/√dρ before the mask; of linear attention sim(q, k)  (B, H, T, T)
//	h.i.attn.weights                        softmax of scores and mask                               (B, H, T, T)
//	h.i.attn.log_forget                     ln f of the gates, with attention forgetting             (B·T, H)
//	h.i.attn.decay                          ln α of a recurrence; of mingru and rglru α − 1          (B·T, H or more)
//	h.i.attn.beta                           β of a recurrence, or Δ of mamba2                        (B·T, H)
//	h.i.attn.read                           Sᵀ·q or h of a recurrence, before the norm and the gate  (B·T, H·dh)
//	h.i.attn.state_norm                     √ΣS², the norm of the state of a recurrence after a token (B·T, H)
//	h.i.attn.heads                          the heads' results side by side, before c_proj           (B·T, H·dh)
//	h.i.mlp.act                             the features after the activation                        (B·T, f)
//	h.i.skip                                with skips, the input of the block after its skip        (B·T, d)
//	h.i                                     the residual stream after the block                      (B·T, d)
//	ln_f, logits                            after the last norm, and the model's prediction          (B·T, d or V)
//
// In a pattern "*" matches any one part of a name between dots: "h.*" matches the residual streams. Attention in
// kernels stores neither queries nor weights. If one is requested, only that layer computes its equation without the
// kernel, and its results differ in the last bits. The model itself is unchanged. Nothing depends on the norms of
// states: they are computed only if they are requested, and cannot be replaced.
//
// The analyses are based on these functions. LogitLens returns what each block would predict, HeadScores which tokens
// each head attends to, and Ablate the loss without a part. Attribute returns the contribution of each part to a logit,
// IntegratedGradients the contribution of each entry to the loss, and Patch and PatchGradient the origin of an answer.
// A Watch records gradients and updates during training, and EffectiveRank measures the number of directions of a
// matrix. A Curvature multiplies by the Hessian of the loss, and finds its largest eigenvalue.
package inspect
