package httpapi

import (
	"context"
	_ "embed"
	"net/http"
	"strings"
)

// The document of the API, in both forms.
var (
	//go:embed openapi.yaml
	documentYAML []byte
	//go:embed openapi.json
	documentJSON []byte
)

func getDocumentYAML(context.Context, *call) (*answer, error) {
	return &answer{status: http.StatusOK, body: trimNewline(documentYAML), kind: "application/yaml"}, nil
}

func getDocumentJSON(context.Context, *call) (*answer, error) {
	return &answer{status: http.StatusOK, body: trimNewline(documentJSON)}, nil
}

// trimNewline removes the newline at the end of a text, because write adds one to every answer.
func trimNewline(text []byte) []byte {
	return []byte(strings.TrimSuffix(string(text), "\n"))
}

// A home is the answer of GET /: the caller, the document and the routes.
type home struct {
	Caller   string      `json:"caller"`
	Document string      `json:"document"`
	Routes   []homeRoute `json:"routes"`
}

type homeRoute struct {
	Method string `json:"method"`
	Path   string `json:"path"`
	Needs  string `json:"needs,omitempty"` // the permission; empty: none
}

func getHome(_ context.Context, c *call) (*answer, error) {
	h := home{Caller: c.principal.Name, Document: c.base() + "/openapi.json"}
	for _, r := range routes() {
		shown := homeRoute{Method: r.method, Path: strings.TrimSuffix(r.path, "{$}")}
		if r.needs != 0 {
			shown.Needs = r.needs.String()
		}
		h.Routes = append(h.Routes, shown)
	}
	return &answer{status: http.StatusOK, body: encode(h)}, nil
}
