package safetensors

import (
	"slices"
	"strings"

	"github.com/pedestrian-ml/pedestrian/internal/blocks"
	"github.com/pkg/errors"
)

// mxfp4 is the type of tensors in blocks of 32 numbers, which are a power of 2 times numbers of 4 bits (Open Compute
// Project 2023, Microscaling Formats 1.0). They are read as float32, which represents each of their values exactly.
const mxfp4 = "MXFP4"

// The tensors of bytes in which files store one of MXFP4.
const blocksEnd, scalesEnd = "_blocks", "_scales"

const blockLen, blockBytes = 32, 16

// Joined returns f with one tensor of type MXFP4 in place of every two tensors of U8 that store one: NAME_blocks
// (…, n, 16), in which the lower half of a byte is the first of two numbers, and NAME_scales (…, n), the exponents of
// the blocks plus 127. The tensor is NAME (…, 32·n). It is an error if the shapes of the two do not fit.
func (f *File) Joined() (*File, error) {
	if f == nil {
		return nil, errors.New("safetensors: the file is nil")
	}
	scales := map[string]Entry{}
	for _, e := range f.Entries {
		if name, ok := strings.CutSuffix(e.Name, scalesEnd); ok && e.DType == "U8" {
			scales[name] = e
		}
	}
	joined := map[string]bool{}
	list := slices.Clone(f.Entries)
	for i, e := range list {
		name, ok := strings.CutSuffix(e.Name, blocksEnd)
		s, both := scales[name]
		if !ok || !both || e.DType != "U8" {
			continue
		}
		rank := len(s.Shape)
		if rank < 1 || !slices.Equal(e.Shape, append(slices.Clip(s.Shape), blockBytes)) {
			return nil, errors.Errorf("safetensors: tensor %.80q: got shape %v, want the shape of %.80q, %v, and %d",
				e.Name, e.Shape, s.Name, s.Shape, blockBytes)
		}
		e.Name, e.Shape, e.DType, e.scales = name, slices.Clone(s.Shape), mxfp4, &s
		e.Shape[rank-1] *= blockLen
		list[i], joined[s.Name] = e, true
	}
	list = slices.DeleteFunc(list, func(e Entry) bool { return joined[e.Name] })
	return &File{Entries: list, Metadata: f.Metadata}, nil
}

// readBlocks returns n values of a tensor of MXFP4 from index at on, both multiples of a block.
func (f *File) readBlocks(e Entry, at, n int) (Tensor, error) {
	fours, powers := f.raw[:n/2], f.raw[n/2:n/2+n/blockLen]
	if err := e.bytes(fours, at/2); err != nil {
		return Tensor{}, err
	}
	if err := e.scales.bytes(powers, at/blockLen); err != nil {
		return Tensor{}, err
	}
	x := f.part.F32[:n]
	for i, power := range powers {
		blocks.FourBits(x[i*blockLen:][:blockLen], fours[i*blockBytes:], blocks.Power(power))
	}
	return Tensor{F32: x}, nil
}
