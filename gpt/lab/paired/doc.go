// Package paired decides which arms of a study differ from its baseline. Start with Compare, which compares an arm with
// the baseline by the differences of their measures for equal seeds. [Rule.Judge] gives the verdicts on all arms.
//
// # Which p decides
//
// A Comparison has two p-values, both two-sided. One is the p of Student's paired t (Student 1908). The other,
// SignFlip, is the p of Fisher's permutation of signs (Fisher 1935), which assumes only that arm and baseline may be
// exchanged. It is at least 2/2ⁿ for n seeds: one arm has no verdict below 6 seeds, and ten arms have none below 9,
// whatever they do. Most studies have 3 to 5 seeds, so t decides, and a verdict that SignFlip does not confirm is
// Provisional.
//
// Student's t assumes normal differences. The differences of two losses with the same distribution are symmetric, and
// closer to normal than the losses. The tests of this package count the errors of both p: for normal, uniform,
// exponential and long-tailed losses, losses with outliers, and accuracies of ten answers, at most 5 % of the studies
// without an effect have a verdict by either p, within three standard deviations. A limit of t is few seeds with
// differences that are flat themselves: a small p needs differences that lie close together, and flat ones more often
// do. If they are uniform, 12 % of the studies of ten arms and 5 seeds have a verdict.
//
// SignFlip decides where there is a Doubt about t: differences of few values, as of an arm that finds a rule with some
// seeds and not with others, and differences with a strong skew. If arm and baseline both find the rule with 4 of 5
// seeds, or if the difference is a coin, at most 5 % of the studies have a verdict.
//
// No p sees a value that no seed has taken. If the arm alone finds the rule with 4 of 5 seeds, and the baseline has the
// same mean with every seed, 40 % of the studies of 4 seeds have a verdict, 26 % of 6, 11 % of 10 and 13 % of 16; of
// ten arms, 99, 95, 69 and 24 %. Verdicts of 4 seeds are provisional. Exponential differences have one in 12, 11, 10
// and 9 %, and of ten arms in 23 to 29 % (NIGHTLY=1 go test -run TestUnlikeDifferences -v ./gpt/lab/paired). Therefore
// the Rule of an accuracy has Fewest of 6 seeds or more, and a Doubt asks for more seeds.
//
// # Many arms and early looks
//
// P is adjusted for the looks at the study, then for its arms. The boundaries are Pocock's (1977) and O'Brien and
// Fleming's (1979), for looks at any numbers of seeds. The probability of crossing one is integrated by the recursion
// of Armitage, McPherson and Rowe (1969). It holds for normal sums; each look of n seeds takes the z with the same p as
// its t of n − 1 degrees. The p of a look is adjusted to the probability that any look reaches the boundary through it
// (Jennison and Turnbull 1984), so that a boundary and the correction of Holm (1979) combine at the level of the whole
// study.
//
// The interval of a Judgement is adjusted for looks and arms: intervals of all arms at once leave out a true difference
// in about 5 % of the studies, wherever they end. The interval of a Comparison leaves it out in more. A mean is biased
// where a study ends early; Estimate removes more than half of the bias. For looks at 4, 8 and 16 seeds by Pocock and a
// difference of 0.6 deviations, the mean is 0.66 on average and the estimate 0.62. No estimate mends the studies that
// end early by chance: there the mean is 1.07 and the estimate 1.03 (NIGHTLY=1 go test -run TestEstimate -v
// ./gpt/lab/paired).
//
// # Sources
//
//   - Student, "The probable error of a mean", Biometrika 6 (1908)
//   - R. A. Fisher, The Design of Experiments (1935), §21
//   - P. Armitage, C. K. McPherson and B. C. Rowe, "Repeated significance tests on accumulating data", J. R. Stat.
//     Soc. A 132 (1969)
//   - S. J. Pocock, "Group sequential methods in the design and analysis of clinical trials", Biometrika 64 (1977)
//   - P. C. O'Brien and T. R. Fleming, "A multiple testing procedure for clinical trials", Biometrics 35 (1979)
//   - S. Holm, "A simple sequentially rejective multiple test procedure", Scand. J. Stat. 6 (1979)
//   - C. Jennison and B. W. Turnbull, "Repeated confidence intervals for group sequential clinical trials", Controlled
//     Clinical Trials 5 (1984)
//   - J. Whitehead, "On the bias of maximum likelihood estimation following a sequential test", Biometrika 73 (1986)
//   - S. K. Wang and A. A. Tsiatis, "Approximately optimal one-parameter boundaries for group sequential trials",
//     Biometrics 43 (1987)
package paired
