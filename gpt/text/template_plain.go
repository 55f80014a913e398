package text

import (
	"regexp"
	"strings"
)

// tags matches the tags of Jinja in a template: {{ an expression }} and {% a statement %}.
var tags = regexp.MustCompile(`(?s)\{\{.*?\}\}|\{%.*?%\}`)

// plain rewrites a template in one of its many spellings: no blanks outside strings, strings in single quotes with
// literal line feeds, message['role'] for message.role, and consecutive text and expressions joined into one
// expression. Blanks around tags are dropped as by Jinja in Hugging Face's libraries: before a statement at the
// beginning of its line, the line feed after a statement, and all next to a -.
func plain(template string) string {
	var out strings.Builder
	at := 0
	text := func(end int, before, after string) {
		s := template[at:end]
		if strings.HasPrefix(before, "{%") {
			s = strings.TrimPrefix(s, "\n")
		}
		if strings.HasSuffix(before, "-}}") || strings.HasSuffix(before, "-%}") {
			s = strings.TrimLeft(s, " \t\r\n")
		}
		line := strings.TrimRight(s, " \t")
		if strings.HasPrefix(after, "{%") && (line == "" || strings.HasSuffix(line, "\n")) {
			s = line
		}
		if strings.HasPrefix(after, "{{-") || strings.HasPrefix(after, "{%-") {
			s = strings.TrimRight(s, " \t\r\n")
		}
		if s != "" {
			out.WriteString("{{'" + s + "'}}")
		}
	}
	before := ""
	for _, where := range tags.FindAllStringIndex(template, -1) {
		tag := template[where[0]:where[1]]
		text(where[0], before, tag)
		inner := strings.TrimSuffix(strings.TrimPrefix(tag[2:len(tag)-2], "-"), "-")
		out.WriteString(tag[:2] + expression(inner) + tag[len(tag)-2:])
		at, before = where[1], tag
	}
	text(len(template), before, "")
	joined := strings.ReplaceAll(out.String(), "}}{{", "+")
	return strings.ReplaceAll(joined, "'+'", "")
}

// dotted matches the other notation for a field of a message.
var dotted = regexp.MustCompile(`message\.(role|content)`)

// expression returns the inside of a tag without blanks outside of its strings, which are in single quotes.
func expression(s string) string {
	var out strings.Builder
	for s != "" {
		at := strings.IndexAny(s, `'"`)
		if at < 0 {
			at = len(s)
		}
		code := strings.Join(strings.Fields(s[:at]), "")
		code = strings.NewReplacer("(", "", ")", "").Replace(code)
		out.WriteString(dotted.ReplaceAllString(code, "message['$1']"))
		if s = s[at:]; s == "" {
			break
		}
		inside, after, _ := strings.Cut(s[1:], s[:1])
		out.WriteString("'" + strings.ReplaceAll(inside, `\n`, "\n") + "'")
		s = after
	}
	return out.String()
}
