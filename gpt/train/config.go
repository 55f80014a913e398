// Package train trains models. It contains the configuration and the state of a run, independent of the network. Start
// with New, which builds a Core from a Task, and Core.Step.
package train

import (
	"context"
	"slices"
	"strings"

	"github.com/pedestrian-ml/pedestrian/gpt/internal/field"
	"github.com/pedestrian-ml/pedestrian/graph"
)

// Training holds the settings that determine what a step computes, apart from the network. They must be the same when a
// run is resumed.
type Training struct {
	BatchSize                 int     // number of sequences in one micro-batch
	GradientAccumulationSteps int     // number of micro-batches in one step
	LearningRate              float64 // the highest learning rate
	Optimizer                 string  // by name
	WeightDecay               float64 // on matrices only
	Beta1                     float64 // AdamW's and SOAP's decay of the mean, SGD's momentum, Lion's share
	Beta2                     float64 // decay of the mean square in AdamW, also in Muon, and SOAP, or of Lion's mean
	MuonMomentum              float64 // Muon's momentum; 0 means 0.95
	MuonSteps                 int     // number of iterations of Muon; 0 means 5
	MuonScale                 string  // how Muon's update depends on the shape: "rms" (default) or "spectral"
	PreconditionFrequency     int     // number of steps between two updates of SOAP's eigenvectors; 0 means 10
	ShampooBeta               float64 // decay of SOAP's preconditioners L and R; 0 means Beta2
	MaxPrecondDim             int     // largest size of L and R of SOAP; a larger side is not rotated; 0 means 4096
	GradClip                  float64 // the largest global norm; 0 means no clipping
	DecayLR                   bool    // follow the Schedule; otherwise LearningRate throughout, as "constant" does
	Schedule                  string  // of the learning rate, by name; by default "cosine"
	WarmupIters               int     // number of steps of linear warm-up
	LRDecayIters              int     // the step at which the schedule reaches MinLR
	CooldownIters             int     // number of steps of the decay of schedule "wsd"; by default LRDecayIters/5
	MinLR                     float64 // the lowest learning rate after warm-up
	LabelSmoothing            float64 // s of nn.CrossEntropy, in training alone
	ZLoss                     float64 // λ of nn.CrossEntropy, in training alone
	EMA                       float64 // decay of a moving average of the weights, Core.Averages; 0 means none
	Seed                      uint64  // seed of every random choice
	Kernels                   bool    // use kernels; otherwise the reference, stock operations
	Precision                 string  // precision of the operands of kernels' products: "float32" (default) or "bf16"
	Frozen                    Frozen  // parameters that are not trained
}

// Run holds the settings for the length, output and resources of a run. They may change when the run is resumed: the
// steps compute the same bits.
type Run struct {
	MaxIters     int     // number of steps
	EvalInterval int     // number of steps between evaluations
	EvalIters    int     // number of batches in one evaluation
	Patience     int     // number of evaluations without a new Best after which Core.Stalled is true; 0 means never
	LogInterval  int     // number of steps between log lines
	OutDir       string  // directory of the run's files
	Threads      int     // number of threads of the kernels; 0 means one per processor
	Recompute    bool    // drop a block's activations and compute them again in the backward pass
	MemoryLimit  float64 // GiB that a run may use; 0 means the memory of the machine or container

	ShardOptimizer bool // each machine of a Group keeps a part of the optimizer's moments

	// Context, which is optional, stops the building of the network when it ends; the error wraps its cause. It is in
	// no file, and not used after a trainer is built, whose Run has its own context.
	Context context.Context
}

