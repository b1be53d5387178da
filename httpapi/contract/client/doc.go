// Package client is made of the API's document where it is tested, by contract.Client: its source is not committed. What that source
// imports is imported here, so that go.mod names it.
package client

import (
	_ "github.com/oapi-codegen/runtime"
	_ "go.yaml.in/yaml/v3"
)
