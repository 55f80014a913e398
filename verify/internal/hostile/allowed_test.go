package hostile

import (
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/verify/hand"
	"github.com/pedestrian-ml/pedestrian/verify/internal/variants"
)

// rules give the reason why an argument that looks wrong is valid, by the name of the call, the argument, and its
// value.
var rules = []struct{ pattern, why string }{
	{`(Position|Attention|Norm|Block|Activation|MLP|Head|Optimizer|LoraScale)=""`, "empty is the default part"},
	{`(Options={}|LoraTargets=nil)`, "none is the default"},
	{`(Threads|QKSize|VSize|NInner|Eps|Theta|LRDecayIters|VocabSize|MemoryLimit)=0`, "0 is the default"},
	{
		`(WeightDecay|Beta1|Beta2|GradClip|Warmup\w*|MinLR|MaxIters|Dropout|LoraR|LoraAlpha)=0`,
		"0 is a value: none of it",
	},
	{`OutDir=`, "the function that writes there checks it"},
	{`(Hooks|Parts)\.Source=typo`, "any text, whose hash a certificate holds"},
	{`^train\.New 2\.Certified=of zeros`, "a certificate that says nothing of the run"},
	{
		`^parts\.Registry\.CheckOptimizer [01]`,
		"the options of no optimizer, and of one whose name is refused elsewhere",
	},
	{`^(gpt|seq2seq)\..*\.Parts\.\w+`, "a variant that is not named is not checked"},
	{`^(gpt\.(New|Config\.ValidateModel)|published\.ModelType|seq2seq\.(New\w*|Config\.ValidateModel)|verify\.New\w+) .*\.(Training|Run)\b`,
		"training fields are not checked if nothing is trained"},
	{`^(checkpoint|text)\.\w+\.Close `, "a file that is not open is already closed"},
	{`^published\.LoadTemplate 0=zero`, "a checkpoint without files has no template"},
	{`^checkpoint\.Open 0=typo`, "a directory's name"},
	{`^lab\.Arm\.Apply (0\.Name|1\b)`, "any name; Config.Validate checks the result"},
	{`^decode\.Session\.Beam (3=0|4=)`, "no token more; nil ranks by probability, and a Rank is the caller's"},
	{`^decode\.Session\.(Beam 2|(Generate|Continue) 2\[0\])(=short|\[0\]=0)`, "another prompt"},
	{`^decode\.Session\.(Generate|Continue) 3`, "no tokens, or as many as the caller takes"},
	{
		`^(decode\.Session\.(Generate|Continue) 4\[0\]|search\.Sampler\.(Draw|Validate) 0)=zero`,
		"the zero Sampler is greedy",
	},
	{`^search\.Bias\.(Apply 1|Drawn 1)`, "a bias takes any logits, and learns nothing of the token that was drawn"},
	{`^search\.Sampler\.Draw 1=a liar`, "only the numbers matter, not the shape"},
	{`^dist\.CheckSize 0=1099511627776`, "a power of two"},
	{`^dist\.Open 0\.Timeout=\d`, "a long time"},
	{`^dist\.Run 2=of zeros`, "a rank that does nothing and returns no error"},
	{`^service\.New 2=0`, "no queue"},
	{`^train\.Core\.Gather 1`, "a single machine has all losses, whatever they are"},
	{`^fused\.\w*Attention \d=0`, "no dropout"},
	{`^fused\.(Linear|LayerNorm|LayerNormSigma) 2={}`, "without bias"},
	{`^fused\.RMSNorm 1={}`, "without gains"},
	{`^fused\.LinearAttention 1={}`, "an empty mask hides no key"},
	{`^fused\.(Cross|Linear|Sigmoid|Forgetting)?Attention [12]=\(2, 2, 2\)`, "a mask of every sequence"},
	{`^graph\.Expr\.(Dropout 1|Drop 2)=0`, "no dropout"},
	{`^graph\.Expr\.(Drop 1|Reserve )`, "any name; only a Rule has rows to reserve"},
	{
		`^graph\.Expr\.(Pow 1=(0|-1)|Clamp 1=(0|-1)|Clamp 2=\+Inf|(Delay|Advance) 1=0)`,
		"a valid exponent, bound or number of steps",
	},
	{`^fused\.CrossEntropy [34]=0`, "neither smoothing nor z-loss"},
	{`^graph\.CompileWith 1`, "nothing is kept, or something else"},
	{`^graph\.Expr\.MulAdd [12](=short|\[0\]=(0|-1))`, "other numbers, or one for all"},
	{`^graph\.Scope\.Place 1=`, "any name"},
	{`^lab\.Report\.Write(Events)? 1=typo`, "a new directory"},
	{`^lab\.Row\.Changes [01]`, "what differs, whether it can be trained or not"},
	{`^published\.(Load|Open|OpenCropped) 0=typo`, "a folder that Export has written before"},
	{`^checkpoint\.(Checkpoint\.Add (1=typo|2)|Derive 0)`, "any name and content; the path is for messages"},
	{`^inspect\.Probe\.(Run|Gradients) [12](=short|\[0\]=(0|-1))`, "another text, or none to predict"},
	{`^inspect\.Attribute [12]\[0\]=0`, "another text, or another logit"},
	{
		`^inspect\.Curvature\.Largest 2\.(Tolerance=0|MaxIterations=\d{2})`,
		"the search ends after an iteration for each parameter",
	},
	{`^inspect\.Watch\.Gradients 1=`, "any step"},
	{`^inspect\.LogitLens 1(=short|\[0\]=(0|-1))`, "another text"},
	{`^parts\.NewFactors 1`, "a standard network has no factors, whatever its sizes"},
	{`^fused\.(PPOClip|Reinforce) 3={}`, "without baseline"},
	{`^fused\.PPOClip 6=(0|\+Inf)`, "clipped to the old policy, or not at all"},
	{`^fused\.AddPositions 3=`, "any factor"},
	{`^fused\.(LayerNorm\w* 3|RMSNorm 2)=0`, "as the paper has it"},
	{`^(graph\.Expr|fused)\.Gather 0=\(3, 5\)`, "a table with more rows"},
	{`^fused\.GatherCols 1(=short|\[0\]=(0|-1))`, "other columns, or zeros"},
	{`^graph\.Build (1|2=of zeros)`, "it builds nothing, and says that it went well"},
	{`^fused\.\w+Cache\.Fork 2=0`, "to itself"},
	{`^graph\.Scope\.Ints (1|3=\d{9,}|4)`, "any name, a wide range, and any number for none"},
	{`^fused\.SquaredError 2={}`, "without weights all are 1"},
	{`^graph\.Graph\.Shared 1=of zeros`, "it reads nothing and returns no error"},
	{`^graph\.Graph\.BuildSibling 1=of zeros`, "it builds nothing and returns no error"},
	{`^optim\.Optimizer\.Update 2=0`, "a learning rate of 0 changes nothing"},
	{
		`^optim\.(Groups\.State 0\.Name=|StateOf [12]|State\.Kept)`,
		"a name for messages, a rule for any shape, and a state that StateOf checks",
	},
	{`^optim\.SOAP\.State 0\.(Frequency|MaxDim)=\d`, "eigenvectors that stay, and sides of any size"},
	{`^reduce\.Gradients\.Apply 2`, "the optimizer checks the clip"},
	{`^(optim\.Optimizer|reduce\.Gradients)\.(Shard|Last) [12]`, "a single machine divides nothing"},
	{`^(optim|reduce)\.New \d\[0\]=of another graph`, "a list of one is of one graph"},
	{`^reduce\.Gradients\.Apply 3=of zeros`, "an update that reports false for finite numbers"},
	{`^reduce\.New 0`, "a name for messages"},
	{`^graph\.Graph\.(Build)?Sibling 0=nil`, "a sibling of nothing is empty"},
	{`^search\.Beam (2=0|3=)`, "no token more; nil ranks by probability, and a Rank is the caller's"},
	{`^search\.Greedy 2=0`, "no token more"},
	{`^seq2seq\.Masked\.Fill 2=0`, "nothing hidden"},
	{`^seq2seq\.NewMasked 1\.Target`, "an encoder alone has no targets"},
	{`^seq2seq\.Translator\.(Beam|Greedy|Search) [12](=short|=nil|\[0\](=short|\[0\]=0))`, "no text, or another"},
	{`^seq2seq\.Translator\.Search 2=of zeros`, "a search that does nothing and returns no error"},
	{`^seq2seq\.Translator\.Beam 3`, "nil ranks by probability, and a Rank is the caller's"},
	{`^gpt\.Model\.Files 1=`, "without a tokenizer it is a model alone"},
	{`^gpt\.Trainer\.EvaluateAll 2=nil`, "progress is optional"},
	{`^lab\.Arm\.Apply 0\.Version=typo`, "the author's name of the arm's code"},
	{`^paired\.Compare [01]\[0\]=(0|-1)`, "another measure"},
	{`^paired\..* 0.*\.Boundary=0`, "the boundary of O'Brien and Fleming"},
	{
		`^paired\.(Plan|Rule)\.(Validate|Levels) 0(={}|(\.Plan)?(={}|\.Looks=(nil|short)))`,
		"other looks, or a single one",
	},
	{`^paired\.Rule\.Judge (1=0|2\[0\]\.((Mean|SD|P)=0|Mean=-1))`, "another look, or another comparison"},
	{`^paired\.Rule\.Judge 2\[0\]\.(SE|Low|High|T|SignFlip|Doubt)=`, "for the reader of the comparison"},
	{`^scaling\.Ensemble\.Predict 0\.(Law|Intervals)`, "for the reader: the laws of the resamples predict"},
	{`^scaling\.Law\.Best 0\.E=`, "another E moves no minimum"},
	{`^train\.Frozen\.Check 0=(nil|short)|\.Frozen=nil`, "nothing is frozen"},
	{
		`\.Hooks\.(Rate|Gradients|Fill)=of zeros`,
		"a rate of 0, and a look at gradients that changes nothing, and a batch that stays",
	},
	{`^(gpt\.Config\.ValidateModel|published\.ModelType) 0\.Hooks\.Loss`, "a network alone has no loss"},
	{`^gpt\.Trainer\.Save 1=typo`, "a directory's name"},
	{
		`^safetensors\.(File\.Joined 0=zero|File\.Values (0=zero|1\.(Name|Shape)|2=of zeros)|Write 1=(nil|short)|WriteEach 3=of zeros)`,
		"a place in the file, whatever it is called; no tensors",
	},
	{`^gguf\.Write 3=of zeros`, "no tensors"},
	{`^gguf\.File\.Rows 2`, "another order of outputs, which StorePacked checks"},
	{`^train\.WriteTensors 3`, "no tensors"},
	{`^text\.(Blocks|Sample|Window|Tokens\.Read) \d\[0\]`, "an id may be any, and the buffer is overwritten"},
	{`^text\.(Window 3=0|Windows )`, "the first block, and no block"},
	{`^text\.Tokens\.Read (0=short|1=(nil|short)|2=0)`, "fewer, or from the start"},
	{`^text\.\w+\.(Decode|Encode) 1(=nil|=short|=""|\[0\]=0)`, "another text"},
	{`^text\.Bytes\.Encode 1`, "every text is bytes"},
	{`^text\.WriteShards 0=typo`, "a directory's name"},
	{`^train\.New 2\.Done=\d`, "another step"},
	{`^train\.New 2\.Loads=of zeros`, "no experts"},
	{`^train\.New 2\.Hooks\.Source=typo`, "the source of the hooks, which only certificates hold"},
	{`^train\.New 2\.Check=of zeros`, "it finds nothing replaced"},
	{
		`^train\.New 2\.(Corpus=of zeros|Batches=zero|Carried=of zeros)`,
		"a corpus without a name, a generator that is not seeded, no states",
	},
	{`^train\.CheckMemory 0=\d{9,}`, "more than is needed"},
	{`^train\.(Run\.)?CheckMemory (1=0|2)`, "nothing is needed; a text"},
	{`^service\.Score (1|2)=0`, "the first token; no likeliest ones"},
	{
		`^train\.(Run\.CheckMemory 0|New 1)(={}|\.(MaxIters|Eval\w+|Patience|LogInterval|Threads|OutDir)=)`,
		"used by the loop around it",
	},
	{`^train\.(Run\.CheckMemory 0|New 1)\.MemoryLimit=\+Inf`, "no limit"},
	{`^train\.New 1\.MemoryLimit=`, "CheckMemory refuses it"},
	{
		`^train\.New 0\.(BatchSize|Optimizer|Muon\w+|PreconditionFrequency|ShampooBeta|MaxPrecondDim|\w+Iters|MinLR|LabelSmoothing|ZLoss)=`,
		"used by Build, Fill, Task.Optimizer and later steps",
	},
	{`^train\.New (0\.LearningRate=0|2\.Fill=of zeros)`, "a step of 0, or of no tokens"},
	{
		`^train\.Training\.Check 0(={}|\.(BatchSize|Gradient\w+|Optimizer|Muon\w+|PreconditionFrequency|ShampooBeta|MaxPrecondDim|WeightDecay|Beta\d|GradClip)=)`,
		"not the schedule's",
	},
	{
		`^train\.Training\.Check 0\.(LearningRate=\+Inf|WarmupIters=-1|LRDecayIters=\d|MinLR=-1|(EMA|LabelSmoothing|ZLoss)=(-1|NaN|\+Inf)|Precision=typo)`,
		"wrong by itself: Fields refuses it",
	},
	{`^train\.New 2\.(Hooks\.Rate|FLOPs|Schedules)`, "a step of 0, and a number to report"},
	{`^train\.New 2\.Hooks\.(Loss|Fill)=`, "Build makes the loss, and Fill of the Task the batches"},
	{`^train\.New 0\.GradClip=\+Inf`, "no clipping"},
}

