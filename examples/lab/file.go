package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"strings"

	"github.com/pedestrian-ml/pedestrian/examples/internal/program"
	"github.com/pedestrian-ml/pedestrian/internal/file"
	"github.com/pkg/errors"
)

// maxStudy is the size in bytes of the largest file of -study.
const maxStudy = 1 << 20

// readStudy reads the file of -study, an object of flags by name. Flags on the command line override it.
func (o *options) readStudy(fs *program.FlagSet) error {
	data, err := file.ReadText(o.file, maxStudy)
	if err != nil {
		return err
	}
	values, err := object(data)
	if err != nil {
		return err
	}
	flags := map[string][]string{}
	for name, value := range values {
		f := fs.Lookup(name)
		if f == nil || name == "study" {
			return errors.Errorf("%s: no such flag%s", name, fs.Suggestion(name))
		}
		if flags[name], err = texts(value, f); err != nil {
			return errors.WithMessage(err, name)
		}
	}
	if err := set(fs, o.given, flags); err != nil {
		return err
	}
	for name := range flags {
		o.given[name] = true
	}
	return nil
}

// studied returns the arguments with the command that the file of -study needs, if they name none.
func studied(args []string) []string {
	if len(args) == 0 || !strings.HasPrefix(args[0], "-") {
		return args
	}
	for i, a := range args {
		name, path, _ := strings.Cut(strings.TrimLeft(a, "-"), "=")
		if name != "study" {
			continue
		}
		if path == "" && i+1 < len(args) {
			path = args[i+1]
		}
		data, _ := file.ReadText(path, maxStudy) // the command reports an error
		values, _ := object(data)
		for key, command := range map[string]string{"tasks": "tasks", "scale": "scale", "widths": "transfer"} {
			if _, ok := values[key]; ok {
				return append([]string{command}, args...)
			}
		}
	}
	return args
}

// object reads a JSON object whose keys are all different, with nothing behind it.
func object(data []byte) (map[string]any, error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, errors.Errorf("got %v, %v, want an object such as {\"seeds\": 8}", t, err)
	}
	values := map[string]any{}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return nil, err
		}
		name, _ := key.(string)
		if _, twice := values[name]; twice {
			return nil, errors.Errorf("%s: got it twice", name)
		}
		var value any
		if err := d.Decode(&value); err != nil {
			return nil, errors.WithMessage(err, name)
		}
		values[name] = value
	}
	if _, err := d.Token(); err != nil {
		return nil, err
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, errors.New("got more than one object")
	}
	return values, nil
}

// texts returns a value of JSON as the arguments of a flag: several for a list, if the flag may be repeated.
func texts(value any, f *flag.Flag) ([]string, error) {
	items, isList := value.([]any)
	if !isList {
		items = []any{value}
	}
	var all []string
	for _, item := range items {
		switch item.(type) {
		case string, bool, json.Number:
			all = append(all, fmt.Sprint(item))
		default:
			return nil, errors.Errorf("got %v, want a string, a number, true, false or a list of them", item)
		}
	}
	if _, repeated := f.Value.(*list); isList && !repeated {
		all = []string{strings.Join(all, ",")}
	}
	return all, nil
}
