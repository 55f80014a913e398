package graph

import (
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel/gemm"
)

// Peak is how many GFLOP/s this processor does in fused multiply-adds of float32 on the given number of threads, 0 for one per
// processor, with the instructions that the kernels use: what a speed is to be compared with. It is measured for some
// hundredths of a second.
func Peak(threads int) float64 { return gemm.Peak(kernel.NewPool(threads)) }
