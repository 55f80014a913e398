package corpus

import (
	"context"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/pedestrian-ml/pedestrian/examples/internal/program"
	"github.com/pkg/errors"
)

// remote is a file on the network whose content is known in advance.
type remote struct {
	url    string
	size   int64  // bytes
	sha256 string // in hexadecimal

	connect time.Duration // until the answer begins: name, connection, TLS, header
	total   time.Duration // until it is complete
}

// tinyshakespeare returns the file that char-rnn (Karpathy, 2015) and nanoGPT train on.
func tinyshakespeare() remote {
	return remote{
		url:     "https://raw.githubusercontent.com/karpathy/char-rnn/master/data/tinyshakespeare/input.txt",
		size:    1_115_394,
		sha256:  "86c4e6aa9db7c042ec79f339dcb96d42b0075e16b8fc2e86bf0ca57e2dc565ed",
		connect: 5 * time.Second,
		total:   60 * time.Second,
	}
}

// download returns the content of r, checked against its size and checksum.
func (r remote) download(ctx context.Context, stderr io.Writer) (string, error) {
	ctx, stop := context.WithTimeoutCause(ctx, r.total, errors.Errorf("not complete after %v", r.total))
	defer stop()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	timer := time.AfterFunc(r.connect, func() { cancel(errors.Errorf("no answer within %v", r.connect)) })
	defer timer.Stop()

	s, err := r.get(ctx, timer, stderr)
	if err != nil && ctx.Err() != nil {
		return "", errors.WithStack(context.Cause(ctx)) // one of the two limits
	}
	return s, err
}

// get downloads without the time limits; it stops the timer once the answer begins.
func (r remote) get(ctx context.Context, timer *time.Timer, stderr io.Writer) (string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, r.url, nil)
	if err != nil {
		return "", errors.WithStack(err)
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", errors.WithStack(err)
	}
	defer answer.Body.Close()
	timer.Stop()
	if answer.StatusCode != http.StatusOK {
		return "", errors.Errorf("%s: status %s", r.url, answer.Status)
	}
	bar := program.NewBar(stderr, "tinyshakespeare", 0, int(r.size))
	defer bar.Close()
	var s strings.Builder
	n, err := io.Copy(&s, io.TeeReader(io.LimitReader(answer.Body, r.size+1), bar))
	switch {
	case err != nil:
		return "", errors.Wrapf(err, "%s: after %d of %d bytes", r.url, n, r.size)
	case n > r.size:
		return "", errors.Errorf("%s: got more than the %d bytes expected", r.url, r.size)
	case n < r.size:
		return "", errors.Errorf("%s: got %d bytes, want %d", r.url, n, r.size)
	case checksum(s.String()) != r.sha256:
		return "", errors.Errorf("%s: sha256: got %s, want %s", r.url, checksum(s.String()), r.sha256)
	}
	return s.String(), nil
}
