// Package contract compares the API's document, openapi.yaml, with the API's behaviour, using third-party tools: linters, a validator of requests and
// answers, and a generated client. It is a separate module because of these many tools; no program needs it.
//
// The document is written manually. openapi.json is generated from it:
//
//	cd httpapi/contract && go generate
//
// The test of the client generates the client too. It builds programs:
//
//	cd httpapi/contract && go test -tags real ./...
//
// Another test generates the types of a client in TypeScript. It needs npm and the packages of its lock file, so only make typescript runs it.
package contract

import (
	"bytes"
	"fmt"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/oapi-codegen/oapi-codegen/v2/pkg/codegen"
	"github.com/pb33f/go-yaml"
	"github.com/pb33f/libopenapi/json"
)

//go:generate go run ./generate

// JSON is the document as JSON, with its keys in the order of the YAML and without YAML anchors.
func JSON(document []byte) ([]byte, error) {
	var root yaml.Node
	if err := yaml.Unmarshal(document, &root); err != nil {
		return nil, fmt.Errorf("contract: read the document: %w", err)
	}
	text, err := json.YAMLNodeToJSON(&root, "  ")
	if err != nil {
		return nil, fmt.Errorf("contract: write the document as JSON: %w", err)
	}
	return append(bytes.TrimSpace(text), '\n'), nil
}

// version is the version of oapi-codegen for the generated file.
const version = "v2.8.2"

// Client is the source of package client.
func Client(document []byte) ([]byte, error) {
	model, err := openapi3.NewLoader().LoadFromData(document)
	if err != nil {
		return nil, fmt.Errorf("contract: read the document: %w", err)
	}
	for _, path := range model.Paths.Map() {
		for _, operation := range path.Operations() {
			for _, answer := range operation.Responses.Map() {
				answer.Value.Headers = nil
			}
		}
	}
	named := version
	source, err := codegen.Generate(model, codegen.Configuration{
		PackageName:          "client",
		Generate:             codegen.GenerateOptions{Client: true, Models: true},
		Compatibility:        codegen.CompatibilityOptions{AlwaysPrefixEnumValues: true},
		NoVCSVersionOverride: &named,
		OutputOptions:        codegen.OutputOptions{SkipResponseBodyGetters: true, SkipEnumValidate: true, SkipClientResponseContentType: true},
	})
	if err != nil {
		return nil, fmt.Errorf("contract: generate the client: %w", err)
	}
	return []byte(source), nil
}
