package verdict_test

import (
	"context"
	"fmt"
	"os"

	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/lab"
	"github.com/pedestrian-ml/pedestrian/gpt/lab/verdict"
	"github.com/pedestrian-ml/pedestrian/gpt/text"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/nn"
	"github.com/pedestrian-ml/pedestrian/verify"
)

// An idea is compared with the first recipe instead of the best one, in ten minutes, and its layer has a Case.
func ExampleJudge() {
	corpus, tok, err := text.Load("input.txt", "character", 64)
	check(err)
	idea := verdict.Idea{
		Arm: lab.Arms("norm=rmsnorm")[0],
		Cases: []verify.Case{{Name: "rmsnorm", Build: func(at nn.Site, x graph.Expr) graph.Expr {
			return nn.NewRMSNorm(at).Forward(x)
		}}},
	}
	r, err := verdict.Judge(context.Background(), idea, verdict.Protocol{
		Text: lab.Text{Name: "input.txt", Corpus: corpus, Tokenizer: tok}, Dir: "out",
		Base: gpt.Shakespeare(), Minutes: 10,
		Plan: verdict.Plan{Tasks: []verdict.TaskPlan{}}, // without tasks
	})
	check(err)
	fmt.Println(r) // a sentence for each question
	for _, g := range r.Growth {
		fmt.Println(g.Budget, g.Slope)
	}
	for _, c := range r.Checks {
		fmt.Println(c.Name, c.Failed)
	}
}

// Verdicts that are kept make a board, or a table of one's own.
func ExampleBoard() {
	b := verdict.Board{Command: "go run . -verdict"}
	for _, idea := range []string{"norm=rmsnorm", "norm=dyt"} {
		r, err := verdict.Read("out", idea)
		check(err)
		b.Rows = append(b.Rows, r)
		for _, a := range r.Answers {
			fmt.Println(idea, a.Question, a.Verdict)
		}
		for _, l := range r.Losses {
			fmt.Println(l.Size.NEmbd, l.Means[1]-l.Means[0], l.Compared)
		}
		for _, c := range r.Costs {
			fmt.Println(c.Size, c.Ratio)
		}
		for _, t := range r.Tasks {
			fmt.Println(t.What, t.Confirmed())
		}
		if r.Wrong() || r.Plan.Steps == verdict.Quick().Steps {
			fmt.Println(idea, "was not asked")
		}
	}
	check(b.Markdown(os.Stdout))
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
