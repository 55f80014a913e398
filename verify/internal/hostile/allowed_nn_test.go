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
	{`^nn\.\w+\.Check 1(={}|\.Context=(0|\d{9,}))`, "the same for every length"},
	{`^nn\.ValueLoss\.Forward 2\.Weights={}`, "without weights all are 1"},
	{`^nn\.Smear\.(Forward|Step) 1=`, "it reads no ids"},
	{`^nn\.Scaled\.Step [12]=`, "its layer checks them"},
	{`^nn\.(MLP|GLU|(Clamped)?MoE)\.Step 2=`, "without a convolution, a step needs no position"},
	{`^nn\.(NewLoRA|NewScaledQueries) `, "it adapts nothing here, and what it makes checks them"},
	{`^(nn\.Site\.Param|nn\.NewLinear|graph\.Scope\.(Param|Table|Value)) [124]=(""|typo|of zeros)`, "any name, and numbers that are 0"},
	{`^nn\.\w+\.Check (0\.Width=\d{9,}|0\.Random=0|0\.Sinks=0|0\.Slopes\[0\]=(0|-1))`, "all of the text, none, and any slope"},
	{`^parts\.NewFactors 1`, "a standard network has no factors, whatever its sizes"},
	{`^nn\.Caches\.(Fork|Keep|Select) `, "of no caches"},
	{`^nn\.CrossAttention\.Step 2=`, "a memory has no next token"},
	{`^nn\.(BinaryCrossEntropy|CrossEntropy|MultiToken|SquaredError|Dropout|{norm}|PPOClip|GRPO|Reinforce|ValueLoss)\.Forward 0=zero`, "its numbers are 0, without gains"},
	{`^graph\.(PPOClip|Reinforce) 3={}`, "without baseline"},
	{`^graph\.PPOClip 6=(0|\+Inf)`, "clipped to the old policy, or not at all"},
	{`^graph\.AddPositions 3=`, "any factor"},
	{`^graph\.(LayerNorm\w* 3|RMSNorm 2)=0`, "as the paper has it"},
	{`^graph\.(Expr\.)?Gather 0=\(3, 5\)`, "a table with more rows"},
	{`^graph\.GatherCols 1(=short|\[0\]=(0|-1))`, "other columns, or zeros"},
	{`^graph\.Build (1|2=of zeros)`, "it builds nothing, and says that it went well"},
	{`^graph\.\w+Cache\.Fork 2=0`, "to itself"},
	{`^graph\.Scope\.Ints (1|3=\d{9,}|4)`, "any name, a wide range, and any number for none"},
}
