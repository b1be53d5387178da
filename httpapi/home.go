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

// trimNewline is a text without the newline at its end, which every answer gets.
func trimNewline(text []byte) []byte {
	return []byte(strings.TrimSuffix(string(text), "\n"))
}

// A home is what GET / answers: where to go from here.
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
