// Package verdict answers whether an idea makes the best known recipe better. Start with Judge: it takes an Idea, which
// is an arm of package lab, and returns a Report with one sentence for each question.
//
//  1. Is it right? Later tokens stay hidden, every gradient is checked, a decoder agrees with the training, a run
//     resumes with the same bits, every parameter is used, and models beside each other do not disturb each other.
//  2. What does it cost? Parameters, FLOPs, the time of a step in turn with the baseline, memory, and the state of a
//     decoder.
//  3. What can it learn? Tasks with a known optimum: recall, induction, copying, parity beyond the trained length, and
//     compression.
//  4. Does it help on text, at equal parameters and at equal FLOPs? Models of three sizes are trained with paired
//     seeds.
//  5. Does the difference grow with size?
//
// # What counts as a difference
//
// Idea and baseline choose from the same rates by successive halving, on seeds that the comparison does not use. If an
// idea sets learning_rate, as an optimizer may need, its rates are as many times larger than the baseline's. Every
// rate is trained for a quarter of the steps. The better half is then trained with two seeds for half of the steps. If
// the two arms choose different rates, both are trained at both rates, and each arm counts at its better rate. So noise
// in the choice favours neither arm.
//
// Differences are judged by package paired with Holm's correction over all sizes and both budgets, after 4 seeds and
// after 8, at the level of the whole. One size decides nothing: an idea is better on text if at least two sizes tell so
// and none tells the opposite. An accuracy on a task is judged after 6 seeds, and counts if 6 others confirm it. So an
// idea that does nothing has a verdict far less often than in 5 % of all cases: TestNothing judges a hundred of them.
//
// # What is kept
//
// Every trial is kept in Protocol.Dir, as package lab keeps the trials of a study: a Judge that was interrupted
// continues, and ideas that share a directory share the trials of the baseline. The directory of the idea in it has
// report.md, page.html and verdict.json, the certificate: the plan, the numbers, and the SHA-256 of all trials, which
// another run with the same number of steps repeats.
package verdict
