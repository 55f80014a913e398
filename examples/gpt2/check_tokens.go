package main

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pedestrian-ml/pedestrian/gpt/text"
	"github.com/pedestrian-ml/pedestrian/internal/file"
	"github.com/pedestrian-ml/pedestrian/verify/known"
)

// files compares the existing files with the published ones.
func (c *checking) files() {
	for _, f := range c.known.Files {
		data, err := file.Open(filepath.Join(c.dir, f.Name))
		if err != nil {
			c.skip(f.Name, "it is not there")
			continue
		}
		h := sha256.New()
		n, err := io.Copy(h, data)
		data.Close()
		if err != nil {
			c.failure(f.Name, err)
			continue
		}
		equal(&c.report, f.Name, known.File{Name: f.Name, Bytes: n, SHA256: hex.EncodeToString(h.Sum(nil))}, f)
	}
}

// encodings compares the ids of known texts.
func (c *checking) encodings() {
	c.say(c.tok.Size() <= c.full.VocabSize, "tokens", fmt.Sprint(c.tok.Size()),
		fmt.Sprintf("at most vocab_size, %d", c.full.VocabSize))
	if c.known.Tokens == nil {
		return
	}
	for _, e := range c.known.Tokens.IDs {
		c.encoding(e, c.tok.Encode)
	}
	acting, ok := c.tok.(interface{ EncodeSpecial(string) ([]int, error) })
	for _, e := range c.known.Tokens.Special {
		if ok {
			c.encoding(e, acting.EncodeSpecial)
		}
	}
}

func (c *checking) encoding(e known.Encoded, encode func(string) ([]int, error)) {
	what := fmt.Sprintf("ids of %q", e.Text)
	got, err := encode(e.Text)
	if err != nil {
		c.failure(what, err)
		return
	}
	c.say(slices.Equal(got, e.IDs), what, fmt.Sprint(got), fmt.Sprint(e.IDs))
}

// corpus compares nanoGPT's two parts of a text, and the entire text.
func (c *checking) corpus() {
	k := c.known.Tokens
	if k == nil || k.Text == "" {
		return
	}
	if c.source.SHA256() != k.Text {
		c.skip("tokens of tinyshakespeare", c.source.Name+" is another text")
		return
	}
	parts, err := text.NewCorpus(c.source.Text, c.tok, 1)
	if err != nil {
		c.failure("text in two parts", err)
		return
	}
	for _, part := range []struct {
		name  string
		split text.Split
		want  known.Tokenized
	}{{"train", parts.Train(), k.Train}, {"val", parts.Val(), k.Val}} {
		ids := make([]int, part.split.Len())
		if err := part.split.Read(ids, 0); err != nil {
			c.failure(part.name, err)
			continue
		}
		c.tokens(part.name, ids, part.want)
	}
	ids, err := c.tok.Encode(c.source.Text)
	if err != nil {
		c.failure("text in one", err)
		return
	}
	c.tokens("train and val in one", ids, k.All)
}

// comesBack checks that the ids of a text decode to that text; an encoding may put a space in front.
func (c *checking) comesBack() {
	s := c.source.Text[:min(len(c.source.Text), 1<<17)]
	ids, err := c.tok.Encode(s)
	if err != nil {
		c.failure("text to tokens and back", err)
		return
	}
	back, err := c.tok.Decode(ids)
	if err != nil {
		c.failure("text to tokens and back", err)
		return
	}
	s, back = strings.TrimPrefix(s, " "), strings.TrimPrefix(back, " ")
	same := 0
	for same < min(len(s), len(back)) && s[same] == back[same] {
		same++
	}
	c.say(back == s, "text to tokens and back", fmt.Sprintf("%d bytes, the first %d the same", len(back), same),
		fmt.Sprintf("all %d", len(s)))
}
