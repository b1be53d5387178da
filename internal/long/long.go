// Package long says how much the long tests do. Plain `go test ./...` takes the first seeds of a walk and short days; with `-tags long` a test takes
// all of them.
package long

// Seeds returns how many seeds, hours or sizes a test takes: short in a plain run, all with the build tag long.
func Seeds(short, all int) int {
	if Enabled {
		return all
	}
	return short
}
