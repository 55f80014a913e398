// Package scaling fits a law of scaling to the losses of models of different sizes: L(N, D) = E + A·N^−α + B·D^−β for N
// parameters and D tokens. Start with Fit. [Bootstrap] adds intervals, and [Ensemble.Predict] the interval in which the
// loss of one more run must lie.
//
// # The fit
//
// The fit is approach 3 of Hoffmann et al. (2022): it minimises the Huber losses of log-residuals, with δ = 10⁻³, where
// the predicted log-loss is the logarithm of a sum of exponentials. Besiroglu et al. (2024) found that the published
// constants were not at the minimum, because the mean over the points ended the search early, and that two digits of an
// exponent are too few. Here the sum is divided by δ, the search ends at derivatives of 10⁻¹⁰, and a minimum with a
// derivative above 10⁻⁵ is an error. The coordinates of the search are standardised, so that the law does not depend on
// the units of N, D and the loss. The search is BFGS from a grid of starts, with bisection for the steps (Lewis and
// Overton 2013): with so small a δ the sum is almost one of absolute values.
//
// # The intervals
//
// The bootstrap draws residuals, not points. A study chooses its sizes and tokens, so they are not random, and the few
// points with the largest size determine α: a draw of 12 to 20 points often lacks them. Residuals assume in return that
// the relative noise of the loss is the same at every size.
//
// A fit with five numbers comes close to five of the points, so that their residuals contain too little noise. The
// bootstrap draws from all other residuals. It multiplies them by the ratio of the 97.5 % quantiles of Student's t, for
// as many degrees of freedom as there are other residuals, and of the normal distribution, because few residuals
// estimate the noise. The tests count how often the intervals contain the truth: in 92 to 99 % of the simulated studies
// of 9 to 20 points.
//
// # Sources
//
//   - J. Hoffmann et al., "Training compute-optimal large language models", arXiv 2203.15556 (2022), §3.3
//   - T. Besiroglu et al., "Chinchilla scaling: a replication attempt", arXiv 2404.10102 (2024)
//   - A. S. Lewis and M. L. Overton, "Nonsmooth optimization via quasi-Newton methods", Math. Program. 141 (2013)
//   - A. C. Davison and D. V. Hinkley, Bootstrap Methods and their Application (1997), §6.3
package scaling
