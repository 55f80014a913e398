package published

import (
	"cmp"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/checkpoint"
	"github.com/pedestrian-ml/pedestrian/gpt/parts"
	"github.com/pedestrian-ml/pedestrian/gpt/published/gguf"
	"github.com/pedestrian-ml/pedestrian/gpt/text"
	"github.com/pedestrian-ml/pedestrian/gpt/text/bpe"
	"github.com/pedestrian-ml/pedestrian/gpt/train"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/graph/stored"
	"github.com/pkg/errors"
)

// Open returns the model in dir, for batches of one and without dropout, and its tokenizer. dir is the directory of
// checkpoints, of which Open reads the newest intact one; the directory of one checkpoint; the folder of a published
// model; or a GGUF file, whose name ends in .gguf. own holds the user-defined variants of the program that saved a
// checkpoint, including its tokenizers, if any.
//
// The matrices of F32, BF16, Q8_0 and Q4_0 of a GGUF file stay in the mapped file, which must not change while the
// model is in use. Open converts matrices of F16 to F32, and matrices of other types to BF16. The model can decode and
// be measured, but not trained, as after [gpt.Model.Packed]. To read such a file into numbers, call [gpt.Source.Model]
// on the result of SourceOf.
func Open(dir string, own ...parts.Registry) (*gpt.Model, text.Tokenizer, error) {
	return open(dir, func(s gpt.Source) (gpt.Source, error) { return s, nil }, own)
}

// OpenCropped is like Open, but returns a model for shorter sequences of blockSize tokens, without the weights of later
// positions. Masks and tables of positions are smaller then, and training needs less memory.
func OpenCropped(dir string, blockSize int, own ...parts.Registry) (*gpt.Model, text.Tokenizer, error) {
	return open(dir, func(s gpt.Source) (gpt.Source, error) { return s.Crop(blockSize) }, own)
}

func open(
	dir string, crop func(gpt.Source) (gpt.Source, error), own []parts.Registry,
) (*gpt.Model, text.Tokenizer, error) {
	source := func(cp *checkpoint.Checkpoint) (gpt.Source, error) {
		s, err := SourceOf(cp, own...)
		if err != nil {
			return s, err
		}
		return crop(s)
	}
	cp, stored, err := load(dir, fits(source))
	if err != nil {
		return nil, nil, err
	}
	defer cp.Close()
	s, err := source(cp)
	if err != nil {
		return nil, nil, err
	}
	if stored != nil {
		s.Store = func(g *graph.Graph, params []graph.Expr) error { return store(g, params, s, stored) }
	}
	return s.Open(append(slices.Clone(parts.Join(own...).Tokenizers), bpe.Kind())...)
}

// Load is checkpoint.Load, and it also opens GGUF files, whose names end in .gguf. The tokenizer of a folder with
// vocab.json and merges.txt is the file tokenizer.json of the result.
func Load(path string, fits ...checkpoint.Fit) (*checkpoint.Checkpoint, error) {
	cp, _, err := load(path, fits...)
	return cp, err
}

// load is Load, and returns the GGUF file, if it is one.
func load(path string, fits ...checkpoint.Fit) (*checkpoint.Checkpoint, *gguf.File, error) {
	if info, err := os.Stat(path); filepath.Ext(path) != ".gguf" || err == nil && info.IsDir() {
		cp, err := checkpoint.Load(path, fits...)
		if err == nil {
			err = addTokenizer(cp)
		} else {
			err = alsoLacking(path, err)
		}
		return cp, nil, err
	} else if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, errors.Wrapf(checkpoint.ErrNone, "checkpoint %s", path)
	}
	f, err := gguf.Open(path)
	if err != nil {
		return nil, nil, err
	}
	files, err := f.Folder()
	if err != nil {
		return nil, nil, errors.Wrapf(err, "file %s", path)
	}
	cp, err := checkpoint.Derive(path, files, fits...)
	return cp, f, err
}

// addTokenizer adds the tokenizer.json of a folder that has vocab.json and merges.txt instead.
func addTokenizer(cp *checkpoint.Checkpoint) error {
	for _, name := range text.FileNames() {
		if _, err := cp.Open(name); !errors.Is(err, fs.ErrNotExist) {
			return nil
		}
	}
	vocab, err := cp.File("vocab.json")
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	merges, err2 := cp.File("merges.txt")
	if err = cmp.Or(err, err2); err != nil {
		return err
	}
	tok, err := bpe.ReadGPT2(vocab, merges)
	if err != nil {
		return errors.Wrapf(err, "checkpoint %s", cp.Path)
	}
	data, err := tok.MarshalJSON()
	if err == nil {
		err = cp.Add(tokenizerFile, data)
	}
	return err
}

// Fits returns the condition for loading models: [gpt.Source.Check] of SourceOf passes. own holds the user-defined
// variants of the program that saved a checkpoint, if any.
func Fits(own ...parts.Registry) checkpoint.Fit {
	return fits(func(cp *checkpoint.Checkpoint) (gpt.Source, error) { return SourceOf(cp, own...) })
}

func fits(source func(*checkpoint.Checkpoint) (gpt.Source, error)) checkpoint.Fit {
	return func(cp *checkpoint.Checkpoint) error {
		s, err := source(cp)
		if err != nil {
			return err
		}
		return s.Check()
	}
}

// SourceOf returns the source of a checkpoint of Load: of a run or a model alone, as gpt.SourceOf does, or of a
// published model, in the names of one of Families.
func SourceOf(cp *checkpoint.Checkpoint, own ...parts.Registry) (gpt.Source, error) {
	if cp == nil {
		return gpt.Source{}, errNoCheckpoint
	}
	s := gpt.Source{Checkpoint: cp, Separate: separate}
	data, err := cp.File(configFile)
	if _, missing := cp.File(train.StateFile); missing == nil || err != nil {
		if s, err = gpt.SourceOf(cp, own...); err == nil {
			s.Separate = separate
		}
		return s, err
	}
	var f family
	if s.Config, f, err = read(data, parts.Join(own...)); err != nil {
		return s, errors.Wrapf(err, "checkpoint %s: %s", cp.Path, configFile)
	}
	if f.modelType != "" {
		s.Layout = layoutOf(s.Config, f)
	}
	return s, nil
}

// separate reports whether the files of a network's family have a matrix each for queries, keys and values.
func separate(c gpt.Config) bool { return LayoutOf(c).Separate() }

// store declares that g stores the matrices of a file as they are there. Types that no product reads become others:
// F16 float32, all others bfloat16, whose rounding is small beside their own.
func store(g *graph.Graph, params []graph.Expr, s gpt.Source, f *gguf.File) error {
	layout := s.Layout.(Layout)
	for _, p := range params {
		matrix, ok := strings.CutSuffix(p.Name(), ".weight")
		if !ok || !p.Readable() {
			continue
		}
		var rows []stored.Rows
		for _, piece := range layout.Modules(matrix) {
			r, err := f.Rows(piece.Name+".weight", piece.Columns, piece.Part, piece.Parts)
			if err != nil {
				return err
			}
			rows = append(rows, r)
		}
		if err := stored.Store(g, p, rows...); err != nil {
			return err
		}
	}
	return nil
}
