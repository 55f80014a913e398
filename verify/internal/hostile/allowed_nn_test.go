package hostile

// nnRules list values of nn that look wrong and are valid. What a function does not read is not among them: fieldsRead
// finds it.
var nnRules = []struct{ pattern, why string }{
	{`^nn\.New\w+ 0\.(Dims\.Blocks=\d{9,}|Block=|Sublayers\.Stream\.Name=)`, "a network of any depth, and any name"},
	{`^nn\.New\w+ 0\.(Style\.(Residual|Adapt)=of zeros|Sublayers\.(Conv=of zeros|Experts\.(Loads|Balance)=zero)|C\w+=(nil|zero))`,
		"matrices of 0, an adapter of no matrix, no convolution, losses that begin at 0, and no Step"},
	{`^nn\.New(Canon|CrossAttention|Elman|LearnedPositions|(Partial|Scaled)?RoPE|ShortConv|Sinusoidal|UnprojectedCross) 0\.Dims\.(Batch|Context)=`,
		"row by row, by the batch, or by a memory"},
	{`^nn\.New(GLU|(Clamped)?MoE) 0\.Sublayers\.Act=nil`, "it has its own"},
	{`^nn\.\w+\.Check (0\.(Width=\d{9,}|Random=0|Sinks=0|Slopes\[0\]=(0|-1))|1(={}|\.Context=(0|\d{9,})))`,
		"all of the text, none, any slope, and the same for every length"},
	{
		`^nn\.(Scaled\.Step [12]=|(MLP|GLU|(Clamped)?MoE)\.Step 2=|NewLoRA |NewScaledQueries )`,
		"the layer inside checks what it needs",
	},
	{
		`^(nn\.Site\.Param|nn\.NewLinear|graph\.Scope\.(Param|Table|Value)) [124]=(""|typo|of zeros)`,
		"any name, and numbers that are 0",
	},
	{`^nn\.(BinaryCrossEntropy|CrossEntropy|MultiToken|SquaredError|Dropout|{norm}|PPOClip|GRPO|Reinforce|ValueLoss)\.Forward (0=zero|2\.Weights={})`,
		"its numbers are 0, without gains; weights of 1"},
}
