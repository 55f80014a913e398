package grammar

import (
	"strings"

	"github.com/pedestrian-ml/pedestrian/gpt/internal/field"
	"github.com/pkg/errors"
)

// format is a named set of texts.
type format struct{ name, pattern string }

// formats lists the formats of texts. A date exists in the calendar, in a year from 0000 to 9999. A time has no leap
// second and at most nine digits after the point. An address has only letters, digits and signs that need no quotes.
// Every text is valid by RFC 3339 or RFC 5321, which permit more.
func formats() []format {
	const leap = `(?:[0-9]{2}(?:0[48]|[2468][048]|[13579][26])|(?:[02468][048]|[13579][26])00)`
	const date = `(?:[0-9]{4}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])|(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)|` +
		`02-(?:0[1-9]|1[0-9]|2[0-8]))|` + leap + `-02-29)`
	const clock = `(?:[01][0-9]|2[0-3]):[0-5][0-9]`
	const time = clock + `:[0-5][0-9](?:\.[0-9]{1,9})?(?:Z|[+-]` + clock + `)`
	const word, label = `[A-Za-z0-9]{1,16}`, `[a-z0-9](?:[a-z0-9-]{0,30}[a-z0-9])?`
	const octet = `(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])`
	return []format{
		{"date", date}, {"time", time}, {"date-time", date + "T" + time},
		{"email", word + `(?:[._+-]` + word + `){0,2}@` + label + `(?:\.` + label + `){1,3}`},
		{"uuid", `[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}`}, {"ipv4", octet + `(?:\.` + octet + `){3}`},
	}
}

// ofString returns the set of texts of a schema.
func (r *reader) ofString(at string, o field.Object) (set, error) {
	fewest, largest, err := counts(at, o, "minLength", "maxLength")
	if err != nil {
		return nil, err
	}
	pattern, key := "", "pattern"
	switch {
	case o.Has("format") && o.Has("pattern"):
		return nil, errors.Errorf("%s: format: beside pattern, want it alone", at)
	case o.Has("format"):
		if pattern, err = formatted(o.Get("format")); err != nil {
			return nil, errors.WithMessage(err, at)
		}
		key = "format"
	case o.Has("pattern"):
		s, ok := o.Get("pattern").(string)
		if !ok {
			return nil, errors.Errorf("%s: pattern: got %s, want a text", at, shown(o.Get("pattern")))
		}
		pattern = s
	default:
		return r.text(fewest, largest).set, nil
	}
	m, err := patterned(pattern, fewest, largest, &r.work)
	if err != nil {
		return nil, errors.WithMessagef(err, "%s: %s", at, key)
	}
	return r.machine(m).set, nil
}

// formatted returns the pattern of a format.
func formatted(raw any) (string, error) {
	var names []string
	for _, f := range formats() {
		if raw == f.name {
			return "^(?:" + f.pattern + ")$", nil
		}
		names = append(names, f.name)
	}
	return "", errors.Errorf("format: got %s, want one of %s", shown(raw), strings.Join(names, ", "))
}
