package problem

import (
	"bytes"
	"encoding/json"
)

// page has a section for each code.
const page = "https://github.com/chimejobs/chime/blob/main/docs/http-problems.md#"

// The JSON of a problem, in the order in which it is written.
type (
	problemJSON struct {
		Type     string    `json:"type"`
		Title    string    `json:"title"`
		Status   int       `json:"status"`
		Detail   string    `json:"detail"`
		Instance string    `json:"instance,omitempty"`
		Code     Code      `json:"code"`
		Errors   []Mistake `json:"errors,omitempty"`
		Error    azureJSON `json:"error"`
	}
	azureJSON struct {
		Code    string `json:"code"`
		Message string `json:"message"`
	}
)

// Append appends the problem as RFC 9457 has it, with instance as the request's own name, and without a newline.
func (p *Problem) Append(to []byte, instance string) []byte {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	status := p.Code.Status()
	err := encoder.Encode(problemJSON{
		Type: page + string(p.Code), Title: p.Code.Title(), Status: status, Detail: p.Detail, Instance: instance, Code: p.Code, Errors: p.Errors,
		Error: azureJSON{azureWords[status], p.Detail},
	})
	if err != nil {
		panic(err) // texts and numbers can be encoded
	}
	return append(to, bytes.TrimSuffix(out.Bytes(), []byte("\n"))...)
}