// Fields returns the fields of both, in the order of the JSON. optimizers and schedules hold the names that t may have.
func Fields(t *Training, r *Run, optimizers, schedules []string) field.List {
	if t == nil || r == nil {
		return nil
	}
	return slices.Concat(field.List{
		field.New("batch_size", &t.BatchSize, field.Size(1), "number of sequences in a micro-batch"),
		field.New("gradient_accumulation_steps", &t.GradientAccumulationSteps, field.Size(1),
			"number of micro-batches in a step"),
	}, field.List{
		field.New("learning_rate", &t.LearningRate, field.Positive(), "highest learning rate"),
	}.Topic("schedule"), field.List{
		field.Free("max_iters", &r.MaxIters, field.Size(0), "number of steps to train"),
	}, field.List{
		field.New("optimizer", &t.Optimizer, field.OneOf(optimizers...), "optimizer: "+strings.Join(optimizers, ", ")),
		field.New("weight_decay", &t.WeightDecay, field.NonNegative(), "weight decay, on matrices"),
		field.New("beta1", &t.Beta1, field.Fraction(),
			"AdamW's and SOAP's decay of the gradient's mean, Lion's share of it in a step, SGD's momentum, or "+
				"schedule_free's share of the average in the weights of a step"),
		field.New("beta2", &t.Beta2, field.Fraction(),
			"decay of the gradient's mean square in AdamW, SOAP and schedule_free, or of its mean in Lion"),
		field.New("muon_momentum", &t.MuonMomentum, field.Fraction(), "momentum of Muon; 0 is 0.95").Optional(),
		field.New("muon_steps", &t.MuonSteps, field.UpTo(100), "number of iterations of Muon; 0 is 5").Optional(),
		field.New("muon_scale", &t.MuonScale, field.OneOf("rms", "spectral"),
			"size of Muon's update of a matrix (in, out): rms, 0.2·√max(in, out), so that it has the learning rate of "+
				"AdamW, or spectral, √max(1, out/in)").Optional("rms"),
		field.New("precondition_frequency", &t.PreconditionFrequency, field.Size(0),
			"number of steps between two powers of SOAP's eigenvectors; 0 is 10").Optional(),
		field.New("shampoo_beta", &t.ShampooBeta, field.Fraction(),
			"decay of SOAP's preconditioners L and R; 0 is beta2").Optional(),
		field.New("max_precond_dim", &t.MaxPrecondDim, field.Size(0),
			"largest size of SOAP's L and R; a longer side of a matrix is not rotated; 0 is 4096").Optional(),
		field.New("grad_clip", &t.GradClip, field.NonNegative(),
			"largest global norm of the gradient; 0 is no clipping"),
	}.Topic("optimizer"), field.List{
		field.New("decay_lr", &t.DecayLR, field.Any(), "change the learning rate by the schedule; false is constant"),
		field.New("schedule", &t.Schedule, field.OneOf(schedules...),
			"of the learning rate: "+strings.Join(schedules, ", ")).Optional(Schedules()[0].Name),
		field.New("warmup_iters", &t.WarmupIters, field.Size(0), "number of steps of warm-up"),
		field.New("lr_decay_iters", &t.LRDecayIters, field.Size(0), "step at which the learning rate reaches min_lr"),
		field.New("cooldown_iters", &t.CooldownIters, field.Size(0),
			"number of steps of the decay of schedule wsd; 0 is a fifth of lr_decay_iters").Optional(),
		field.New("min_lr", &t.MinLR, field.NonNegative(), "lowest learning rate after warm-up"),
	}.Topic("schedule"), field.List{
		field.New("label_smoothing", &t.LabelSmoothing, field.Fraction(),
			"label smoothing while training: share of the target's probability that all tokens divide, such as 0.1").
			Optional(),
		field.New("z_loss", &t.ZLoss, field.NonNegative(),
			"factor of the z-loss while training, the mean of ln² Σ e^z over the logits z, such as 1e-4").
			Optional(),
		field.New("ema", &t.EMA, field.Fraction(),
			"decay of a moving average of the weights, such as 0.999; 0 is none").Optional(),
		field.Free("eval_interval", &r.EvalInterval, field.Size(1), "number of steps between evaluations"),
		field.Free("eval_iters", &r.EvalIters, field.Size(1), "number of batches of an evaluation"),
		field.Free("patience", &r.Patience, field.Size(0),
			"stop after this number of evaluations without a new lowest validation loss; 0 is never").Optional(),
		field.Free("log_interval", &r.LogInterval, field.Size(1), "number of steps between log lines"),
		field.New("seed", &t.Seed, field.Uint64(), "seed of every random choice"),
		field.Free("out_dir", &r.OutDir, field.Any(), "directory of the run's files"),
	}, field.List{
		field.Free("threads", &r.Threads, field.UpTo(4096), "threads of the kernels; 0 is one per processor"),
		field.New("kernels", &t.Kernels, field.Any(), "use kernels; false builds the reference, stock operations"),
		field.New("precision", &t.Precision, field.OneOf(graph.Precisions()...),
			"precision of products: "+strings.Join(graph.Precisions(), ", ")+
				", rounded to bfloat16 and added in float32").
			Optional(graph.Precisions()[0]),
	}.Topic("machine"), field.List{
		field.New("frozen", (*[]string)(&t.Frozen), field.Any(),
			"comma-separated patterns of parameters not to train, such as wte.*,h.0.*; empty is none").Optional(),
	}, field.List{
		field.Free("recompute", &r.Recompute, field.Any(),
			"compute a block's activations again in the backward pass: less memory, more time, the same bits"),
		field.Free("memory_limit", &r.MemoryLimit, field.NonNegative(),
			"memory in GiB that the run may use; 0 is all memory of the machine or container").Optional(),
		field.Free("shard_optimizer", &r.ShardOptimizer, field.Any(),
			"each of several ranks keeps a part of the optimizer's moments: less memory, the same bits").
			Optional("false"),
	}.Topic("machine")).Topic("training")
}
