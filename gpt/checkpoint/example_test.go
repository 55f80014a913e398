package checkpoint_test

import (
	"fmt"
	"io"
	"log"
	"os"

	"github.com/pedestrian-ml/pedestrian/gpt/checkpoint"
	"github.com/pkg/errors"
)

// A run continues from the step at which it was stopped.
func Example() {
	out, err := os.MkdirTemp("", "out")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(out)

	dir, err := checkpoint.Open(out) // locked until Close
	if err != nil {
		log.Fatal(err)
	}
	defer dir.Close()

	_, err = checkpoint.Load(out)
	fmt.Println("nothing to resume:", errors.Is(err, checkpoint.ErrNone))

	for step := 250; step <= 750; step += 250 {
		loss := checkpoint.File{Name: "loss.txt", Write: func(w io.Writer) error {
			_, err := fmt.Fprintf(w, "%.2f", 1000/float64(step))
			return err
		}}
		if err := dir.Save(step, []checkpoint.File{loss}); err != nil {
			log.Fatal(err)
		}
	}

	c, err := checkpoint.Load(out)
	if err != nil {
		log.Fatal(err)
	}
	for _, damaged := range c.Refused {
		log.Print(damaged)
	}
	loss, err := c.File("loss.txt")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("resume after step %d, loss %s\n", c.Step, loss)
	// Output:
	// nothing to resume: true
	// resume after step 750, loss 1.33
}
