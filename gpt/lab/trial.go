package lab

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"runtime/debug"
	"strings"

	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/certificate"
	"github.com/pedestrian-ml/pedestrian/gpt/train"
)

// Trial is one arm trained with one seed on one text.
type Trial struct {
	Text    string `json:"text"`
	Arm     string `json:"arm"`
	Setting string `json:"setting,omitempty"` // the values that tuning tries here, or has chosen
	Tuning  bool   `json:"tuning,omitempty"`  // one of the trials that choose a setting
	Seed    uint64 `json:"seed"`
	Key     string `json:"key"` // SHA-256 of Identity

	// Identity is the JSON of all that determines the result: the resolved configuration, the text and the tokenizer by
	// their SHA-256, the program by its commit or its SHA-256, the processor's instructions, and the versions that the
	// study gives to measures and to parts and hooks that are not the library's.
	Identity json.RawMessage `json:"identity"`

	Result Result `json:"result"`
	Timing Timing `json:"-"`
	Reused bool   `json:"-"` // Run has found the result in the directory

	config gpt.Config
	text   *Text
}

// Result holds the numbers of a trial that another run repeats to the bit, unless the budget is a time.
type Result struct {
	Loss       float64            `json:"loss"` // of the whole validation split, nats per token
	Parameters int64              `json:"parameters"`
	Steps      int                `json:"steps"`
	Tokens     float64            `json:"tokens"`
	FLOPs      float64            `json:"flops"`
	Diverged   int                `json:"diverged,omitempty"` // the step whose loss was not finite, if any
	Curve      []Point            `json:"curve,omitempty"`
	Measures   map[string]float64 `json:"measures,omitempty"`

	// Chain is the digest of the losses and norms of all steps, certificate.Link.Digest. Results of earlier versions,
	// and of trials that diverged, have none.
	Chain string `json:"chain,omitempty"`
}

// Point is an evaluation during a trial: estimates of the losses in nats per token after a number of steps.
type Point struct {
	Step  int     `json:"step"`
	Train float64 `json:"train"`
	Val   float64 `json:"val"`
}

// Timing holds the numbers of a trial that another run does not repeat.
type Timing struct {
	Seconds  float64            `json:"seconds"` // of all steps
	Steps    int                `json:"steps"`   // the number of steps that are timed: the first of each process is not
	Ms       float64            `json:"ms"`      // of a timed step, the mean
	Measures map[string]float64 `json:"measures,omitempty"`
}

// value returns the loss or a measure by name. ok is false if the trial diverged or lacks the measure.
func (t *Trial) value(name string) (v float64, ok bool) {
	if t.Result.Diverged > 0 {
		return 0, false
	}
	if name == "" || name == "loss" {
		return t.Result.Loss, true
	}
	if v, ok = t.Result.Measures[name]; !ok {
		v, ok = t.Timing.Measures[name]
	}
	return v, ok
}

// identity holds all that determines the bits of a trial; its hash is the key. The resolved configuration holds the
// sizes and the number of steps that a budget allows. The version is the commit of the program, or the hash of the
// program. The program contains the library and all code of the user, but not the files, the flags and the environment
// that this code reads. Therefore all code that is no part of the library has a version that its author gives it.
type identity struct {
	Format    int               `json:"format"`
	Config    gpt.Config        `json:"config"`
	Versions  map[string]string `json:"versions,omitempty"` // of the user's code in base, text and arm
	Seconds   float64           `json:"seconds,omitempty"`  // the budget, if it is a time
	Corpus    string            `json:"corpus"`
	Tokenizer string            `json:"tokenizer"`
	Measures  map[string]string `json:"measures,omitempty"` // their versions by name
	Version   string            `json:"version"`
	Build     string            `json:"build"`
}

// identify sets the Identity and the Key of t.
func (s *Study) identify(t *Trial, versions map[string]string) error {
	c := t.config.Resolved()
	c.Run = train.Run{MaxIters: c.MaxIters, EvalInterval: c.EvalInterval, EvalIters: c.EvalIters}
	tok, err := t.text.Tokenizer.MarshalJSON()
	if err != nil {
		return err
	}
	code, err := certificate.Source()
	if err != nil {
		return err
	}
	id := identity{Format: 2, Config: c, Versions: versions, Seconds: s.Budget.Seconds, Corpus: t.text.Corpus.SHA256(),
		Tokenizer: sum(tok), Measures: map[string]string{}, Version: code, Build: train.ThisBuild().String()}
	for _, m := range s.measures(*t.text) {
		id.Measures[m.Name] = m.Version
	}
	t.Identity, err = json.Marshal(id)
	t.Key = sum(t.Identity)
	return err
}

// hasCode reports whether c holds code of the user, which its fields do not determine.
func hasCode(c gpt.Config) bool {
	own, h := c.Parts, c.Hooks
	return h.Rate != nil || h.Loss != nil || h.Fill != nil || h.Gradients != nil || own.Bidirectional ||
		len(own.Positions)+len(own.Attentions)+len(own.Norms)+len(own.Blocks)+len(own.MLPs)+len(own.Activations)+
			len(own.Heads)+len(own.Optimizers)+len(own.Schedules)+len(own.Tokenizers)+len(own.Kinds) > 0
}

func sum(data []byte) string {
	h := sha256.Sum256(data)
	return hex.EncodeToString(h[:])
}

// program returns certificate.Source for a reader: with the commit of a program whose sources were changed since.
func program() (string, error) {
	v, err := certificate.Source()
	if info, ok := debug.ReadBuildInfo(); ok && strings.HasPrefix(v, "sha256:") {
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				v += ", built from commit " + s.Value + " with changes"
			}
		}
	}
	return v, err
}
