package train

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"io/fs"
	"slices"

	"github.com/pedestrian-ml/pedestrian/gpt/certificate"
	"github.com/pedestrian-ml/pedestrian/gpt/checkpoint"
	"github.com/pkg/errors"
)

// maxText is the number of bytes of the longest hash, or name, of a text in a certificate.
const maxText = 100

// certificateFile returns the file with the certificate of c, which has the hashes of the others.
func (c *Core) certificateFile(step int, others []checkpoint.File) checkpoint.File {
	write := func(w io.Writer, sums map[string]string) error {
		return c.atStep(step, func(w io.Writer) error {
			data, err := c.certify(sums)
			if err != nil {
				return err
			}
			return WriteBytes(data)(w)
		})(w)
	}
	alone := func(w io.Writer) error {
		if c.sharded() || !c.alone() && len(c.carry.list) > 0 {
			return errors.New("other machines attend only once: checkpoint.Dir.Save writes it with the hashes of the " +
				"other files")
		}
		sums := map[string]string{}
		for _, f := range others {
			if f.Name == StateFile {
				continue
			}
			h := sha256.New()
			if err := f.Write(h); err != nil {
				return err
			}
			sums[f.Name] = hex.EncodeToString(h.Sum(nil))
		}
		return write(w, sums)
	}
	return checkpoint.File{Name: certificate.File, Write: alone, Last: write, Beside: true}
}

// certify returns the certificate of a checkpoint at the present step whose files have these hashes.
func (c *Core) certify(sums map[string]string) ([]byte, error) {
	s := certificate.State{Weights: sums[WeightsFile], Moments: sums[OptimizerFile], States: sums[statesFile]}
	if c.task.Batches != nil {
		generator, err := c.task.Batches.MarshalBinary()
		if err != nil {
			return nil, err
		}
		h := sha256.Sum256(generator)
		s.Draws = hex.EncodeToString(h[:])
	}
	if c.chain.Step() != c.Done {
		c.chain = certificate.Begin(c.Done)
	}
	c.chain.Saved(s)
	run, err := c.certified()
	if err != nil {
		return nil, err
	}
	out, err := c.chain.Certificate(run)
	if err != nil {
		return nil, err
	}
	return out.Encode()
}

// certified returns what determines the numbers of the run: the Certified of the Task, or else its Training and its
// Facts.
func (c *Core) certified() (r certificate.Run, err error) {
	if c.task.Certified != nil {
		err = guarded("certified", func() (err error) { r, err = c.task.Certified(); return err })
	} else {
		training, run := c.training, c.limits
		fields := Fields(&training, &run, nil, nil).Without(private...).Without("shard_optimizer")
		lines := append(fields.Lines(), c.task.Facts...)
		r.Config, err = json.Marshal(append([]string{}, lines...))
	}
	if r.Text = c.corpus(); len(r.Text) > maxText {
		sum := sha256.Sum256([]byte(r.Text))
		r.Text = hex.EncodeToString(sum[:])
	}
	return r, err
}

// Code returns the hooks of h, for a certificate.
func (h Hooks) Code() (list []certificate.Code) {
	for _, hook := range []struct {
		name string
		set  bool
	}{
		{"rate", h.Rate != nil}, {"loss", h.Loss != nil}, {"fill", h.Fill != nil}, {"gradients", h.Gradients != nil},
	} {
		if hook.set {
			list = append(list, certificate.NewCode("hook "+hook.name, h.Source))
		}
	}
	return list
}

// Certify returns the certificate of a run from the files of its present step, as Core.Files and the trainers' methods
// of that name return them. It writes the other files to nowhere, for their hashes.
func Certify(files []checkpoint.File) (*certificate.Certificate, error) {
	i := slices.IndexFunc(files, func(f checkpoint.File) bool { return f.Name == certificate.File })
	if i < 0 || files[i].Write == nil {
		return nil, errors.Errorf("certify: got files without %s, want the files of a trainer", certificate.File)
	}
	var b bytes.Buffer
	if err := files[i].Write(&b); err != nil {
		return nil, errors.Wrap(err, "certify")
	}
	return certificate.Decode(b.Bytes())
}

// restoreChain continues the chain of a checkpoint. A checkpoint of an earlier version has none: a chain begins at its
// step, with the hashes of its files.
func (c *Core) restoreChain(cp *checkpoint.Checkpoint) error {
	data, err := cp.File(certificate.File)
	if errors.Is(err, fs.ErrNotExist) {
		c.chain = certificate.Begin(c.Done)
		return nil
	}
	var was *certificate.Certificate
	if err == nil {
		was, err = certificate.Decode(data)
	}
	if err == nil {
		c.chain, err = was.Resume(c.Done, certificate.ThisBuild())
	}
	if err != nil {
		return errors.Wrap(err, certificate.File)
	}
	return CheckState(was, cp)
}

// CheckState returns an error that names the first file of a checkpoint whose hash is not in the link of its step, or
// says that there is no such link.
func CheckState(c *certificate.Certificate, cp *checkpoint.Checkpoint) error {
	if c == nil || cp == nil {
		return errors.New("certificate: got no certificate or no checkpoint")
	}
	l, ok := c.At(cp.Step)
	if !ok || l.Weights == "" {
		return errors.Errorf("%s: got a checkpoint of step %d, want a step with hashes of weights in the certificate",
			certificate.File, cp.Step)
	}
	for _, f := range []struct{ name, want string }{
		{WeightsFile, l.Weights}, {OptimizerFile, l.Moments}, {statesFile, l.States},
	} {
		if got := cp.SHA256(f.name); got != f.want {
			return errors.Errorf("%s: link of step %d: got %s with sha256 %s, want %s", certificate.File, cp.Step,
				f.name, got, f.want)
		}
	}
	return nil
}
