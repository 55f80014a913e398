package published

import (
	"encoding/json"
	"io"
	"io/fs"
	"slices"

	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/checkpoint"
	"github.com/pedestrian-ml/pedestrian/gpt/internal/field"
	"github.com/pedestrian-ml/pedestrian/gpt/text"
	"github.com/pedestrian-ml/pedestrian/gpt/text/bpe"
	"github.com/pedestrian-ml/pedestrian/gpt/text/chat"
	"github.com/pedestrian-ml/pedestrian/gpt/train"
	"github.com/pkg/errors"
)

// The files of a folder, beside the files of package train.
const (
	configFile     = "config.json"
	tokenizerFile  = "tokenizer.json"         // a tokenizer in Hugging Face's form
	generationFile = "generation_config.json" // the tokens that end a text
	settingsFile   = "tokenizer_config.json"  // the template of conversations
	chatFile       = "chat_template.jinja"    // the same, in a file of its own
)

var errNoCheckpoint = errors.New("checkpoint: got nil, want one from Load")

// LoadTokenizer opens the tokenizer of a checkpoint or of a published model. It returns an error if there is none. own
// holds the kinds of user-defined tokenizers.
func LoadTokenizer(cp *checkpoint.Checkpoint, own ...text.Kind) (text.Tokenizer, error) {
	return gpt.LoadTokenizer(cp, append(slices.Clone(own), bpe.Kind())...)
}

// writeCharacters returns the tokenizer.json with which Hugging Face's programs encode a text into its characters: byte
// pairs without merges, over characters. They leave out a character that is not in the vocabulary.
func writeCharacters(tok *text.Characters) func(io.Writer) error {
	return func(w io.Writer) error {
		vocab := map[string]int{}
		for id := range tok.Size() {
			character, err := tok.Decode([]int{id})
			if err != nil {
				return err
			}
			vocab[character] = id
		}
		object := map[string]any{
			"version": "1.0", "truncation": nil, "padding": nil, "added_tokens": []any{},
			"normalizer": nil, "pre_tokenizer": nil, "post_processor": nil, "decoder": map[string]any{"type": "Fuse"},
			"model": map[string]any{
				"type": "BPE", "dropout": nil, "unk_token": nil, "continuing_subword_prefix": nil,
				"end_of_word_suffix": nil, "fuse_unk": false, "byte_fallback": false, "vocab": vocab, "merges": []any{},
			},
		}
		return train.WriteJSON(object)(w)
	}
}

// LoadEnds returns the tokens with which a published model ends a text or a turn, for text.Until, and for Generate and
// Beam of a decode.Session. It reads eos_token_id of generation_config.json or, if that has none, of config.json. The
// checkpoint of a run has no such tokens. Ids outside the vocabulary, which are never drawn, are left out.
func LoadEnds(cp *checkpoint.Checkpoint) (ids []int, err error) {
	if cp == nil {
		return nil, errNoCheckpoint
	}
	for _, name := range []string{generationFile, configFile} {
		data, err := cp.File(name)
		if name == generationFile && errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil {
			ids, err = readEnds(data)
		}
		if err != nil {
			return nil, errors.Wrapf(err, "checkpoint %s: %s", cp.Path, name)
		}
		if len(ids) > 0 {
			s, err := SourceOf(cp)
			return slices.DeleteFunc(ids, func(id int) bool { return id < 0 || id >= s.Config.VocabSize }), err
		}
	}
	return nil, nil
}

// LoadTemplate returns the template of conversations of a published model, from chat_template.jinja if the folder has
// such a file, otherwise from tokenizer_config.json. The latter also names the token that a text begins with. If it
// does not say whether there is one, the post-processor of tokenizer.json does. Without these files, as in the
// checkpoint of a run, the template is empty.
func LoadTemplate(cp *checkpoint.Checkpoint) (t chat.Template, err error) {
	if cp == nil {
		return t, errNoCheckpoint
	}
	settings, err := cp.File(settingsFile)
	if errors.Is(err, fs.ErrNotExist) {
		settings, err = []byte("{}"), nil
	}
	if err != nil {
		return t, err
	}
	conversations, err := cp.File(chatFile)
	switch {
	case err == nil:
		settings, err = withChat(settings, conversations)
	case errors.Is(err, fs.ErrNotExist):
		err = nil
	}
	if err == nil {
		t, err = chat.ReadTemplate(settings)
	}
	if err != nil {
		return t, errors.Wrapf(err, "checkpoint %s: %s", cp.Path, settingsFile)
	}
	var said struct {
		AddBegin *bool `json:"add_bos_token"`
	}
	if err = field.UnmarshalPart(settings, &said); err == nil && t.Begin == "" && said.AddBegin == nil {
		t.Begin, err = loadBegin(cp)
	}
	return t, err
}

// loadBegin returns the token that the post-processor of tokenizer.json puts before a text, or "".
func loadBegin(cp *checkpoint.Checkpoint) (string, error) {
	data, err := cp.File(tokenizerFile)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	begin, err := bpe.Begin(data)
	return begin, errors.Wrapf(err, "checkpoint %s: %s", cp.Path, tokenizerFile)
}

// withChat returns a tokenizer_config.json with another template.
func withChat(settings, conversations []byte) ([]byte, error) {
	var all map[string]json.RawMessage
	if err := field.Unmarshal(settings, &all); err != nil {
		return nil, err
	}
	quoted, err := json.Marshal(string(conversations))
	if err != nil {
		return nil, err
	}
	if all == nil {
		all = map[string]json.RawMessage{}
	}
	all["chat_template"] = quoted
	return json.Marshal(all)
}
