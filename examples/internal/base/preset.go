package base

import (
	"flag"
	"fmt"
	"strings"

	"github.com/pedestrian-ml/pedestrian/examples/internal/program"
	"github.com/pedestrian-ml/pedestrian/gpt"
)

// PresetFlag adds -preset to the flags of a program.
func PresetFlag(fs *flag.FlagSet, name *string) {
	var names, list []string
	for _, p := range gpt.Presets() {
		if p.Config.NEmbd > 0 {
			names, list = append(names, p.Name), append(list, p.Name+": "+p.About)
		}
	}
	fs.StringVar(name, "preset", "", fmt.Sprintf("settings that other flags override: %s; %s",
		strings.Join(names, ", "), strings.Join(list, "; ")))
}

// ApplyPreset replaces c, whose flags fs has, by the preset of that name with the given change. The flags that were
// given
// override both. An empty name changes nothing.
func ApplyPreset(fs *program.FlagSet, name string, c *gpt.Config, change func(*gpt.Config)) error {
	if name == "" {
		return nil
	}
	given := fs.Configured()
	if err := Preset(name, c); err != nil {
		return err
	}
	change(c)
	for flag, value := range given {
		if err := fs.Set(flag, value); err != nil {
			return err
		}
	}
	return nil
}

// Preset replaces c by the preset of that name. An empty name changes nothing.
func Preset(name string, c *gpt.Config) error {
	if name == "" {
		return nil
	}
	p, err := gpt.PresetOf(name)
	if err == nil {
		*c = p.Config
	}
	return err
}
