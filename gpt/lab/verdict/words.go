package verdict

import (
	"fmt"

	"github.com/pedestrian-ml/pedestrian/gpt/lab/paired"
)

// number returns a difference of losses.
func number(x float64) string { return fmt.Sprintf("%+.4f", x) }

// classes returns the style of every verdict.
func classes() map[paired.Verdict]string {
	return map[paired.Verdict]string{paired.Better: "better", paired.Worse: "worse"}
}
