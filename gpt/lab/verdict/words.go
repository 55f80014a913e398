package verdict

import (
	"fmt"
	"strings"

	"github.com/pedestrian-ml/pedestrian/gpt/lab/paired"
)

// number returns a difference of losses.
func number(x float64) string { return strings.Replace(fmt.Sprintf("%+.4f", x), "-", "−", 1) }

// classes returns the style of every verdict.
func classes() map[paired.Verdict]string {
	return map[paired.Verdict]string{paired.Better: "better", paired.Worse: "worse"}
}
