package corpus_test

import (
	"fmt"
	"strings"

	"github.com/pedestrian-ml/pedestrian/examples/internal/corpus"
)

func ExampleStandin() {
	text, floor := corpus.Standin(1, 1_000_000)
	speeches := strings.SplitN(text, "\n\n", 3)
	fmt.Printf("%d characters, no model below %.2f nats each\n\n", len(text), floor)
	fmt.Println(speeches[0] + "\n\n" + speeches[1])
	// Output:
	// 1000034 characters, no model below 0.78 nats each
	//
	// Weaver:
	// Come, haunt your dark lamp!
	//
	// First Spy:
	// If we cannot trip my sweet lamb,
	// She guards one wee hose,
	// While her fit twin must carve the rough knave.
	// They have him,
	// And one weak pipe is vile:
	// He is free.
	// His stern carp swims in one hall.
	// I rub their dry fig.
}
