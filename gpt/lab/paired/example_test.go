package paired_test

import (
	"fmt"
	"log"

	"github.com/pedestrian-ml/pedestrian/gpt/lab/paired"
)

// Three arms were trained from the same four seeds as the baseline. The study is looked at now, and perhaps at 8 seeds.
func Example() {
	base := []float64{2.117, 2.109, 2.125, 2.103}
	names := []string{"rmsnorm", "no bias", "swiglu"}
	losses := [][]float64{{2.112, 2.118, 2.114, 2.103}, {2.117, 2.109, 2.125, 2.103}, {2.071, 2.066, 2.078, 2.059}}

	arms := make([]paired.Comparison, len(losses))
	for i, loss := range losses {
		c, err := paired.Compare(loss, base, 1)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%-7s  %+.4f ± %.4f, 95 %%: %+.4f to %+.4f, t = %.2f, p = %.2g, sign-flip %.3f, %d seeds, "+
			"same: %t\n",
			names[i], c.Mean, c.SE, c.Low, c.High, c.T, c.P, c.SignFlip, c.Seeds, c.Same)
		arms[i] = c
	}
	rule := paired.Rule{Difference: 0.01, Plan: paired.Plan{Looks: []int{4, 8}, Boundary: paired.Pocock}}
	judgements, err := rule.Judge(0, arms)
	if err != nil {
		log.Fatal(err)
	}
	for i, j := range judgements {
		fmt.Printf("%-7s  %v, adjusted p = %.2g, adjusted interval %+.4f to %+.4f, estimate %+.4f, provisional: %t\n",
			names[i],
			j, j.P, j.Low, j.High, j.Estimate, j.Provisional)
	}
	levels, err := rule.Plan.Levels()
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("levels of the looks: %.4f, of the study: %g\n", levels, paired.Level)
	// Output:
	// rmsnorm  -0.0018 ± 0.0042, 95 %: -0.0152 to +0.0117, t = -0.41, p = 0.71, sign-flip 0.750, 4 seeds, same: false
	// no bias  +0.0000 ± 0.0000, 95 %: +0.0000 to +0.0000, t = 0.00, p = 1, sign-flip 1.000, 4 seeds, same: true
	// swiglu   -0.0450 ± 0.0009, 95 %: -0.0479 to -0.0421, t = -49.30, p = 1.8e-05, sign-flip 0.125, 4 seeds, same: false
	// rmsnorm  not told apart (0.010 would need 12 seeds), adjusted p = 1, adjusted interval -0.0270 to +0.0235, estimate -0.0017, provisional: false
	// no bias  equal for every seed, adjusted p = 1, adjusted interval +0.0000 to +0.0000, estimate +0.0000, provisional: false
	// swiglu   better (provisional), adjusted p = 0.00011, adjusted interval -0.0504 to -0.0396, estimate -0.0450, provisional: true
	// levels of the looks: [0.0294 0.0294], of the study: 0.05
}

// A program that runs studies by itself reads the verdicts. The measure is an accuracy, of which more is better.
func ExampleRule_Judge() {
	rule := paired.Rule{
		Higher: true, Difference: 0.02, Plan: paired.Plan{Looks: []int{3, 6}, Boundary: paired.OBrienFleming},
	}
	if err := rule.Validate(); err != nil { // before anything is trained
		log.Fatal(err)
	}
	base := []float64{0.52, 0.55, 0.49}
	var arms []paired.Comparison
	for _, accuracies := range [][]float64{
		{0.81, 0.84, 0.77}, {0.22, 0.24, 0.20}, {0.52, 0.55, 0.49}, {0.56, 0.54, 0.53},
	} {
		c, err := paired.Compare(accuracies, base, 1)
		if err != nil {
			log.Fatal(err)
		}
		arms = append(arms, c)
	}
	judgements, err := rule.Judge(0, arms)
	if err != nil {
		log.Fatal(err)
	}
	for i, j := range judgements {
		switch j.Verdict {
		case paired.Better:
			fmt.Println("keep", i)
		case paired.Worse, paired.Same:
			fmt.Println("drop", i)
		case paired.NotToldApart:
			fmt.Printf("run %d: its deviation is %.3f, and %d seeds find %g\n", i, arms[i].SD, j.Seeds, j.Difference)
		}
		if d := arms[i].Doubt; d == paired.FewValues || d == paired.Skewed {
			fmt.Printf("run %d with more seeds: its differences are %s\n", i, d)
		}
	}
	// Output:
	// keep 0
	// drop 1
	// drop 2
	// run 3: its deviation is 0.029, and 27 seeds find 0.02
}
