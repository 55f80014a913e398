package published_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/published"
	"github.com/pedestrian-ml/pedestrian/gpt/safetensors"
	"github.com/pedestrian-ml/pedestrian/gpt/text/chat"
	"github.com/pedestrian-ml/pedestrian/graph"
)

// Every configuration of TestKeys that is read computes the logits of PyTorch, whose program reads the keys itself.
func TestPyTorchReadsKeys(t *testing.T) {
	if os.Getenv("PEDESTRIAN_PYTORCH") == "" {
		t.Skip("set PEDESTRIAN_PYTORCH=1 to compare with PyTorch, as .ci/run does")
	}
	python := torch(t)
	var all []*asked
	program := []string{"testdata/torch_reference.py"}
	for _, base := range published.Bases() {
		a := ask(t, base)
		all, program = append(all, a), append(program, a.dir)
	}
	said, err := exec.Command(python, program...).CombinedOutput() // an error of a configuration is a refusal
	if err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	for i, a := range all {
		theirs := readTensors(t, filepath.Join(a.dir, "torch.safetensors"))
		for j, config := range a.configs {
			ours := a.logits[config.Network]
			if d := difference(ours, theirs[fmt.Sprint(j)]); !(d <= 2e-5) {
				t.Errorf("%d: %s: the logits are %.1e off PyTorch's, want at most 2e-5", i, config.Name, d)
			}
		}
		t.Logf(
			"%s: %d of %d configurations have tensors that fit", a.configs[0].Config["model_type"], len(a.configs),
			a.read,
		)
	}
	if t.Failed() {
		t.Logf("%s", said)
	}
}

// asked is a folder with configurations whose logits PyTorch computes.
type asked struct {
	dir     string
	read    int // number of configurations that are read
	configs []published.Attempt
	logits  map[string][]float64 // ours, by network
}

// ask writes the folder of a model with the configuration base, and computes the logits of all that are read.
func ask(t *testing.T, base map[string]any) *asked {
	t.Helper()
	c, err := published.ReadConfig([]byte(published.Text(base)))
	if err != nil {
		t.Fatal(err)
	}
	m, err := gpt.New(graph.New(graph.Float32, 7), c, 1)
	if err != nil {
		t.Fatal(err)
	}
	scramble(m)
	a := &asked{dir: filepath.Join(t.TempDir(), "model"), logits: map[string][]float64{}}
	if err := published.Export(t.Context(), a.dir, m, nil, safetensors.F32, chat.Template{}); err != nil {
		t.Fatal(err)
	}
	tokens := make([]int, 8)
	for i := range tokens {
		tokens[i] = (i*i*3 + 5) % 41
	}
	list := append([]published.Attempt{{Name: "unchanged", Config: base}}, published.Accepted(t, base)...)
	for _, x := range list {
		if _, ok := a.logits[x.Network]; !ok {
			logits, err := logitsOf(a.dir, x.Config, tokens)
			if err != nil && x.Key == "" {
				t.Fatal(err)
			}
			a.logits[x.Network] = logits
		}
		if a.logits[x.Network] != nil { // otherwise the tensors do not fit
			a.configs = append(a.configs, x)
		}
	}
	var configs []map[string]any
	for _, x := range a.configs {
		configs = append(configs, x.Config)
	}
	a.read = len(list)
	put(t, a.dir, "config.json", published.Text(base))
	put(t, a.dir, "asked.json", published.Text(map[string]any{"tokens": [][]int{tokens}, "configs": configs}))
	return a
}

// logitsOf returns the logits of the model in dir with another config.json.
func logitsOf(dir string, config map[string]any, tokens []int) ([]float64, error) {
	if err := os.WriteFile(filepath.Join(dir, "config.json"), []byte(published.Text(config)), 0o600); err != nil {
		return nil, err
	}
	cp, err := published.Load(dir, published.Fits())
	if err != nil {
		return nil, err
	}
	defer cp.Close()
	m, err := loadModel(graph.New(graph.Float32, 1), cp)
	if err != nil {
		return nil, err
	}
	copy(m.Tokens.Ints(), tokens)
	p, err := graph.Compile(m.Logits)
	if err == nil {
		err = p.Run()
	}
	if err != nil {
		return nil, err
	}
	return p.Value().Floats()[:len(tokens)*m.Config.VocabSize], nil // of a context that may be longer
}

// scramble sets all parameters to numbers far from their initial values.
func scramble(m *gpt.Model) {
	rng := rand.New(rand.NewPCG(4, 1))
	for _, p := range m.Params() {
		x := p.Tensor()
		gain := len(x.Shape) == 1 && strings.HasSuffix(p.Name(), ".weight")
		for i := range x.Len() {
			v := 0.3 * rng.NormFloat64()
			if gain {
				v++
			}
			x.Set(i, v)
		}
	}
}

// difference returns the largest difference, relative to the largest number.
func difference(a, b []float64) float64 {
	if len(a) != len(b) || len(a) == 0 {
		return math.NaN()
	}
	worst, top := 0.0, 0.0
	for i := range a {
		worst, top = math.Max(worst, math.Abs(a[i]-b[i])), math.Max(top, math.Abs(b[i]))
	}
	return worst / top
}

func put(t *testing.T, dir, name, content string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}
