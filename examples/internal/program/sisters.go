package program

// Sisters returns the programs, with their commands, and the flags that each has beside a configuration's. A test of
// every program compares them with its help.
func Sisters() [][2]string {
	return [][2]string{
		{"tinyshakespeare", "config curvature data keep_checkpoints model preset resume sample_only serve tokenizer " +
			"min_p prompt repetition_penalty stop temperature tokens top_k top_p weights fast_reduce timeout"},
		{"induction", "picture preset resume"},
		{"reasoning", "bits resume tests preset slip steps clip epochs objective reward_rate rounds"},
		{"lab compare", "data tokenizer arms parts cross until max_seeds looks boundary budget tune tuning_seeds " +
			"preset " +
			"seeds target matters measures contexts name jobs part tensorboard report json quick study"},
		{"lab tasks", "tasks published arms parts cross until max_seeds looks boundary budget tune tuning_seeds " +
			"preset " +
			"seeds target matters measures contexts name jobs part tensorboard report json quick study"},
		{"lab scale", "sizes scale_iters data tokenizer preset seeds target matters measures contexts name jobs part " +
			"tensorboard report json quick study"},
		{"lab transfer", "widths rates data tokenizer preset seeds target matters measures contexts name jobs part " +
			"tensorboard report json quick study"},
		{"lab replay", "data n other_commit quick replay trials"},
		{"bench", "arms baseline preset shape steps weights compare gomlx llama python quick"},
		{"book", "serve"},
		{"hash", "data steps task"},
		{"graph", "preset dot"},
		{"chat", "adapter model template weights cut min_p repetition_penalty system temperature tokens top_k top_p " +
			"alias body cors isolate key lanes log pooling queue serve"},
		{"translate", "source_size source_vocab target_size target_vocab mixed_keys below data held_out minutes " +
			"preset " +
			"resume source_unit target_unit tests beams length_penalty model translate"},
		{"verify", "preset data exact hash json loss model all page other_commit replay segments with"},
		{"scaling", "measure measured micro_ms network plot preset"},
		{"gpt2 write", "adapter model min_p prompt repetition_penalty temperature tokens top_k top_p weights"},
		{"gpt2 eval", "adapter model data stride weights"},
		{"gpt2 choices", "adapter model data weights"},
		{"gpt2 check", "model data"},
		{"gpt2 tune", "data model full template resume"},
		{"gpt2 dpo", "data model full template resume beta"},
		{"gpt2 grpo", "data model full template resume beta clip group score tokens updates"},
		{"gpt2 merge", "adapter model"},
		{"gpt2 export", "adapter model dtype"},
		{"gpt2 train", "data preset tokenizer resume"},
		{"gpt2 resume", "data model resume"},
		{"inspect look", "model page prompt"},
		{"inspect forms", "model draws drop epsilon groups picture prompt share width"},
		{"inspect ablate", "model mean parts picture data data_tokens"},
		{"inspect patch", "model corrupt picture prompt right wrong"},
		{"inspect curvature", "model data data_tokens"},
		{"inspect runs", "model page serve"},
		{"inspect explore", "model prompt serve data data_tokens"},
	}
}
