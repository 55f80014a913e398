package gpt

import (
	"encoding/json"
	"io"
	"io/fs"

	"github.com/pedestrian-ml/pedestrian/gpt/checkpoint"
	"github.com/pedestrian-ml/pedestrian/gpt/text"
	"github.com/pedestrian-ml/pedestrian/gpt/text/bpe"
	"github.com/pedestrian-ml/pedestrian/gpt/train"
	"github.com/pkg/errors"
)

// The files of a checkpoint other than those of train. A program that reads Hugging Face's files needs the weights and
// the first two of these.
const (
	configFile     = "config.json"            // Hugging Face's names
	tokenizerFile  = "tokenizer.json"         // a tokenizer in Hugging Face's form; in earlier versions any tokenizer
	charactersFile = "characters.json"        // a tokenizer of characters
	vocabularyFile = "vocabulary.json"        // any other tokenizer
	generationFile = "generation_config.json" // the tokens that end a text of a published model
)

var errNoCheckpoint = errors.New("checkpoint: got nil, want one from checkpoint.Load")

// LoadTokenizer opens the tokenizer of a checkpoint or of a published model: tokenizer.json, or vocab.json and
// merges.txt. It returns an error if the checkpoint has none. own holds the kinds of user-defined tokenizers.
func LoadTokenizer(cp *checkpoint.Checkpoint, own ...text.Kind) (text.Tokenizer, error) {
	if cp == nil {
		return nil, errNoCheckpoint
	}
	name, data, err := tokenizerOf(cp)
	if err != nil {
		return nil, err
	}
	tok, err := text.Open(data, own...)
	return tok, errors.Wrapf(err, "checkpoint %s: %s", cp.Path, name)
}

// checkTokenizer returns an error if tok is not the checkpoint's tokenizer.
func checkTokenizer(cp *checkpoint.Checkpoint, tok text.Tokenizer) error {
	name, data, err := tokenizerOf(cp)
	if err != nil {
		return err
	}
	return errors.Wrapf(text.Match(tok, data), "checkpoint %s: %s", cp.Path, name)
}

// tokenizerOf returns the tokenizer of a checkpoint in a form that text.Open reads, and the name of its file.
func tokenizerOf(cp *checkpoint.Checkpoint) (name string, data []byte, err error) {
	for _, name := range []string{tokenizerFile, charactersFile, vocabularyFile} {
		if data, err = cp.File(name); !errors.Is(err, fs.ErrNotExist) {
			return name, data, err
		}
	}
	vocab, err := cp.File("vocab.json")
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil, errors.Wrapf(fs.ErrNotExist, "checkpoint %s: no tokenizer: %s", cp.Path, tokenizerFile)
	}
	if err != nil {
		return "", nil, err
	}
	merges, err := cp.File("merges.txt")
	if err != nil {
		return "", nil, err
	}
	tok, err := bpe.ReadGPT2(vocab, merges)
	if err == nil {
		data, err = json.Marshal(tok)
	}
	return "vocab.json", data, errors.Wrapf(err, "checkpoint %s", cp.Path)
}

// tokenizerFileOf returns the file of a tokenizer. It has Hugging Face's name only if it has Hugging Face's form.
func tokenizerFileOf(tok text.Tokenizer) checkpoint.File {
	switch tok := tok.(type) {
	case *bpe.Tokenizer:
		return checkpoint.File{Name: tokenizerFile, Write: func(w io.Writer) error {
			data, err := tok.MarshalJSON()
			if err != nil {
				return err
			}
			if len(data) > checkpoint.MaxFile {
				return errors.Errorf("got %d bytes, want at most %d", len(data), checkpoint.MaxFile)
			}
			return train.WriteBytes(data)(w)
		}}
	case *text.Characters:
		return checkpoint.File{Name: charactersFile, Write: train.WriteJSON(tok)}
	}
	return checkpoint.File{Name: vocabularyFile, Write: train.WriteJSON(tok)}
}
