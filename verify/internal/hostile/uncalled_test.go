package hostile

// uncalled gives the reason why an exported name is not called.
var uncalled = map[string]string{
	"graph.UseBLAS": "changes the entire process",
	"graph.Peak":    "takes its time, and nothing but a number of threads",

	"service.Service.Run":      "ends with its context",
	"service.Service.Generate": "waits for Run; TestServiceRefuses has its wrong arguments",

	"parts.Design.Body":        "builds what models have validated, however many blocks",
	"parts.Design.Validate":    "of a Stack whose fields Validate has checked one by one",
	"parts.Stack.OptionFields": "used by Config.Flags", "parts.Stack.PartFields": "used by Config.Flags",
	"parts.Stack.SizeFields": "used by Config.Flags",
	"parts.Body.Forward":     "of a Body that Design.Body makes",
	"parts.Body.Heads":       "of a Body that Design.Body makes",
	"parts.Body.NormedIn":    "of a Body that Design.Body makes",
	"parts.Body.Step":        "of a Body that Design.Body makes",
	"parts.Body.Normed":      "of a Body that Design.Body makes",
	"parts.Body.Balanced":    "of a Body that Design.Body makes",
	"parts.Body.Loads":       "of a Body that Design.Body makes",
	"parts.Body.CheckUsed":   "of a Body that Design.Body makes",
	"parts.Design.Inside":    "of a Stack whose fields Validate has checked one by one",
}
