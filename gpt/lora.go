package gpt

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"io"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/pedestrian-ml/pedestrian/gpt/internal/field"
	"github.com/pedestrian-ml/pedestrian/gpt/safetensors"
	"github.com/pedestrian-ml/pedestrian/gpt/train"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/nn"
	"github.com/pkg/errors"
)

// adapts reports whether the layer of that name has adapters, that is, whether a target equals the name or its ending
// after a dot. It accepts "h.3.mlp.c_fc" as well as "mlp.c_fc".
func (a Adapters) adapts(layer string) bool {
	return a.LoraR > 0 && slices.ContainsFunc(a.LoraTargets, func(target string) bool {
		return layer == target || strings.HasSuffix(layer, "."+target)
	})
}

// affine returns a builder of matrices that adds adapters as c describes, and calls collect with each.
func (c Config) affine(collect func(*nn.LoRA)) nn.Affine {
	if c.LoraR == 0 {
		return nn.NewLinear
	}
	a, fused := c.Adapters, c.LoraFused
	adapted := nn.NewLoRA(a.adapts, a.LoraR, a.Factor())
	return func(s graph.Scope, in int, out []int, bias bool, init graph.Init) nn.Layer {
		if fused && a.adapts(s.Path()) {
			columns := 0
			for _, n := range out {
				columns += n
			}
			out = []int{columns}
		}
		l := adapted(s, in, out, bias, init)
		if lora, ok := l.(*nn.LoRA); ok {
			collect(lora)
		}
		return l
	}
}

// adapt is like affine, for the matrices that user-defined layers declare in the blocks.
func (a Adapters) adapt(collect func(*nn.LoRA)) nn.Adapt {
	if a.LoraR == 0 {
		return nil
	}
	return func(s graph.Scope, w graph.Expr, in, out int) graph.Expr {
		if !inBlock(s.Path()) || !a.adapts(s.Path()) {
			return w
		}
		l := nn.NewAdapted(s, w, in, out, a.LoraR, a.Factor())
		collect(l)
		return l.Matrix()
	}
}

// Factor returns s of w + s·d·u, the factor on an adapter.
func (a Adapters) Factor() float64 {
	switch a.LoraScale {
	case "alpha/r":
		return a.LoraAlpha / float64(a.LoraR)
	case "alpha/sqrt(r)":
		return a.LoraAlpha / math.Sqrt(float64(a.LoraR))
	}
	return a.LoraAlpha
}

func isAdapter(p graph.Expr) bool { return adapterName(p.Name()) }

func adapterName(name string) bool { return strings.Contains(name, ".lora_") }

func inBlock(name string) bool { return strings.HasPrefix(name, "h.") }

// baseKey is the metadata key for the SHA-256 of the weights that the adapters belong to. The other keys are the
// network's fields.
const baseKey = "base_sha256"

// WriteAdapters writes the adapters alone, which are all that fine-tuning has changed, as a safetensors file. Its
// metadata hold every field of the network except dropout, among them lora_alpha and lora_scale, and the SHA-256 of the
// weights that the adapters were trained on. It returns an error if the model has no adapters.
func (m *Model) WriteAdapters(w io.Writer) error {
	if err := m.adapted(); err != nil {
		return err
	}
	return m.reading(func() error { return m.writeAdapters(w, m.belonging()) })
}

func (m *Model) writeAdapters(w io.Writer, metadata map[string]string) error {
	return errors.Wrap(train.WriteTensors(w, gpt2Layout{}.Tensors(m.candidates()), metadata, ""), "adapters")
}

// ReadAdapters sets the adapters from a file of WriteAdapters, which must have exactly this model's names and shapes.
// The network must agree with the file's metadata: with another α, activation or base the same numbers are another
// function. The error names the field and both values. A file without metadata, such as one of an earlier version, is
// refused.
func (m *Model) ReadAdapters(data []byte) error {
	var belongs map[string]string
	err := m.adapted()
	if err == nil {
		err = m.reading(func() error { belongs = m.belonging(); return nil })
	}
	if err != nil {
		return err
	}
	f, err := safetensors.Open(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return errors.Wrap(err, "adapters")
	}
	if f.Metadata[baseKey] == "" {
		return errors.Errorf("adapters: the file does not say what it belongs to: %s is missing", baseKey)
	}
	for _, key := range slices.Sorted(maps.Keys(f.Metadata)) {
		got, want := belongs[key], f.Metadata[key]
		if _, known := belongs[key]; !known {
			return errors.Errorf("adapters: %s: got %s in the file, this model has no such field",
				field.Clip(key), field.Clip(want))
		}
		if got != want {
			return errors.Errorf("adapters: %s: got %s, want %s as in the file", key, field.Clip(got), field.Clip(want))
		}
	}
	return m.read(f, m.candidates())
}

// adapted returns an error unless m has adapters to write or to set.
func (m *Model) adapted() error {
	if err := m.CheckNumbers(); err != nil {
		return err
	}
	if m.Config.LoraR == 0 {
		return errors.New("adapters: the model has none, lora_r is 0")
	}
	return nil
}

// belonging returns the metadata of a file of the model's adapters.
func (m *Model) belonging() map[string]string {
	belongs := map[string]string{"format": "pt", baseKey: m.baseSHA256()}
	for _, f := range m.Config.NetworkFields().Without("dropout") {
		if v := f.String(); strings.ToValidUTF8(v, "") == v {
			belongs[f.Name] = v
		}
	}
	return belongs
}

// baseSHA256 returns the hash of the names, shapes and numbers, as float64, of all parameters except the adapters.
func (m *Model) baseSHA256() string {
	h := sha256.New()
	buf := make([]byte, 0, 1<<15)
	for _, p := range m.Params() {
		if isAdapter(p) {
			continue
		}
		t := p.Tensor()
		buf = append(append(buf[:0], p.Name()...), 0)
		for _, n := range t.Shape {
			buf = binary.LittleEndian.AppendUint64(buf, uint64(n))
		}
		for i := range t.Len() {
			if len(buf)+8 > cap(buf) {
				h.Write(buf)
				buf = buf[:0]
			}
			buf = binary.LittleEndian.AppendUint64(buf, math.Float64bits(t.At(i)))
		}
		h.Write(buf)
	}
	return hex.EncodeToString(h.Sum(nil))
}
