// Package long says how much the long tests do. `go test ./...` takes the first seeds of a random walk and some hours of a day; with
// `-tags long`, as in `./test.sh all`, it takes all of them.
package long

// Seeds returns how many seeds a test takes: the first few, or all of them.
func Seeds(few, all int) int {
	if Enabled {
		return all
	}
	return few
}
