package optim_test

import (
	"bytes"
	"fmt"
	"log"
	"math/rand/v2"
	"strconv"

	"github.com/pedestrian-ml/pedestrian/gpt/safetensors"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/graph/optim"
)

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

// regression fits x·w to t; the step fills in both.
type regression struct {
	x, t, w graph.Expr
	program *graph.Program
	*optim.Optimizer
}

func newRegression() (r regression) {
	s := graph.New(graph.Float32, 1).Root()
	r.x, r.t = s.Value("x", graph.Const(0), 4, 3), s.Value("t", graph.Const(0), 4, 1)
	r.w = s.Param("w", graph.Normal(1), 3, 1)
	var err error
	r.program, err = graph.Compile(r.x.MatMul(r.w).Sub(r.t).Square().SumAll(), r.w)
	check(err)
	r.Optimizer, err = optim.New([]graph.Expr{r.w}, optim.AdamW{Beta1: 0.9, Beta2: 0.999})
	check(err)
	return r
}

// train runs the steps up to a number; the data of a step depends on its number alone.
func (r regression) train(until int) {
	for r.Steps < until {
		rng := rand.New(rand.NewPCG(1, uint64(r.Steps)))
		for _, in := range []graph.Tensor{r.x.Tensor(), r.t.Tensor()} {
			for i := range in.Len() {
				in.Set(i, rng.NormFloat64())
			}
		}
		check(r.program.Run())
		_, err := r.Update(r.program, 0.1)
		check(err)
	}
}

// state holds the tensors from which the run is resumed, by name.
func (r regression) state() map[string]graph.Tensor {
	all := map[string]graph.Tensor{r.w.Name(): r.w.Tensor()}
	r.Moments(func(kept, param string, t graph.Tensor) { all[kept+"."+param] = t })
	return all
}

// Parameters, moments and the number of steps are the complete state: ten steps, saving and loading, and ten more steps
// give the bits of twenty.
func ExampleOptimizer_Moments() {
	uninterrupted, first, second := newRegression(), newRegression(), newRegression()
	uninterrupted.train(20)

	first.train(10)
	var list []safetensors.Tensor
	for name, t := range first.state() {
		list = append(list, safetensors.Tensor{Name: name, Shape: t.Shape, F32: t.F32})
	}
	var file bytes.Buffer
	check(safetensors.Write(&file, list, map[string]string{"steps": strconv.Itoa(first.Steps)}))

	read, metadata, err := safetensors.Read(file.Bytes())
	check(err)
	state := second.state()
	for _, t := range read {
		check(state[t.Name].Copy(graph.Tensor{Shape: t.Shape, F32: t.F32}))
	}
	second.Steps, err = strconv.Atoi(metadata["steps"])
	check(err)
	second.train(20)
	same := fmt.Sprint(second.w.Tensor().F32) == fmt.Sprint(uninterrupted.w.Tensor().F32)
	fmt.Println(len(read), "tensors; the same bits:", same, second.Steps)
	// Output: 3 tensors; the same bits: true 20
}

// SOAP starts as AdamW. After the first step its vectors follow the gradients: here the second gradient has the
// direction of the first one, so that it is one number in these vectors, and the step of a matrix is along it.
func ExampleSOAP() {
	w := graph.Tensor{Shape: []int{2, 1}, F64: make([]float64, 2)}
	s := optim.Step{Rate: 1, Scale: 1, W: w, G: graph.Tensor{F64: []float64{2, 1}},
		M: graph.Tensor{F64: make([]float64, 2)}, V: graph.Tensor{F64: make([]float64, 2)}}
	rule := optim.SOAP{Beta1: 0.9, Beta2: 0.95, Eps: 1e-8}
	state, err := rule.State()
	check(err)
	for _, k := range state.Further(w.Shape, nil) {
		s.Further = append(s.Further, graph.Tensor{Shape: k.Shape, F64: make([]float64, k.Shape[0]*k.Shape[1])})
		fmt.Println(k.Name, k.Shape)
	}
	for s.T = 1; s.T <= 2; s.T++ {
		rule.Step(s)
		fmt.Printf("%.2f\n", w.F64)
	}
	// Output:
	// l [2 2]
	// ql [2 2]
	// r [1 1]
	// qr [1 1]
	// [-1.00 -1.00]
	// [-1.94 -1.47]
}

// Muon makes the directions of a gradient about equally large. Here the first two columns are one matrix, whose entries
// differ by a factor of 100, and the third is another one. All singular values of an update are near the same number.
func ExampleMuon() {
	w := graph.Tensor{Shape: []int{2, 3}, F64: make([]float64, 6)}
	optim.Muon{Scale: "spectral"}.Step(optim.Step{
		T: 1, Rate: 1, Scale: 1, W: w, M: graph.Tensor{F64: make([]float64, 6)},
		G:       graph.Tensor{F64: []float64{100, 0, 3, 0, 1, 4}},
		Columns: []int{2, 1},
	})
	fmt.Printf("%.2f\n", w.F64)
	// Output: [-0.70 0.00 -0.42 0.00 -0.70 -0.56]
}
