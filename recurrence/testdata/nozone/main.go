// Command nozone prints the error of Parse for a time zone. A test runs it where no time zone data exists.
package main

import (
	"fmt"
	"os"

	"github.com/chimejobs/chime/recurrence"
)

func main() {
	_, err := recurrence.Parse([]byte(`{"frequency":"day","timeZone":"Europe/Berlin"}`))
	fmt.Println(err)
	if _, err := recurrence.Parse([]byte(`{"frequency":"day"}`)); err != nil {
		fmt.Println("without a timeZone:", err)
		os.Exit(1)
	}
}
