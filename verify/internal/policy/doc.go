// Package policy holds tests of the entire tree: which packages import which, how wide lines are, how comments begin,
// and what documents name. Each failure names the rule and the place. The package has no code of its own.
package policy
