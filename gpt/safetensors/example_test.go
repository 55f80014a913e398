package safetensors_test

import (
	"bytes"
	"fmt"
	"log"

	"github.com/pedestrian-ml/pedestrian/gpt/safetensors"
)

// A written file is read back completely or, if it is larger than memory, tensor by tensor.
func Example() {
	var file bytes.Buffer
	err := safetensors.Write(&file, []safetensors.Tensor{
		{Name: "wte.weight", Shape: []int{3, 2}, F32: []float32{1, 2, 3, 4, 5, 6}},
		{Name: "ln_f.bias", Shape: []int{2}, F32: []float32{0.5, -0.5}},
	}, map[string]string{"format": "pt"})
	if err != nil {
		log.Fatal(err)
	}

	tensors, metadata, err := safetensors.Read(file.Bytes())
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(tensors), "tensors,", metadata["format"])

	f, err := safetensors.Open(bytes.NewReader(file.Bytes()), int64(file.Len()))
	if err != nil {
		log.Fatal(err)
	}
	for _, e := range f.Entries {
		err := f.Values(e, func(at int, part safetensors.Tensor) error {
			fmt.Println(e.Name, e.Shape, "from", at, "on:", part.F32)
			return nil
		})
		if err != nil {
			log.Fatal(err)
		}
	}
	// Output:
	// 2 tensors, pt
	// wte.weight [3 2] from 0 on: [1 2 3 4 5 6]
	// ln_f.bias [2] from 0 on: [0.5 -0.5]
}
