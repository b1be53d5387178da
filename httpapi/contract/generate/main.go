// Command generate makes openapi.json and the client of openapi.yaml. Its folder is that of package contract.
package main

import (
	"log"
	"os"

	"github.com/chimejobs/chime/httpapi/contract"
)

func main() {
	log.SetFlags(0)
	document, err := os.ReadFile("../openapi.yaml")
	if err != nil {
		log.Fatalf("generate: %v", err)
	}
	for _, made := range []struct {
		file string
		of   func([]byte) ([]byte, error)
	}{{"../openapi.json", contract.JSON}, {"client/client.go", contract.Client}} {
		text, err := made.of(document)
		if err == nil {
			err = os.WriteFile(made.file, text, 0o644)
		}
		if err != nil {
			log.Fatalf("generate: %s: %v", made.file, err)
		}
	}
}
