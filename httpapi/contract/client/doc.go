// Package client is generated from the API's document by its test, with contract.Client: its source is not committed. The imports of that source
// are here, so that go.mod contains them.
package client

import (
	_ "github.com/oapi-codegen/runtime"
	_ "go.yaml.in/yaml/v3"
)
