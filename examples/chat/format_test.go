package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// With a format an answer is an object of JSON, or a value of a schema, whatever the model would rather write, in one
// piece and as a stream, and one that is complete has not been cut off.
func TestFormats(t *testing.T) {
	_, url := served(t)
	const schema = `{"type":"json_schema","json_schema":{"name":"person","strict":true,"schema":{"type":"object","properties":` +
		`{"name":{"type":"string","maxLength":9},"age":{"type":"integer","minimum":1,"maximum":9}},` +
		`"required":["name","age"],"additionalProperties":false}}}`
	for seed := range 6 {
		for _, format := range []string{`{"type":"json_object"}`, schema} {
			for place, prompt := range map[string]string{"/v1/chat/completions": hi, "/v1/completions": `"prompt":"Hi"`} {
				body := fmt.Sprintf(`{%s,"temperature":1.5,"top_p":1,"seed":%d,"max_tokens":40,"response_format":%s`,
					prompt, seed+1, format)
				c := completed(t, url+place, body+`}`).Choices[0]
				var value struct {
					Name *string
					Age  int
				}
				text := c.Message.Content + c.Text
				if err := json.Unmarshal([]byte(text), &value); err != nil || c.FinishReason != "stop" ||
					format == schema && (value.Name == nil || value.Age < 1 || value.Age > 9) {
					t.Errorf("%s: got %q and %s (%v)", body, text, c.FinishReason, err)
				}
				streamedText := ""
				for _, chunk := range streamed(t, url+place, body+`,"stream":true}`) {
					streamedText += chunk.Choices[0].Delta.Content + chunk.Choices[0].Text
				}
				if streamedText != text {
					t.Errorf("%s: got the stream %q, want %q", body, streamedText, text)
				}
			}
		}
	}
	c := completed(t, url+"/v1/chat/completions", `{`+hi+`,"max_tokens":5,"response_format":`+schema+`}`).Choices[0]
	if c.FinishReason != "length" || !strings.HasPrefix(c.Message.Content, "{") {
		t.Errorf("five tokens for 22 bytes: got %q and %s, want the beginning of an object, and length",
			c.Message.Content, c.FinishReason)
	}
}

// A format that cannot be followed is refused by the name of what is wrong.
func TestFormatsRefuse(t *testing.T) {
	_, url := served(t)
	for format, want := range map[string]string{
		`"json"`: "want an object", `{"type":"json_schema"}`: "got no schema",
		`{"type":"json_schema","json_schema":{"schema":{"type":"string","pattern":"(a"}}}`: "schema: pattern: got",
		`{"type":"json_schema","json_schema":3}`:                                           "want an object",
	} {
		status, got := ask(t, url+"/v1/chat/completions", `{`+hi+`,"response_format":`+format+`}`)
		if status != 400 || !strings.Contains(got, want) || !strings.Contains(got, `"param":"response_format"`) {
			t.Errorf("%s: got status %d and %s, want %q", format, status, got, want)
		}
	}
}