// unchecked lists the calls that return no error for a value by design, with the reason.
var unchecked = []struct{ pattern, why string }{
	{`^gpt\.(ReadConfig|WriteConfig|Config\.(MarshalJSON|UnmarshalJSON|HuggingFace|ResumeDiff|Configure))$`,
		"reads or writes a configuration, and does not validate it: its doc says so"},
	{`^seq2seq\.Config\.(Memory|MarshalJSON|UnmarshalJSON|ResumeDiff)$`, "the same"},
	{`^train\.StateOf$`, "writes the configuration of a run, which its trainer has validated"},
	{`^graph\.Tensor\.`, "a number may be any: Finite checks it"},
	{`^(graph\.Expr\.(Shift|Scale|In|Name)|fused\.Scale)$`, "a number or name may be any"},
	{`^nn\.Caches\.(Fork|Keep|Select)$`, "of no caches, nothing is checked"},
	{`^nn\.Make$`, "the called function decides what it reads"},
	{`^seq2seq\.(Model|Masked)\.Fill$`, "ids are checked when the program runs"},
}

var compiled = map[string]*regexp.Regexp{}

func match(list []struct{ pattern, why string }, name string) string {
	for _, r := range list {
		if compiled[r.pattern] == nil {
			compiled[r.pattern] = regexp.MustCompile(strings.ReplaceAll(r.pattern, "{norm}", norms()))
		}
		if compiled[r.pattern].MatchString(name) {
			return r.why
		}
	}
	return ""
}

// norms returns a pattern for the types of the norms.
func norms() string {
	var types []string
	for _, v := range variants.List[float64]() {
		if v.Kind == "norm" {
			types = append(types, v.Type)
		}
	}
	return "(" + strings.Join(types, "|") + ")"
}

// mustFail reports whether a call with this wrong argument must return an error.
func mustFail(c call, args []reflect.Value, i int, how string) bool {
	if match(unchecked, c.name) != "" || match(slices.Concat(rules, handRules, nnRules), c.name+
		" "+string(rune('0'+i))+how) != "" {
		return false
	}
	if !read(c.name, i, args[i].Type(), how) {
		return false
	}
	operands := 0
	for _, a := range args {
		switch a.Type() {
		case reflect.TypeFor[graph.Expr](), reflect.TypeFor[hand.Matrix[float64]](),
			reflect.TypeFor[hand.Matrix[complex128]]():
			operands++
		}
	}
	switch args[i].Interface().(type) { // an operand alone may have any shape
	case graph.Expr:
		return operands > 1 || how == "={}"
	case hand.Matrix[float64], hand.Matrix[complex128]:
		return operands > 1 || how != "={}" && how != "=(5, 7)"
	}
	return true
}
