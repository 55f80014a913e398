package certificate

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"github.com/pedestrian-ml/pedestrian/gpt/internal/field"
	"github.com/pkg/errors"
)

// document is the JSON of a certificate.
type document struct {
	Format string `json:"format"`
	About  string `json:"about"`
	Run
	Builds  []Build `json:"builds"`
	LeftOut int     `json:"left_out"`
	From    int     `json:"from"`
	Sums    sums    `json:"sums"`
	Links   []Link  `json:"links"`
	SHA256  string  `json:"sha256"`
}

// sums holds the first digits of the SHA-256 of each part before the links, so that an edited one is named.
type sums struct {
	Kind      string `json:"kind"`
	Config    string `json:"config"`
	Text      string `json:"text"`
	Tokenizer string `json:"tokenizer"`
	Code      string `json:"code"`
	Base      string `json:"base"`
	Builds    string `json:"builds"`
}

// sumDigits is the number of hexadecimal digits of a sum.
const sumDigits = 16

// part is a part of a certificate before the links, with the place of its sum.
type part struct {
	name  string
	value any
	sum   *string
}

// parts lists the parts in the order of the JSON.
func (d *document) parts() []part {
	return []part{
		{"kind", d.Kind, &d.Sums.Kind}, {"config", d.Config, &d.Sums.Config}, {"text", d.Text, &d.Sums.Text},
		{"tokenizer", d.Tokenizer, &d.Sums.Tokenizer}, {"code", d.Code, &d.Sums.Code}, {"base", d.Base, &d.Sums.Base},
		{"builds", []any{d.Builds, d.LeftOut, d.From}, &d.Sums.Builds},
	}
}

// compute returns the sum of a part.
func (p part) compute() (string, error) {
	data, err := json.Marshal(p.value)
	return hashed(data)[:sumDigits], errors.Wrap(err, p.name)
}

// seals returns the SHA-256 of everything before the links, and of every link with all before it.
func (d *document) seals() (list [][sha256.Size]byte, err error) {
	head, err := json.Marshal(d.Sums)
	if err != nil {
		return nil, err
	}
	seal := sha256.Sum256(append([]byte(format), head...))
	list = append(list, seal)
	for _, l := range d.Links {
		l.Sum = ""
		data, err := json.Marshal(l)
		if err != nil { // a number that is not finite
			return nil, errors.Wrapf(err, "link of step %d", l.Step)
		}
		seal = sha256.Sum256(append(seal[:], data...))
		list = append(list, seal)
	}
	return list, nil
}

// Encode returns the JSON of c, with its sums. It is an error if c is not the certificate of a run: Decode would refuse
// it.
func (c *Certificate) Encode() ([]byte, error) {
	if c == nil {
		return nil, errors.New("certificate: got nil, want one of Chain")
	}
	d := document{
		Format: format, About: about, Run: c.Run, Builds: c.Builds, LeftOut: c.LeftOut, From: c.From,
		Links: append([]Link{}, c.Links...),
	}
	if d.Code == nil {
		d.Code = []Code{}
	}
	var config bytes.Buffer
	if err := json.Compact(&config, c.Config); err != nil {
		return nil, errors.Wrap(err, "certificate: config")
	}
	d.Config = config.Bytes()
	for _, p := range d.parts() {
		var err error
		if *p.sum, err = p.compute(); err != nil {
			return nil, errors.Wrap(err, "certificate")
		}
	}
	seals, err := d.seals()
	if err != nil {
		return nil, errors.Wrap(err, "certificate")
	}
	for i := range d.Links {
		d.Links[i].Sum = hex.EncodeToString(seals[i+1][:])[:sumDigits]
	}
	d.SHA256 = hex.EncodeToString(seals[len(seals)-1][:])
	if err := d.check(); err != nil {
		return nil, errors.Wrap(err, "certificate")
	}
	data, err := d.lines()
	if err == nil && len(data) > maxSize {
		err = errors.Errorf("certificate: got %d bytes, want at most %d", len(data), maxSize)
	}
	return data, err
}

// lines returns the JSON with a line for every key and every link.
func (d *document) lines() ([]byte, error) {
	links := d.Links
	d.Links = []Link{}
	compact, err := json.Marshal(d)
	d.Links = links
	if err != nil {
		return nil, err
	}
	b, before := bytes.NewBufferString("{\n"), ""
	err = field.EachKey(compact, func(key string, value json.RawMessage) error {
		b.WriteString(before + `"` + key + `": `)
		before = ",\n"
		if key != "links" {
			b.Write(value)
			return nil
		}
		b.WriteByte('[')
		for i, l := range links {
			line, err := json.Marshal(l)
			if err != nil {
				return err
			}
			if i > 0 {
				b.WriteByte(',')
			}
			b.WriteByte('\n')
			b.Write(line)
		}
		b.WriteString("\n]")
		return nil
	})
	b.WriteString("\n}\n")
	return b.Bytes(), err
}

// hashed returns the SHA-256 in hexadecimal.
func hashed(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
