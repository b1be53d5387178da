package problem

import (
	"bytes"
	"encoding/json"
)

// page has an anchor for each code.
const page = "https://github.com/chimejobs/chime/blob/main/docs/http-problems.md#"

// The JSON of a problem, in its written order.
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

// Append appends the problem in the form of RFC 9457, with the request's path as instance, and without a newline.
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
