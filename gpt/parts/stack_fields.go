package parts

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/pedestrian-ml/pedestrian/gpt/internal/field"
)

// SizeFields returns the fields of the sizes and of the settings for all blocks. Those that are optional are left out
// of the JSON while they are 0.
func (s *Stack) SizeFields() field.List {
	yarn, long := s.Rope.yarnFields(), s.Rope.longFields()
	return slices.Concat(field.List{
		field.New("n_layer", &s.NLayer, field.Size(1), "number of transformer blocks"),
		field.New("n_head", &s.NHead, field.Size(1), "number of attention heads of a block"),
		field.New("n_embd", &s.NEmbd, field.Size(1), "width of the embeddings"),
		field.New("dropout", &s.Dropout, field.Fraction(), "probability of dropping a value while training"),
		field.New("bias", &s.Bias, field.Any(), "biases in linear layers and layer normalisations"),
		field.New("attention_bias", &s.Sublayers.AttentionBias, field.Any(),
			"biases in the linear layers of attention, without bias").Optional("false"),
		field.New("mlp_bias", &s.Sublayers.MLPBias, field.Any(), "biases in the linear layers of MLPs, without bias").
			Optional("false"),
		field.New("qk_size", &s.QKSize, field.Size(0), "query and key size of a head; 0 is n_embd/n_head"),
		field.New("v_size", &s.VSize, field.Size(0), "value size of a head; 0 is n_embd/n_head"),
		field.New("n_inner", &s.NInner, field.Size(0), "hidden width of the MLP; 0 is 4·n_embd"),
		field.New("eps", &s.Eps, field.Fraction(), "epsilon of the normalisation; 0 is 1e-5"),
	}.Topic("network"), field.List{
		field.New("rope_theta", &s.Rope.Theta, field.NonNegative(),
			"base of the rotary positions' frequencies; 0 is 10000"),
		field.New("rope_local_base_freq", &s.Rope.LocalBaseFreq, field.NonNegative(),
			"gqa_window: rope_theta of the blocks with a window, unscaled; 0 is as in the others").Optional(),
		field.New("partial_rotary_factor", &s.Rope.PartialRotaryFactor, field.Fraction(),
			"share of the features of a head that rotary positions rotate, such as 0.25; 0 is all").Optional(),
		NameField("rope_scaling", &s.Rope.Scaling, Names(ropeScalings()),
			"scaling of rotary positions for contexts longer than in training").Optional(noPart),
		field.New("rope_factor", &s.Rope.Factor, field.NonNegative(),
			"factor of rope_scaling, such as 8; 0 without").Optional(),
		field.New("rope_original", &s.Rope.Original, field.Size(0),
			"tokens of the context in training, for rope_scaling llama3, yarn and longrope; otherwise 0").Optional(),
		yarn[0], yarn[1], yarn[2], yarn[3], long[0], long[1],
		field.New("no_rope_layer_interval", &s.Rope.NoRopeLayerInterval, field.Size(0),
			"leave rotary positions out of every k-th block, such as 4; 0 leaves out none").Optional(),
	}.Topic("position"), field.List{
		field.New("attn_logit_softcapping", &s.Sublayers.AttnLogitSoftcapping, field.NonNegative(),
			"c of the scores c·tanh(s/c) of attention with a softmax; 0 is no cap").Optional(),
	}.Topic("attention"), s.Experts.fields().Topic("experts"))
}

// yarnFields returns the fields that only rope_scaling yarn reads.
func (r *Rope) yarnFields() field.List {
	return field.List{
		field.New("rope_beta_fast", &r.BetaFast, field.NonNegative(),
			"rope_scaling yarn: turns in rope_original tokens above which frequencies stay; 0 is 32").Optional(),
		field.New("rope_beta_slow", &r.BetaSlow, field.NonNegative(),
			"rope_scaling yarn: turns in rope_original tokens below which frequencies are divided; 0 is 1").Optional(),
		field.New("rope_unrounded", &r.Unrounded, field.Any(),
			"rope_scaling yarn: do not round the indices between which frequencies change").Optional("false"),
		field.New("rope_attention_factor", &r.AttentionFactor, field.NonNegative(),
			"rope_scaling yarn, longrope: factor on rotated features; 0 is 0.1·ln f + 1, or √(1 + ln f/ln "+
				"rope_original), for f = rope_factor").Optional(),
	}
}

// longFields returns the fields that only rope_scaling longrope reads.
func (r *Rope) longFields() field.List {
	list := field.Text("numbers above 0 with commas between them", func(text string) bool {
		_, ok := factors(text)
		return ok
	})
	return field.List{
		field.New("rope_short_factor", &r.ShortFactor, list,
			"rope_scaling longrope: divisors of all frequencies for a block_size up to rope_original").Optional(),
		field.New("rope_long_factor", &r.LongFactor, list,
			"rope_scaling longrope: divisors of all frequencies for a longer block_size").Optional(),
	}
}

// PartFields returns the fields of the parts' names, which must be in known. The fields of parts that
// were added later are left out of the JSON while they are empty.
func (s *Stack) PartFields(known Registry) field.List {
	list := slices.Concat(field.List{
		NameField("position", &s.Position, Names(known.Positions), "encoding of the tokens' positions"),
	}.Topic("position"), field.List{
		s.attentionField(Names(known.Attentions)),
	}.Topic("attention"), field.List{
		NameField("norm", &s.Norm, Names(known.Norms), "normalisation"),
		NameField("block", &s.Block, Names(known.Blocks), "arrangement of a block: the place of the normalisation"),
		NameField("activation", &s.Activation, Names(known.Activations), "activation of the MLP, gelu being exact"),
		NameField("mlp", &s.MLP, Names(known.MLPs), "layer after the attention of a block").Optional(),
	}.Topic("network"))
	for _, k := range known.Kinds {
		list = append(list, field.List{k.field(s)}.Topic(cmp.Or(k.Topic, "network"))...)
	}
	return list
}

// attentionField is a NameField whose value may also be a list over the blocks.
func (s *Stack) attentionField(known []string) field.Field {
	want := strings.Join(known, ", ")
	domain := field.Text("one of "+want+", or a list over at most "+strconv.Itoa(maxCycle)+
		" blocks such as gla*3,causal", func(list string) bool {
		cycle, ok := turns(list)
		return slices.Contains(known, list) || ok && !slices.ContainsFunc(cycle, func(t turn) bool {
			return !slices.Contains(known, t.attention)
		})
	})
	return field.New("attention", &s.Attention, domain.Hinted(func(list string) string {
		return badTurn(list, known)
	}), "attention of the blocks, or a list that repeats over them, such as gla*3,causal: "+want)
}

// NameField returns a field whose value must be one of the known names.
func NameField(name string, value *string, known []string, what string) field.Field {
	return nameField(name, value, known, what)
}

func nameField(name string, value any, known []string, what string) field.Field {
	return field.New(name, value, field.OneOf(known...), what+": "+strings.Join(known, ", "))
}

// OptionFields returns the fields of the options of the known attentions.
func (s *Stack) OptionFields(known Registry) field.List {
	return s.Options.fields(known.Attentions).Topic("attention")
}
