package arm

import (
	"errors"
	"fmt"
)

// ReadParameters reads a parameter file of Azure's tools: {"parameters": {"name": {"value": …}}}. A reference to a key vault is refused,
// because this package cannot open one.
func ReadParameters(data []byte) (map[string]any, error) {
	file, err := parse(data)
	if err != nil {
		return nil, fmt.Errorf("arm: parameters: %w", err)
	}
	parameters := objectAt(file, "parameters")
	if parameters == nil {
		return nil, errors.New(`arm: parameters: want {"parameters": {"name": {"value": …}}}`)
	}
	values := map[string]any{}
	for _, name := range keys(parameters) {
		one, _ := parameters[name].(object)
		key := keyOf(one, "value")
		if key == "" {
			return nil, fmt.Errorf(`arm: parameters.%s: want {"value": …}`, name)
		}
		values[name] = one[key]
	}
	return values, nil
}

// ReadSecrets reads a file of secrets: {"collection/job/path": "value"}, see Options.Secrets. Its errors contain no value.
func ReadSecrets(data []byte) (map[string]string, error) {
	file, err := parse(data)
	if err != nil {
		return nil, fmt.Errorf("arm: secrets: %w", err)
	}
	values := map[string]string{}
	for _, path := range keys(file) {
		text, ok := file[path].(string)
		if !ok || text == "" {
			return nil, fmt.Errorf(`arm: secrets: %q: want a text that is not empty`, path)
		}
		values[path] = text
	}
	return values, nil
}
