// Command generate writes openapi.json from openapi.yaml. Run it in the folder of package contract.
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
	text, err := contract.JSON(document)
	if err == nil {
		err = os.WriteFile("../openapi.json", text, 0o644)
	}
	if err != nil {
		log.Fatalf("generate: openapi.json: %v", err)
	}
}
