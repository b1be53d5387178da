// Package long says how much the long tests do. Random walks and tests of whole days take their first seeds in a plain run, and all of
// them with the build tag long:
//
//	go test -tags long ./...
package long

// Seeds is how many seeds a walk takes: short in a plain run, all with the build tag long.
func Seeds(short, all int) int {
	if Enabled {
		return all
	}
	return short
}
