package main

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/gpt/published"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/nn"
)

// embedded returns the embeddings of an answer.
func embedded(t *testing.T, url, body string) (list [][]float64) {
	t.Helper()
	status, data := ask(t, url+"/v1/embeddings", body)
	var got struct {
		Data []struct{ Embedding []float64 }
	}
	if err := json.Unmarshal([]byte(data), &got); err != nil || status != 200 {
		t.Fatalf("%s: got status %d and %s (%v)", body, status, data, err)
	}
	for _, d := range got.Data {
		list = append(list, d.Embedding)
	}
	return list
}

// wanted returns the embedding of tokens from a forward pass over all of them.
func wanted(t *testing.T, last bool, tokens []int) []float64 {
	t.Helper()
	m, _, err := published.OpenCropped(made(t), 200)
	must(t, err)
	n, err := m.Network(1)
	must(t, err)
	var p *graph.Program
	_, err = n.Graph.BuildSibling(func(g *graph.Graph) error {
		g.SetTraining(false)
		ids := g.Root().Ints("tokens", 200, n.Vocabulary, graph.NoneIgnored)
		places := g.Root().Ints("positions", 200, 200, graph.NoneIgnored)
		copy(ids.Ints(), tokens)
		for i := range places.Ints() {
			places.Ints()[i] = i
		}
		l := n.Build(g.Root(), 1, places, nn.Caches{})
		p, err = graph.Compile(l.(interface{ Normed(graph.Expr) graph.Expr }).Normed(l.Forward(ids)))
		return err
	})
	must(t, err)
	must(t, n.Graph.Shared(func(r graph.Reading) error { return r.Run(p) }))
	v, norm := make([]float64, len(p.Value().Row(0).Floats())), 0.0
	for i := range tokens {
		for j, x := range p.Value().Row(i).Floats() {
			if last {
				v[j] = x
			} else {
				v[j] += x
			}
		}
	}
	for _, x := range v {
		norm += x * x
	}
	for j := range v {
		v[j] /= math.Sqrt(norm)
	}
	return v
}

// An embedding is the mean of the hidden values of a text, or the last, of norm 1, as numbers and as bytes.
func TestEmbeddings(t *testing.T) {
	for _, pooling := range []string{"mean", "last"} {
		s, url := served(t, "-pooling", pooling)
		const long = "The wheel goes round and round, and what then? The wheel goes round and round."
		ids, err := s.tok.Encode(long)
		must(t, err)
		got, want := embedded(t, url, fmt.Sprintf(`{"model":%q,"input":[%q,"Hi"]}`, s.name, long)), wanted(t,
			pooling == "last", ids)
		for i, x := range want {
			if len(got) != 2 || math.Abs(got[0][i]-x) > 1e-5 {
				t.Fatalf("-pooling %s: got %v, want %v", pooling, got[0], want)
			}
		}
		tokens, _ := json.Marshal(ids)
		one, two := embedded(t, url, `{"input":`+string(tokens)+`}`), embedded(t, url,
			`{"input":[[1,2],`+string(tokens)+`]}`)
		if fmt.Sprint(one[0]) != fmt.Sprint(got[0]) || fmt.Sprint(two[1]) != fmt.Sprint(got[0]) {
			t.Errorf("-pooling %s: tokens: got %v and %v, want %v", pooling, one, two[1], got[0])
		}
		_, body := ask(t, url+"/v1/embeddings", fmt.Sprintf(`{"input":%q,"encoding_format":"base64",`+
			`"dimensions":64}`, long))
		var packed struct {
			Data  []struct{ Embedding string }
			Usage struct {
				Prompt int `json:"prompt_tokens"`
			}
		}
		must(t, json.Unmarshal([]byte(body), &packed))
		data, err := base64.StdEncoding.DecodeString(packed.Data[0].Embedding)
		if err != nil || len(data) != 4*64 || packed.Usage.Prompt != len(ids) ||
			float64(math.Float32frombits(binary.LittleEndian.Uint32(data))) != float64(float32(got[0][0])) {
			t.Errorf("-pooling %s: bytes: got %s (%v), want %v", pooling, body, err, got[0])
		}
	}
}

// What cannot be embedded is refused by name.
func TestEmbeddingsRefuse(t *testing.T) {
	_, url := served(t, "-block_size", "60")
	for body, want := range map[string]string{
		`{}`: "input: got none", `{"input":[]}`: "want a text or a list of tokens", `{"input":""}`: "empty",
		`{"input":3}`:       "input: got 3",
		`{"input":["a",3]}`: "input: got 3", `{"input":[512]}`: "the token 512",
		`{"input":"a","dimensions":3}`:        "want the model's 64",
		`{"input":"a","encoding_format":"x"}`: "want float or base64",
		`{"input":"a","n":2}`:                 "n: this server has no such key",
		`{"input":"a","model":"x"}`:           "this server has", `{"input":"` + strings.Repeat("word ", 99) +
			`"}`: "context of 60",
		`{"input":[` + strings.Repeat(`"a",`, mostInputs) + `"a"]}`: "got 2049 texts", `[]`: "not an object",
	} {
		if status, got := ask(t, url+"/v1/embeddings", body); status < 400 || status > 404 || !strings.Contains(got,
			want) {
			t.Errorf("%.100s: got status %d and %s, want %q", body, status, got, want)
		}
	}
}
