package gpt

import (
	"slices"
	"strings"
	"testing"
)

// Every number of a configuration has a least value, and every size a largest one. The fields that may differ when a
// run is resumed are those that no step reads.
func TestFieldBorders(t *testing.T) {
	c := Shakespeare()
	all := c.fields()
	for names, values := range map[string][2]string{ // that it may have, and that it may not
		"block_size vocab_size n_layer n_head n_embd batch_size gradient_accumulation_steps eval_interval eval_iters log_interval": {"1 2 268435456", "0 -1 268435457"},
		"qk_size v_size n_inner lora_r max_iters warmup_iters lr_decay_iters":                                                      {"0 1 268435456", "-1 268435457"},
		"dropout eps beta1 beta2":                             {"0 0.99", "-0.01 1"},
		"rope_theta lora_alpha weight_decay grad_clip min_lr": {"0 1e300", "-1e-300"},
		"learning_rate":                                       {"1e-300 1e300", "0 -1"},
		"threads":                                             {"0 4096", "-1 4097"},
		"lora_scale":                                          {`"" "alpha" "alpha/r" "alpha/sqrt(r)"`, `"beta"`},
		"optimizer precision position attention norm block activation mlp head": {`""`, `"none_such"`},
		"seed": {"0 18446744073709551615", ""},
	} {
		for _, name := range strings.Fields(names) {
			f, found := all.Find(name)
			if !found {
				t.Errorf("no field %s", name)
				continue
			}
			for i, list := range values {
				for _, v := range strings.Fields(list) {
					if err := f.Decode([]byte(v)); err != nil || (f.Check() == nil) != (i == 0) {
						t.Errorf("%s of %s: got %v, %v", name, v, err, f.Check())
					}
				}
			}
		}
	}
	fixed := all.Fixed().Names()
	free := slices.DeleteFunc(all.Names(), func(name string) bool { return slices.Contains(fixed, name) })
	if got := strings.Join(free, " "); got != "max_iters eval_interval eval_iters log_interval out_dir threads recompute memory_limit shard_optimizer" {
		t.Errorf("may differ: %s", got)
	}
}

// A network with a size of 0 is not counted.
func TestOutlineOfNothing(t *testing.T) {
	for i := range 4 {
		c := Shakespeare().Resolved()
		c.VocabSize = 65
		size := []*int{&c.NLayer, &c.NHead, &c.NEmbd, &c.BlockSize}[i]
		for n, ok := range map[int]bool{0: false, 1: true} {
			if *size = n; i == 2 {
				c.NHead = 1
			}
			if _, err := c.outline(); (err == nil || !strings.Contains(err.Error(), "at least 1 of each is needed")) != ok {
				t.Errorf("size %d of %d: got %v", i, n, err)
			}
		}
	}
}
