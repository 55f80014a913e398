package base

import (
	"flag"
	"fmt"
	"strings"

	"github.com/pedestrian-ml/pedestrian/gpt"
)

// PresetFlag adds -preset to the flags of a program.
func PresetFlag(fs *flag.FlagSet, name *string) {
	var list []string
	for _, p := range gpt.Presets() {
		if p.Config.NEmbd > 0 {
			list = append(list, fmt.Sprintf("%s (%s)", p.Name, p.About))
		}
	}
	fs.StringVar(name, "preset", "", "settings that other flags override: "+strings.Join(list, ", "))
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
